"""Trying to break rather, by the thousand: ``python -m fuzz`` runs the campaigns, one module each."""
