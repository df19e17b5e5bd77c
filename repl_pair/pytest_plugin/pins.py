"""What a session met of stored snapshots, put together over its processes; what it left unused."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

Pins = dict[str, Any]
"""Plain data; `pinned` says what is in it."""


def give_pins(config: pytest.Config, pins: Pins) -> None:
    """Hand over what a process met to the one that reports."""
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is None:
        config.stash.setdefault(_PINS, []).append(pins)
    else:
        output[_NAME] = pins


def take_pins(node: Any) -> None:
    """Take over what a worker of xdist met."""
    pins: Pins | None = getattr(node, "workeroutput", {}).get(_NAME)
    if pins is not None:
        node.config.stash.setdefault(_PINS, []).append(pins)


def settle_pins(config: pytest.Config) -> None:
    """Find what is unused, and remove it where snapshots are updated."""
    listed = config.stash.get(_PINS, list[Pins]())
    if not listed or config.getoption("collectonly"):
        return
    pins = _together(listed)
    unused = sorted(find_unused(pins))
    if pins["update"]:
        for path in unused:
            _remove(path)
    config.stash[_LINES] = list(_lines(pins, unused, config.invocation_params.dir))


def lines_of(config: pytest.Config) -> list[str]:
    """Return what the end of the session says of stored snapshots."""
    return config.stash.get(_LINES, list[str]())


def find_unused(pins: Pins) -> Iterator[Path]:
    """Return what is stored and was not asked for by runs that would have, had it been of use.

    That is: of a variant whose runs in the same modes all passed; of modes that the variant has
    no more, if all its runs passed; of a variant that is no more, if its file was run whole.
    """
    used = {Path(path) for path in pins["used"]}
    for folder, is_whole in pins["folders"].items():
        for path in _texts_in(Path(folder)):
            id = path.parent.relative_to(folder).as_posix()
            is_known = id in pins["possible"]
            if path not in used and (_is_idle(pins, id, path) if is_known else is_whole):
                yield path


def variants_in(folder: Path) -> set[str]:
    """Return the ids of the variants that have something in a folder."""
    return {path.parent.relative_to(folder).as_posix() for path in _texts_in(folder)}


def _is_idle(pins: Pins, id: str, path: Path) -> bool:
    """Return whether all runs passed that could have asked for a file."""
    modes = _modes_at(path)
    passed = [one for one in pins["passed"] if one[0] == id]
    asked = [one for one in pins["asked"] if one[0] == id]
    if modes in pins["possible"][id]:
        passed, asked = ([one for one in some if one[1] == modes] for some in (passed, asked))
    played = {play for _, _, play in passed}
    left = {
        name for play, names in pins["apart"][id].items() if play not in played for name in names
    }
    stem = path.name.rpartition(".txt")[0].rpartition(".")[0]
    return bool(asked) and all(one in passed for one in asked) and stem not in left


def _modes_at(path: Path) -> Any:
    """Return the modes of what is stored, None where that was not kept."""
    try:
        about: Any = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        return about["slots"]["modes"]["shown"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _texts_in(folder: Path) -> Iterable[Path]:
    return folder.rglob("*.txt") if folder.is_dir() else ()


def _together(listed: list[Pins]) -> Pins:
    """Put together what the processes met: each collects all, and runs a part."""
    first = listed[0]
    every = {
        name: sorted({json.dumps(one) for pins in listed for one in pins[name]})
        for name in ("used", "stored", "asked", "passed")
    }
    undecided = set(first["undecided"]).intersection(*(pins["undecided"] for pins in listed))
    return {
        **first,
        **{name: [json.loads(one) for one in found] for name, found in every.items()},
        "possible": _merged(pins["possible"] for pins in listed),
        "apart": _merged(pins["apart"] for pins in listed),
        "undecided": sorted(undecided),
    }


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


def _lines(pins: Pins, unused: list[Path], here: Path) -> Iterator[str]:
    if pins["stored"]:
        yield f"snapshots stored: {', '.join(pins['stored'])}"
    if unused:
        done = "removed" if pins["update"] else "unused; --pair-update removes them"
        names = [
            str(path.relative_to(here) if path.is_relative_to(here) else path) for path in unused
        ]
        yield "\n  ".join([f"snapshots {done}:", *names])
    if pins["undecided"]:
        yield f"no run met these decisions of the review: {', '.join(pins['undecided'])}"


def _remove(path: Path) -> None:
    """Remove a text with what is beside it, and folders that are empty then."""
    from repl_pair.runtime.snapshots.store import remove_stored  # only who updates removes

    remove_stored(path)
    for folder in list(path.parents)[:2]:
        if any(folder.iterdir()):
            return
        folder.rmdir()


_NAME = "repl_pair_pins"
_PINS = pytest.StashKey[list[Pins]]()
_LINES = pytest.StashKey[list[str]]()
