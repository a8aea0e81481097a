"""Metrics of models and rankings."""
