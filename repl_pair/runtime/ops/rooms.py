"""Every room of built-in ops, a room a group; importing this fills the table."""

from repl_pair.runtime.ops import (
    approving,
    changes,
    explaining,
    kinds,
    panels,
    recording,
    running,
    stories,
    sweeps,
    variables,
    verdicts,
    watches,
    writing,
)

__all__ = [
    "approving",
    "changes",
    "explaining",
    "kinds",
    "panels",
    "recording",
    "running",
    "stories",
    "sweeps",
    "variables",
    "verdicts",
    "watches",
    "writing",
]
