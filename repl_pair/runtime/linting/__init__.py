"""Checks of what is registered; no variant is run."""
