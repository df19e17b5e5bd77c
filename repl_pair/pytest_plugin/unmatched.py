"""Options and names that fit nothing: refused at once, and reported at the end of the session."""

from typing import Any

import pytest


def note_unmatched(config: pytest.Config, line: str) -> None:
    """Report a sentence at the end of the session; pytest itself refuses the call."""
    _notes(config).append(line)


def refuse(config: pytest.Config, items: list[pytest.Item], line: str) -> None:
    """End the session before anything runs: UsageError; a worker of xdist notes it instead."""
    if not hasattr(config, "workeroutput"):
        raise pytest.UsageError(line)
    _notes(config).append(line)
    items.clear()


def receive_notes(node: Any) -> None:
    """Receive the notes of a worker of xdist at its end."""
    received: list[str] = getattr(node, "workeroutput", {}).get(_NAME, [])
    notes = _notes(node.config)
    notes.extend(line for line in received if line not in notes)
    if received:
        node.config.stash[_REFUSED] = True


def is_refused(config: pytest.Config) -> bool:
    """Return whether a worker ended before it ran anything."""
    return config.stash.get(_REFUSED, False)


def notes_of(config: pytest.Config) -> list[str]:
    """Return the sentences to report."""
    return config.stash.get(_NOTES, list[str]())


def _notes(config: pytest.Config) -> list[str]:
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is not None:
        return output.setdefault(_NAME, [])
    if _NOTES not in config.stash:
        config.stash[_NOTES] = []
    return config.stash[_NOTES]


_NAME = "repl_pair_unmatched"
_NOTES = pytest.StashKey[list[str]]()
_REFUSED = pytest.StashKey[bool]()
