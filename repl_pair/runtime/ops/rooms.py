"""Every room of built-in ops, a room a group; importing this fills the table."""

from repl_pair.runtime.ops import (
    assertion_list,
    catalogue,
    changes,
    docs,
    explaining,
    kinds,
    live,
    previewing,
    running,
    sharing,
    sweeps,
    variables,
    verdicts,
    watches,
    writing,
)

__all__ = [
    "assertion_list",
    "catalogue",
    "changes",
    "docs",
    "explaining",
    "kinds",
    "live",
    "previewing",
    "running",
    "sharing",
    "sweeps",
    "variables",
    "verdicts",
    "watches",
    "writing",
]
