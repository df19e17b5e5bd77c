"""The terminal's face: a session's ops as commands."""

from repl_pair.cli.commands import main

__all__ = ["main"]
