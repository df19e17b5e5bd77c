"""Plays and events as they are written: lines of a known shape, read and frozen."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from repl_pair.errors import AuthoringError
from repl_pair.runtime.assertion_shapes import shape_of
from repl_pair.runtime.bodies import is_payload, line_of, list_of, mapping_of
from repl_pair.runtime.component_args import freeze_plain
from repl_pair.runtime.model import Event, Play, Step
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.step_names import STEPS, unknown_step
from repl_pair.runtime.values import freeze


def read_step(where: str, line: Any) -> Step:
    """Read one line of a play: a step, or an assertion that is registered."""
    words: list[Any] = line_of(line)
    if not words or not isinstance(words[0], str):
        raise AuthoringError(
            "bad_body",
            f"{where}: a step of a play is a list headed by its name, such as "
            f"repl_pair.check.path_equals('result.total', 13.0), not {type(line).__name__}.",
        )
    name = str(words[0])
    if name not in STEPS and REGISTRY.find("assertion", name) is None:
        raise AuthoringError(
            "not_found",
            f"{where}: {unknown_step(name, REGISTRY.ids('assertion'))} Register it first: "
            f"@repl_pair.assertion({name!r}).",
            detail={"kind": "step", "id": name},
        )
    if name == "dispatch":
        return [name, *(read_event(where, event) for event in words[1:])]
    payload = enumerate(words[1:])
    return [name, *(freeze(value, where=f"{where}: play {name}[{i}]") for i, value in payload)]


def read_steps(where: str, lines: Iterable[Any]) -> tuple[Step, ...]:
    """Read the lines of a play, and check how many words each step and assertion takes."""
    steps = tuple(read_step(where, line) for line in lines)
    for step in steps:
        name = str(step[0])
        shape = STEPS.get(name) or shape_of(
            REGISTRY.get("assertion", name).body.component.resolve()
        )
        if fault := shape.fault(step[1:]):
            raise AuthoringError("bad_body", f"{where}: {name}: {fault}")
    return steps


def read_plays(where: str, plays: Any) -> tuple[Play, ...]:
    """Read named plays, as a mapping of name to steps or to {steps, auto_run}; the first auto-runs.

    They may also be given as a list of {name, steps, auto_run}.
    """
    named = mapping_of(where, "plays", _by_name(plays))
    read: list[Play] = []
    for index, (name, given) in enumerate(named.items()):
        slots: dict[str, Any] = (
            dict(cast("Mapping[str, Any]", given))
            if isinstance(given, Mapping)
            else {"steps": given}
        )
        auto_run, steps = bool(slots.pop("auto_run", index == 0)), slots.pop("steps", ())
        if not name or slots or isinstance(steps, str) or not isinstance(steps, Iterable):
            raise AuthoringError(
                "bad_body",
                f"{where}: play {name!r} is a list of steps, or {{'steps': [...], "
                f"'auto_run': true}}.",
            )
        here = f"{where}: play {name!r}"
        steps = read_steps(here, cast("Iterable[Any]", steps))
        read.append(Play(name=str(name), steps=steps, auto_run=auto_run))
    return tuple(read)


def read_event(where: str, event: Any) -> Event:
    """Read one event: a name, or `[name, {payload}]`; its payload is frozen."""
    words = [event] if isinstance(event, str) else line_of(event)
    payload: Any = words[1] if len(words) > 1 else {}
    if not 1 <= len(words) <= 2 or not isinstance(words[0], str) or not is_payload(payload):
        raise AuthoringError(
            "bad_body",
            f"{where}: an event is [name, {{keyword: value}}], such as ['add', {{'qty': 2}}], "
            f"not {event!r:.80}.",
        )
    return [str(words[0]), freeze_plain(f"{where}: event {words[0]}", payload)]


def read_events(where: str, events: Iterable[Any]) -> tuple[Event, ...]:
    """Read a list of events."""
    return tuple(read_event(where, event) for event in list_of(where, "events", events))


def read_arg_events(where: str, given: Any) -> dict[str, str]:
    """Read which args go out as events: `{arg: event}`, or pairs of the two."""
    pairs = cast("list[Any]", [*given.items()] if isinstance(given, Mapping) else line_of(given))
    read = [line_of(pair) for pair in pairs]
    fits = bool(read) or not given
    if not fits or not all(len(pair) == 2 and isinstance(pair[1], str) for pair in read):
        raise AuthoringError(
            "bad_body",
            f"{where}: args_to_events is a mapping of args to the names of events, such as "
            f"{{'qty': 'set_qty'}}, not {given!r:.80}.",
        )
    return {str(arg): str(event) for arg, event in read}


def _by_name(plays: Any) -> Any:
    """Give a list of named plays as a mapping; what is none stays, to be refused."""
    slots = [dict(cast("Mapping[str, Any]", play)) for play in plays] if _are_named(plays) else []
    return {slot.pop("name"): slot for slot in slots} if slots else plays


def _are_named(plays: Any) -> bool:
    rows = cast("list[Any]", plays) if isinstance(plays, list) else []
    names = [cast("Mapping[str, Any]", row).get("name") for row in rows if isinstance(row, Mapping)]
    texts = {name for name in names if isinstance(name, str)}
    return bool(rows) and len(texts) == len(rows)
