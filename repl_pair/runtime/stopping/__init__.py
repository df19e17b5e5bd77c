"""What a stop is, how it reaches a thread, and where waiting happens."""
