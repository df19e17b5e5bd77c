"""Whose output it is: what a run puts out is its own, and nobody else's."""
