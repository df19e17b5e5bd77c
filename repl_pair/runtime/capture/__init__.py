"""Captures output: each run gets its own, and nothing of the person or of other runs."""
