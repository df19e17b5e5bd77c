"""Overrides as a tree: one value put in at a path, taken out, or read."""

from collections.abc import Mapping, Sequence
from typing import Any

from repl_pair.panels.controls.fields import Path
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.frozen import Frozen, Record, to_plain


def left_in(typed: Any, effective: Frozen) -> Sequence[str]:
    """Return the keys that stay though the edit lacks them: overrides are laid over."""
    kept = effective.fields if type(effective) is Record else effective
    if not (is_map(kept) and is_map(typed)):
        return ()
    named = {str(to_plain(key)): value for key, value in kept.items()}
    below = [
        f"{key}.{inner}"
        for key in named
        if key in typed
        for inner in left_in(typed[key], named[key])
    ]
    return [*(key for key in named if key not in typed), *below]


def put(tree: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return overrides with one more value, at a path."""
    head, *rest = path
    inner: Any = tree.get(head)
    below = put(inner if is_map(inner) else {}, tuple(rest), value) if rest else value
    return {**tree, head: below}


def drop(tree: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return overrides without the value at a path, and without mappings that are then empty."""
    head, *rest = path
    kept = {name: value for name, value in tree.items() if name != head}
    inner: Any = tree.get(head)
    below = drop(inner, tuple(rest)) if rest and is_map(inner) else {}
    return {**kept, head: below} if below else kept


def at(tree: Any, path: Path) -> Any:
    """Return the value at a path; KeyError where there is none."""
    for key in path:
        held = tree.fields if type(tree) is Record else tree
        if not is_map(held):
            raise KeyError(key)
        tree = held[key]
    return tree
