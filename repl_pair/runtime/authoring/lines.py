"""Plays and events as they are written: which steps there are, and how lines are read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter
from typing import Any, cast

from repl_pair.errors import AuthoringError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.authoring.args import bad_body, check_mapping, freeze_plain
from repl_pair.runtime.authoring.bodies import line_of, list_of, named_line
from repl_pair.runtime.authoring.given import freeze_given
from repl_pair.runtime.registry.model import Event, Play, Step
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.steps import STEPS, named_by
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.takes import Share, is_share, takes_of


def unknown_step(name: str, assertions: Iterable[str]) -> str:
    """Report that a name is neither a step nor one of these assertions, and what is near."""
    return (
        f"There is no step {name!r}.{did_you_mean(name, [*STEPS, *assertions])} A step is "
        f"{', '.join(STEPS)}, or an assertion that is registered."
    )


@record
class Signature:
    """The words behind an assertion's name: fixed places, then at most one mapping of options."""

    places: tuple[str, ...]
    least: int
    """How many of the places must be filled."""
    more: str = ""
    """The name of what takes any further words."""
    options: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    """The options that must be given."""
    shares: tuple[str, ...] = ()
    """The options that are a share from 0 to 1."""

    @property
    def payload(self) -> str:
        """Return what it takes: `[path, expected, {abs, rel}]`; `?` marks what may be left out."""
        words = [name + "?" * (at >= self.least) for at, name in enumerate(self.places)]
        words += [f"{self.more}..."] if self.more else []
        words += [f"{{{', '.join(self.options)}}}"] if self.options else []
        return f"[{', '.join(words)}]"

    def fault(self, words: Sequence[Any]) -> str:
        """Describe what is wrong with the words of a line; nothing if they fit."""
        given, options = self.split(words)
        if len(given) < self.least or (len(given) > len(self.places) and not self.more):
            count = f"{len(words)} word{'s' * (len(words) != 1)}"
            return f"it takes {self.payload}, not {count}."
        for name in options:
            if name not in self.options:
                near = did_you_mean(str(name), self.options)
                return f"it takes {self.payload}; there is no option {name!r}.{near}"
            if name in self.shares and not (options[name] is None or is_share(options[name])):
                return f"{name} is a share from 0 to 1, not {options[name]!r:.80}."
        missing = [name for name in self.needed if name not in options]
        return f"it takes {self.payload}; {', '.join(missing)} is missing." if missing else ""

    def split(self, words: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the words for the places, and the options that stand behind them.

        Where places are left out, a mapping of nothing but options is those.
        """
        given = list(words)
        if not self.options or len(given) <= self.least or not is_map(given[-1]):
            return given, {}
        is_last = len(given) > len(self.places)
        if is_last or (given[-1] and given[-1].keys() <= {*self.options}):
            return given[:-1], dict(given[-1])
        return given, {}


def signature_of(fn: Callable[..., Any]) -> Signature:
    """Return what an assertion takes behind its first parameter; any words if that is unknown."""
    takes = takes_of(fn)
    known: Signature | None = vars(takes).get("signature")
    if known is None:  # kept beside what it is read from
        known = vars(takes)["signature"] = _signature_in(takes.parameters)
    return known


def _signature_in(taken: Mapping[str, Parameter] | None) -> Signature:
    if taken is None:
        return Signature(places=(), least=0, more="words")
    parameters = list(taken.values())
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
    options = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    return Signature(
        places=tuple(p.name for p in places),
        least=sum(p.default is p.empty for p in places),
        more=next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), ""),
        options=tuple(p.name for p in options),
        needed=tuple(p.name for p in options if p.default is p.empty),
        shares=tuple(p.name for p in options if p.annotation == Share),
    )


def read_step(where: str, line: Any) -> Step:
    """Read one line of a play: a step, or an assertion that is registered.

    AuthoringError `bad_body`, or `not_found` for a name that is neither.
    """
    words: list[Any] = line_of(line)
    if not words or not isinstance(words[0], str):
        raise bad_body(
            where,
            f"a step of a play is a list headed by its name, such as "
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
    first = 2 if named_by(words) == "event" else 1
    events = [read_event(where, event) for event in words[1:first]]
    data = enumerate(words[first:], start=first - 1)
    return [name, *events, *(freeze_given(v, where=f"{where}: play {name}[{i}]") for i, v in data)]


def read_steps(where: str, lines: Iterable[Any]) -> tuple[Step, ...]:
    """Read the lines of a play, and check how many words each step and assertion takes."""
    steps = tuple(read_step(where, line) for line in list_of(where, "play", lines))
    for step in steps:
        name = str(step[0])
        shape = STEPS.get(name) or signature_of(
            REGISTRY.get("assertion", name).body.component.resolve()
        )
        if fault := shape.fault(step[1:]):
            raise bad_body(where, f"{name}: {fault}")
    return steps


def read_plays(where: str, plays: Any) -> tuple[Play, ...]:
    """Read named plays: a mapping to steps or {steps, auto_run}, or a list; the first auto-runs."""
    named = check_mapping(f"{where}: plays", _by_name(plays))
    read: list[Play] = []
    for index, (name, given) in enumerate(named.items()):
        slots: dict[str, Any] = dict(given) if is_map(given) else {"steps": given}
        auto_run, steps = bool(slots.pop("auto_run", index == 0)), slots.pop("steps", ())
        if not name or slots or isinstance(steps, str) or not isinstance(steps, Iterable):
            raise bad_body(
                where, f"play {name!r} is a list of steps, or {{'steps': [...], 'auto_run': true}}."
            )
        here = f"{where}: play {name!r}"
        steps = read_steps(here, cast("Iterable[Any]", steps))
        read.append(Play(name=str(name), steps=steps, auto_run=auto_run))
    return tuple(read)


def named_steps(plays: Any) -> list[tuple[Any, Any]]:
    """Return the names of plays as they are given, and the steps of each."""
    named = _by_name(plays)
    rows = named.items() if is_map(named) else ()
    return [(name, given.get("steps", ()) if is_map(given) else given) for name, given in rows]


def read_event(where: str, event: Any) -> Event:
    """Read one event: a name, or `[name, {payload}]`; its payload is frozen."""
    named = named_line(event)
    if named is None:
        raise bad_body(
            where,
            f"an event is [name, {{keyword: value}}], such as ['add', {{'qty': 2}}], "
            f"not {event!r:.80}.",
        )
    name, payload = named
    return [name, freeze_plain(f"{where}: event {name}", payload)]


def read_events(where: str, events: Iterable[Any]) -> tuple[Event, ...]:
    """Read a list of events."""
    return tuple(read_event(where, event) for event in list_of(where, "events", events))


def read_arg_events(where: str, given: Any) -> dict[str, str]:
    """Read which args are dispatched as events: `{arg: event}`, or pairs of the two."""
    read = [line_of(pair) for pair in (given.items() if is_map(given) else line_of(given))]
    fits = all(len(pair) == 2 and isinstance(pair[1], str) for pair in read)
    if not fits or (given and not read):
        raise bad_body(
            where,
            f"args_to_events is a mapping of args to the names of events, such as "
            f"{{'qty': 'set_qty'}}, not {given!r:.80}.",
        )
    return {str(arg): str(event) for arg, event in read}


def _by_name(plays: Any) -> Any:
    rows = cast("list[Any]", plays) if isinstance(plays, list) else []
    slots = [dict(row) for row in rows if is_map(row)]
    names = {name for slot in slots if isinstance(name := slot.get("name"), str)}
    is_named = bool(rows) and len(names) == len(rows)
    return {slot.pop("name"): slot for slot in slots} if is_named else cast("Any", plays)
