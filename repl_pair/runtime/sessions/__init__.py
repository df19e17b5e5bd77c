"""Work sessions: what a client did between start and stop, counted as it happens."""
