"""The terminal's face: a session's ops as commands."""
