"""What a session keeps running without a caller that waits: runs, triggers and workers."""
