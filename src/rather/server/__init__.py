"""The voting page of ``rather serve``: it asks people and keeps their answers."""
