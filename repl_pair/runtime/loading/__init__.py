"""The files that hold stories: which they are, and their import."""
