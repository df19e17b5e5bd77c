"""Removes secrets by pattern from every byte that leaves the server."""
