"""What was asked for in vain: refused where it is noticed, told by the process that reports."""

from typing import Any

import pytest


def note_in_vain(config: pytest.Config, line: str) -> None:
    """Let the end of the session say a sentence; pytest itself refuses the call."""
    _notes(config).append(line)


def refuse(config: pytest.Config, items: list[pytest.Item], line: str) -> None:
    """End the session before anything runs: UsageError, which a worker of xdist only tells."""
    if not hasattr(config, "workeroutput"):
        raise pytest.UsageError(line)
    _notes(config).append(line)
    items.clear()


def take_over(node: Any) -> None:
    """Take over what a worker of xdist told when it ended."""
    told: list[str] = getattr(node, "workeroutput", {}).get(_NAME, [])
    notes = _notes(node.config)
    notes.extend(line for line in told if line not in notes)
    if told:
        node.config.stash[_REFUSED] = True


def is_refused(config: pytest.Config) -> bool:
    """Return whether a worker ended before it ran anything."""
    return config.stash.get(_REFUSED, False)


def notes_of(config: pytest.Config) -> list[str]:
    """Return what is to be said."""
    return config.stash.get(_NOTES, list[str]())


def _notes(config: pytest.Config) -> list[str]:
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is not None:
        return output.setdefault(_NAME, [])
    if _NOTES not in config.stash:
        config.stash[_NOTES] = []
    return config.stash[_NOTES]


_NAME = "repl_pair_in_vain"
_NOTES = pytest.StashKey[list[str]]()
_REFUSED = pytest.StashKey[bool]()
