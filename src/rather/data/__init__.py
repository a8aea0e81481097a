"""Comparisons and their sources: reading tables and files, ids and codes, splits and simulated data."""
