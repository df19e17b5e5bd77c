"""What a session keeps running without a caller that waits."""
