"""What the processes of a session keep for its end; workers of xdist send it to the first one."""

from typing import Any

import pytest

from repl_pair.pytest_plugin.options import KEPT

UNMATCHED = "unmatched"
"""Sentences on options and names that fit nothing."""
USES = "snapshot use"
"""The use of stored snapshots in each process."""
USE_LINES = "snapshot lines"
"""What the session reports of stored snapshots."""


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of xdist."""
    return hasattr(config, "workeroutput")


def kept_in(config: pytest.Config, name: str) -> list[Any]:
    """Return the list of what is kept under a name, to be added to."""
    empty: dict[str, list[Any]] = {}
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    kept = config.stash.setdefault(_KEPT, empty) if output is None else output.setdefault(KEPT, {})
    return kept.setdefault(name, [])


def receive_kept(node: Any) -> None:
    """Receive what a worker kept, at its end; what several of them kept alike is kept once."""
    sent: dict[str, list[Any]] = getattr(node, "workeroutput", {}).get(KEPT, {})
    for name, received in sent.items():
        kept = kept_in(node.config, name)
        kept.extend(one for one in received if one not in kept)


_KEPT = pytest.StashKey[dict[str, list[Any]]]()
