"""Data: frozen, rebuilt, written as bytes, JSON and Python text, described by schemas."""
