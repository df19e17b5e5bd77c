"""The command line: a session's ops as commands."""
