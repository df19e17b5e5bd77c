"""The use of stored snapshots over all processes of a session, and which are unused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

import pytest


class SnapshotUse(TypedDict):
    """The use of stored snapshots in one process, or in all; a run is `[id, modes, play]`.

    `folders` is whether all variants beside a folder were run, `gone` are folders whose file is no
    more, `files` are those of stories that are there, where one can't be read, `used` are
    `[file, id, modes, name]`, `met` the `[label, digest]` that an update stored, `possible` the
    combinations of modes by variant that are stored and that a run can have, `apart` the snapshots
    of plays that run on demand only.
    """

    folders: dict[str, bool]
    gone: list[str]
    files: list[str]
    used: list[list[Any]]
    stored: list[str]
    met: list[list[str]]
    asked: list[list[Any]]
    passed: list[list[Any]]
    possible: dict[str, list[list[str]]]
    apart: dict[str, dict[str, list[str]]]


def note_folder(config: pytest.Config, path: Path) -> None:
    """Note a folder of stored snapshots that pytest meets."""
    config.stash.setdefault(_MET, []).append(path)


def note_left_out(config: pytest.Config) -> None:
    """Note that a part of what was collected is not run."""
    config.stash[_LEFT_OUT] = True


def is_partial(session: pytest.Session) -> bool:
    """Return whether a part of what was collected did not run."""
    stopped = session.shouldstop or session.shouldfail
    return bool(stopped) or session.config.stash.get(_LEFT_OUT, False)


def gone_folders(session: pytest.Session) -> list[str]:
    """Return the folders of stored snapshots whose file is no more, where nothing was left out."""
    if is_partial(session):
        return []
    config = session.config
    # pytest meets what is beside a file that it is asked for, too.
    asked = [config.invocation_params.dir / arg.partition("::")[0] for arg in config.args]
    roots = [path.resolve() for path in asked if path.is_dir()]
    met = [one for one in config.stash.setdefault(_MET, []) if _is_below(one.resolve(), roots)]
    below = (one for each in met if each.is_dir() for one in sorted(each.iterdir()) if one.is_dir())
    return [str(one) for one in below if not (one.parent.parent / f"{one.name}.py").exists()]


def _is_below(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


_MET = pytest.StashKey[list[Path]]()
_LEFT_OUT = pytest.StashKey[bool]()
