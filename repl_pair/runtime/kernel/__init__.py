"""Requests, lanes, deadlines, attaching, and %pair."""
