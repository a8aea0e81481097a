"""Baselines: methods of other authors."""
