"""Where the args of a run come from, the nearest to the run last."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.authoring import GLOBAL_ARGS
from repl_pair.runtime.component_args import freeze_args
from repl_pair.runtime.model import Entry
from repl_pair.runtime.surface.store import STORE

Layer = tuple[str, Mapping[str, Any]]
"""One place that args come from, named as a source, and what it gives."""


def layers_of(
    story: Entry, modes: Sequence[Entry], chain: Sequence[Entry], overrides: Mapping[str, Any]
) -> Sequence[Layer]:
    """Give the layers of one run; a later one is laid over an earlier one."""
    given: Mapping[str, Any] = STORE.get(GLOBAL_ARGS.name) or {}
    return (
        (source_of(None), _taken(story.body.component.resolve(), given)),
        *((source_of(entry), entry.body.args) for entry in (story, *modes, *chain)),
        ("overrides", overrides),
    )


def source_of(entry: Entry | None) -> str:
    """Name where something comes from; None is what is set for all stories."""
    return "global" if entry is None else f"{entry.kind} {entry.id}"


def clashes_of(modes: Sequence[Entry]) -> list[str]:
    """Give a sentence for each mode that shares its axis with one before it."""
    axes: dict[str, str] = {}
    return [
        f"Modes {axes[mode.body.axis]!r} and {mode.id!r} share the axis {mode.body.axis!r}: "
        "choose one."
        for mode in modes
        if mode.body.axis is not None and axes.setdefault(mode.body.axis, mode.id) != mode.id
    ]


def freeze_overrides(
    component: Callable[..., Any], overrides: Mapping[str, Any], dispatched: Iterable[str]
) -> Mapping[str, Any]:
    """Freeze what a caller gives for one run; `bad_arguments` where it does not fit."""
    if not overrides:
        return overrides
    try:
        return freeze_args("overrides", component, overrides, dispatched=dispatched, pinned=False)
    except AuthoringError as error:
        raise RequestError("bad_arguments", error.message, detail=error.detail) from error


def _taken(component: Callable[..., Any], args: Mapping[str, Any]) -> Mapping[str, Any]:
    legal: Mapping[str, inspect.Parameter] = inspect.signature(component).parameters if args else {}
    return {name: value for name, value in args.items() if name in legal}
