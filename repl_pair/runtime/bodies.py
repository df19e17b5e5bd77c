"""What a registered body may hold: names that exist, data that freezes, lines of a known shape."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, cast

from repl_pair.errors import AuthoringError, did_you_mean
from repl_pair.runtime.assertion_shapes import shape_of
from repl_pair.runtime.declared import secret_args
from repl_pair.runtime.hints import parameter_hints, taken_by
from repl_pair.runtime.model import Component, Event, Play, Step, Use
from repl_pair.runtime.plain import secrets_in
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.secrets import NEEDLES, Sensitive
from repl_pair.runtime.step_names import STEPS
from repl_pair.runtime.uses import misuse
from repl_pair.runtime.values import freeze


def check_callable(fn: Any, where: str) -> Callable[..., Any]:
    """Give the function or class; AuthoringError `bad_body` for anything else."""
    if not callable(fn):
        raise AuthoringError(
            "bad_body", f"{where}: the component is a {type(fn).__name__}, not a function or class."
        )
    return fn


def freeze_args(
    where: str,
    component: Callable[..., Any],
    args: Mapping[str, Any] | None,
    *,
    dispatched: Iterable[str] = (),
    pinned: bool = True,
) -> dict[str, Any]:
    """Freeze args through the component's hints; `dispatched` names those that events take.

    Their secrets are learned for good, unless they are not `pinned`.
    """
    hints = parameter_hints(component)
    passed = {n: v for n, v in (args or {}).items() if n not in set(dispatched)}
    check_names(where, component, passed)
    frozen = {
        str(name): freeze(value, hints.get(name, Any), where=f"{where}: args.{name}")
        for name, value in (args or {}).items()
    }
    for secret in secrets_in(frozen) if pinned else ():
        NEEDLES.add(secret, pinned=True)
    return frozen


def freeze_plain(where: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Freeze a mapping that no hints describe."""
    return {str(k): freeze(value, Any, where=f"{where}.{k}") for k, value in args.items()}


def parameters_of(component: Callable[..., Any], where: str) -> Mapping[str, inspect.Parameter]:
    """Give what a component takes; AuthoringError for a builtin that does not say."""
    try:
        return taken_by(component)
    except (TypeError, ValueError) as error:
        raise AuthoringError(
            "bad_body",
            f"{where}: {Component.of(component).qualname} does not say what it takes; "
            "register a function that calls it.",
        ) from error


def check_names(where: str, component: Callable[..., Any], args: Mapping[str, Any]) -> None:
    """Refuse argument names that the component does not take."""
    parameters = parameters_of(component, where)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    legal = [
        n for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY)
    ]
    for name in args:
        if name not in legal:
            raise AuthoringError(
                "bad_body",
                f"{where}: {Component.of(component).qualname} takes no argument {name!r}."
                f"{did_you_mean(name, legal)} It takes: {', '.join(legal) or 'none'}.",
            )


def read_step(where: str, line: Any) -> Step:
    """Read one line of a play: a step, or an assertion that is registered."""
    words: list[Any] = _line(line)
    if not words or not isinstance(words[0], str):
        raise AuthoringError(
            "bad_body",
            f"{where}: a step of a play is a list headed by its name, such as "
            f"repl_pair.check.path_equals('result.total', 13.0), not {type(line).__name__}.",
        )
    name = str(words[0])
    if name not in STEPS:
        known("assertion", name, near=STEPS)
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
    named = _mapping(where, "plays", _by_name(plays))
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
    words = [event] if isinstance(event, str) else _line(event)
    payload: Any = words[1] if len(words) > 1 else {}
    if not 1 <= len(words) <= 2 or not isinstance(words[0], str) or not _is_payload(payload):
        raise AuthoringError(
            "bad_body",
            f"{where}: an event is [name, {{keyword: value}}], such as ['add', {{'qty': 2}}], "
            f"not {event!r:.80}.",
        )
    return [str(words[0]), freeze_plain(f"{where}: event {words[0]}", payload)]


def read_events(where: str, events: Iterable[Any]) -> tuple[Event, ...]:
    """Read a list of events."""
    return tuple(read_event(where, event) for event in _list(where, "events", events))


def read_arg_events(where: str, given: Any) -> dict[str, str]:
    """Read which args go out as events: `{arg: event}`, or pairs of the two."""
    pairs = cast("list[Any]", [*given.items()] if isinstance(given, Mapping) else _line(given))
    read = [_line(pair) for pair in pairs]
    fits = bool(read) or not given
    if not fits or not all(len(pair) == 2 and isinstance(pair[1], str) for pair in read):
        raise AuthoringError(
            "bad_body",
            f"{where}: args_to_events is a mapping of args to the names of events, such as "
            f"{{'qty': 'set_qty'}}, not {given!r:.80}.",
        )
    return {str(arg): str(event) for arg, event in read}


