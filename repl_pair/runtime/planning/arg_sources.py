"""Where each effective arg, and each part of its argtypes, comes from, and what it covers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

from repl_pair.records import record
from repl_pair.runtime.planning.planner import global_args_of
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.secrets.places import mark_secrets
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.frozen import Frozen, Record, Secret, merge, to_plain
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import format_path
from repl_pair.runtime.values.takes import takes_of


class Source(TypedDict):
    """Where a slot comes from."""

    value: Any
    source: str


class ArgSource(Source):
    """Where an arg comes from, and what it is laid over."""

    path: str
    covers: NotRequired[list[Source]]


@record
class Layer:
    """One place that args of a run come from, named as a source, and what it gives."""

    source: str
    value: Frozen


def layers_of(
    story: Entry, modes: Sequence[Entry], chain: Sequence[Entry], overrides: Mapping[str, Any]
) -> Sequence[Layer]:
    """Return the layers of one run; a later one is laid over an earlier one, overrides last."""
    given = global_args_of(story.body.component.resolve())
    return (
        Layer(source=source_of(None), value=given),
        *(Layer(source=source_of(e), value=e.body.args) for e in (story, *modes, *chain)),
        Layer(source="overrides", value=overrides),
    )


def source_of(entry: Entry | None) -> str:
    """Name where something comes from; None is what is set for all stories."""
    return "global" if entry is None else f"{entry.kind} {entry.id}"


def explain_args(component: Callable[..., Any], layers: Sequence[Layer]) -> list[ArgSource]:
    """Return a line for each effective value: its path, its source, and what it covers.

    A mapping that several layers have a part in comes as one line for each of its keys. What
    stands at a secret's place is a Secret.
    """
    hints = takes_of(component).hints
    # What today's hints refuse may be a secret.
    return _explain(layers, lambda name, value: mark_secrets(value, hints.get(name, Any)))


def explain_argtypes(component: Callable[..., Any], layers: Sequence[Layer]) -> list[ArgSource]:
    """Return a line for each part of the argtypes; of a secret arg it is a Secret."""
    hidden = takes_of(component).secret
    return _explain(layers, lambda name, value: Secret(value) if name in hidden else value)


def _explain(layers: Sequence[Layer], mark: Callable[[str, Frozen], Frozen]) -> list[ArgSource]:
    """Return the lines of what the layers settle to, as each of its parts is marked by its name."""

    def marked(args: Mapping[str, Frozen]) -> Mapping[str, Frozen]:
        return {name: mark(name, value) for name, value in args.items()}

    settled = marked(merge({}, *(layer.value for layer in layers)))
    parts = [replace(layer, value=marked(layer.value)) for layer in layers]
    return [line for name in settled for line in _lines((name,), settled[name], _at(name, parts))]


def _lines(path: tuple[Any, ...], value: Frozen, parts: Sequence[Layer]) -> Iterable[ArgSource]:
    *covered, last = parts
    whole = [n for n, part in enumerate(parts) if _inner(part.value) is None]
    mixed = parts[whole[-1] + 1 if whole else 0 :]
    inner = _inner(value)
    if inner and len(mixed) > 1:
        for key in inner:
            yield from _lines((*path, key), inner[key], _at(key, mixed))
        return
    hidden = type(value) is Secret or any(is_secret_key(str(step)) for step in path)
    text = format_path(map(to_plain, path))
    line: ArgSource = {"path": text, "value": _shown(value, hidden), "source": last.source}
    under = [
        Source(source=part.source, value=_shown(part.value, hidden)) for part in reversed(covered)
    ]
    yield {**line, "covers": under} if under else line


def _at(key: Any, parts: Iterable[Layer]) -> list[Layer]:
    return [
        replace(part, value=inner[key])
        for part in parts
        if (inner := _inner(part.value)) is not None and key in inner
    ]


def _inner(value: Frozen) -> Mapping[Any, Frozen] | None:
    if type(value) is Record:
        return value.fields
    return value if is_map(value) else None


def _shown(value: Frozen, hidden: bool) -> Any:
    plain = to_plain(value)
    return Secret(plain) if hidden and type(plain) is not Secret else plain
