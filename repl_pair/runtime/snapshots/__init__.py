"""Stored outputs, and what a run gives compared with them."""