def read_uses(where: str, uses: Iterable[Any]) -> tuple[Use, ...]:
    """Read decorators as they are used: an id each, or `[id, {args}]`."""
    return tuple(_use(where, use) for use in _list(where, "decorators", uses))


def learn_uses(uses: Iterable[Use]) -> None:
    """Learn the secrets in the args of decorators for good: only what the person wrote."""
    for _, args in uses:
        for secret in secrets_in(args):
            NEEDLES.add(secret, pinned=True)


def read_words(kind: str, names: Sequence[str], *, removable: bool = False) -> tuple[str, ...]:
    """Read a list of ids of one kind; `removable` ones may be headed by `!`."""
    words = map(str, _list(f"{kind}s", f"{kind}s", names))
    marks = [("!" * (removable and word.startswith("!")), word) for word in words]
    return tuple(mark + known(kind, word.removeprefix(mark)) for mark, word in marks)


def read_texts(where: str, slot: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Read a list of words that are ids of nothing."""
    return tuple(map(str, _list(where, slot, texts)))


def read_variants(
    where: str, variants: Mapping[str, Any], slots: Iterable[str]
) -> Mapping[str, dict[str, Any]]:
    """Read a story's variants: names, each with the slots of a variant."""
    legal = [slot for slot in slots if slot != "id"]
    read: dict[str, dict[str, Any]] = {}
    for name, given in _mapping(where, "variants", variants).items():
        read[name] = dict(_mapping(where, f"variant {name!r}", given))
        for slot in read[name]:
            if slot not in legal:
                raise AuthoringError(
                    "bad_body",
                    f"{where}: variant {name!r} has no {slot!r}.{did_you_mean(slot, legal)} "
                    f"It has: {', '.join(legal)}.",
                )
    return read


def known(kind: str, id: str, *, near: Iterable[str] = ()) -> str:
    """Give the id of an entry that is registered; AuthoringError `not_found` names the nearest."""
    if REGISTRY.find(kind, id) is None:
        raise AuthoringError(
            "not_found",
            f"There is no {kind} {id!r}.{did_you_mean(id, [*REGISTRY.ids(kind), *near])} "
            f"Register it first: repl_pair.{kind}({id!r}, ...).",
            detail={"kind": kind, "id": id},
        )
    return id


def _use(where: str, use: Any) -> Use:
    words = [str(use)] if isinstance(use, str) else _line(use)
    args: Any = words[1] if len(words) > 1 else {}
    if not 1 <= len(words) <= 2 or not isinstance(words[0], str) or not _is_payload(args):
        raise AuthoringError(
            "bad_body", f"{where}: a decorator is its id, or [id, {{args}}], not {use!r:.80}."
        )
    id = known("decorator", str(words[0]))
    frozen = _freeze_used(f"{where}: decorator {id}", id, args)
    if wrong := misuse(REGISTRY.get("decorator", id).body, frozen):
        raise AuthoringError("bad_body", f"{where}: decorator {id!r}: {wrong}")
    return [id, frozen]


def _freeze_used(where: str, id: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Freeze a decorator's args; those in which its wrap function declares a secret are Secrets."""
    frozen, wrap = freeze_plain(where, args), REGISTRY.get("decorator", id).body.wrap
    declared = set[str]() if wrap is None else {p[0] for p in secret_args(wrap.resolve(), frozen)}
    return {n: v if n not in declared else freeze(v, _SECRET) for n, v in frozen.items()}


_SECRET = Annotated[Any, Sensitive]


def _by_name(plays: Any) -> Any:
    """Give a list of named plays as a mapping; what is none stays, to be refused."""
    slots = [dict(cast("Mapping[str, Any]", play)) for play in plays] if _are_named(plays) else []
    return {slot.pop("name"): slot for slot in slots} if slots else plays


def _are_named(plays: Any) -> bool:
    rows = cast("list[Any]", plays) if isinstance(plays, list) else []
    names = [cast("Mapping[str, Any]", row).get("name") for row in rows if isinstance(row, Mapping)]
    texts = {name for name in names if isinstance(name, str)}
    return bool(rows) and len(texts) == len(rows)


def _line(line: Any) -> list[Any]:
    return list(cast("Iterable[Any]", line)) if type(line) in (list, tuple) else []


def _is_payload(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(key, str) for key in cast("Mapping[Any, Any]", value)
    )


def _list(where: str, slot: str, value: Any) -> Iterable[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise AuthoringError("bad_body", f"{where}: {slot} is a list: [{value!r}], not {value!r}.")
    return cast("Iterable[Any]", value)


def _mapping(where: str, slot: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise AuthoringError(
            "bad_body", f"{where}: {slot} is a mapping, not {type(value).__name__}."
        )
    return cast("Mapping[str, Any]", value)
