"""Work sessions: what a client did from one moment to another, counted as it happened."""
