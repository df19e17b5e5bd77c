"""What a session runs while no caller waits: runs, triggers and workers."""
