"""What a session keeps running without a caller that waits: runs and triggers."""
