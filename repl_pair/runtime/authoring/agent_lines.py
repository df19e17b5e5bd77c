"""What an agent's body calls: decorators, events that something handles, steps of a play."""

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from repl_pair.errors import did_you_mean, nearest
from repl_pair.runtime.authoring.agent_data import data_faults, given_faults
from repl_pair.runtime.authoring.agent_patterns import pattern_faults
from repl_pair.runtime.authoring.agent_reading import SHOWN, Reading, rows_of
from repl_pair.runtime.authoring.bodies import read_uses
from repl_pair.runtime.authoring.decorator_uses import RAISE, builtin_exception
from repl_pair.runtime.authoring.lines import read_event, read_steps, unknown_step
from repl_pair.runtime.registry.ids import WORDS
from repl_pair.runtime.registry.model import Decorator, Origin
from repl_pair.runtime.values.classes import is_map, is_row, real_class
from repl_pair.runtime.values.code_hints import code_in
from repl_pair.runtime.values.hints import takes_of
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import parse_path


def check_uses(reading: Reading, slot: str, uses: Any) -> None:
    """Note what is wrong with decorators as they are used."""
    for use in rows_of(reading, slot, uses):
        words: Any = [use] if isinstance(use, str) else use
        id: Any = words[0] if is_row(words) and words else use
        found = reading.entry("decorator", id, slot)
        if found is None or reading.read(lambda use=use: read_uses(slot, [use])) is None:
            continue
        args: Mapping[str, Any] = words[1] if len(words) > 1 else {}
        where = f"{slot}: {id}"
        check_override(reading, where, args)
        body: Decorator = found.body
        if body.wrap is not None:
            reading.blame(*given_faults(body.wrap.resolve(), args, where=where))
        else:
            reading.blame(*data_faults(args, where=where))


def check_override(reading: Reading, where: str, slots: Mapping[str, Any]) -> None:
    """Note an effect that is a Python name, and responses that raise no builtin exception."""
    effect = slots.get("effect", "")
    if effect and not (isinstance(effect, str) and WORDS.pattern.fullmatch(effect)):
        known = ", ".join(reading.ids("effect")[:SHOWN])
        reading.blame(
            f"{where}: effect {effect!r:.80} is no effect's id; an agent answers for effects by "
            f"their ids, never for Python names.{f' There are: {known}.' if known else ''}"
        )
    several: Any = slots.get("responses", ())
    answers: Any = [slots["response"]] if "response" in slots else several
    for answer in rows_of(reading, f"{where}: responses", answers):
        name: Any = answer.get(RAISE) if is_map(answer) else None
        if name is not None and not (isinstance(name, str) and builtin_exception(name)):
            near = nearest(str(name), filter(builtin_exception, vars(builtins)))
            reading.blame(
                f'{where}: {{"{RAISE}": {name!r:.60}}} names no built-in exception; '
                f"one is {near[0] if near else 'TimeoutError'}."
            )


def check_events(reading: Reading, slot: str, events: Any) -> None:
    """Note events that are none, that nothing of the person's handles, or that hold no data.

    Events go to a handler, else to a method of the class.
    """
    for event in rows_of(reading, slot, events):
        read = reading.read(lambda event=event: read_event(slot, event))
        if read is None:
            continue
        name = str(read[0])
        handler = reading.find("handler", name)
        own = own_methods(reading.component, reading.origin)
        taker = own.get(name) if handler is None else handler.body.component.resolve()
        if taker is None:
            reading.blame(_unhandled(slot, name, [*reading.ids("handler"), *own]))
        else:
            payload: Any = event[1] if is_row(event) and len(event) > 1 else {}
            reading.blame(*given_faults(taker, payload, where=f"{slot}: event {name}"))


def check_play(reading: Reading, slot: str, lines: Any) -> None:
    """Note steps of a play that are none, or that name or set what an agent may not."""
    for index, line in enumerate(rows_of(reading, slot, lines)):
        where = f"{slot}[{index}]"
        head: Any = line[0] if is_row(line) and line else None
        named = not isinstance(head, str) or head in _STEPS
        if not named and reading.find("assertion", head) is None:
            reading.blame(f"{where}: {unknown_step(head, reading.ids('assertion'))}")
            continue
        if reading.read(lambda line=line, where=where: read_steps(where, [line])):
            _STEPS.get(head, _check_assertion)(reading, where, line)


def check_plays(reading: Reading, slot: str, plays: Any) -> None:
    """Note what is wrong with the steps of named plays."""
    if is_map(plays):
        plays = [{"name": name, "steps": steps} for name, steps in plays.items()]
    for row in rows_of(reading, slot, plays):
        steps: Any = row.get("steps", ()) if is_map(row) else ()
        steps = steps.get("steps", ()) if is_map(steps) else steps
        check_play(reading, f"{slot} {row.get('name')!r}" if is_map(row) else slot, steps)


def own_methods(
    component: Callable[..., Any] | None, story: Origin | None
) -> dict[str, Callable[..., Any]]:
    """Return the public methods that a class component, or a base in its own package, defines.

    Those of the standard library and of what is installed are not its own, but for a story that
    comes from the same package.
    """
    if not isinstance(component, type):
        return {}
    home = component.__module__.partition(".")[0]
    registered_by = "" if story is None else story.key.rpartition(":")[2].partition(".")[0]
    if home != registered_by and _is_installed(home):
        return {}
    classes = [cls for cls in component.__mro__ if cls.__module__.partition(".")[0] == home]
    found: dict[str, Any] = {name: m for cls in reversed(classes) for name, m in vars(cls).items()}
    return {
        name: getattr(member, "__func__", member)
        for name, member in found.items()
        if not name.startswith("_") and real_class(member) in _METHODS
    }


def _is_installed(package: str) -> bool:
    if package in ("__main__", "__mp_main__"):
        return False
    found = getattr(sys.modules.get(package), "__spec__", None)
    places = [] if found is None else [found.origin, *(found.submodule_search_locations or ())]
    parts = {part for place in places for part in str(place).replace("\\", "/").split("/")}
    return package in sys.stdlib_module_names or not parts.isdisjoint(_INSTALLED)


def _unhandled(slot: str, name: str, known: Sequence[str]) -> str:
    near = did_you_mean(name, known) or (
        f" There are: {', '.join(known[:SHOWN])}." if known else " There is none."
    )
    return (
        f"{slot}: nothing handles {name!r}: what an agent dispatches goes to handlers, and to the "
        f"public methods that a class component defines itself.{near}"
    )


def _check_call(reading: Reading, where: str, line: Any) -> None:
    own = own_methods(reading.component, reading.origin)
    if line[1] not in own:
        reading.blame(_unhandled(where, line[1], list(own)))
    else:
        given: Any = line[2] if len(line) > 2 else {}
        reading.blame(*given_faults(own[line[1]], given, where=f"{where}: {line[1]}"))


def _check_set(reading: Reading, where: str, line: Any) -> None:
    check_path(reading, where, line[1])
    reading.blame(*data_faults(line[2], where=where))


def _check_assertion(reading: Reading, where: str, line: Any) -> None:
    reading.blame(*pattern_faults(line[1:], where))
    found = reading.find("assertion", line[0])
    taken = takes_of(found.body.component.resolve()).parameters if found else None
    hints = [parameter.annotation for parameter in (taken or {}).values()][1:]
    for index, hint in enumerate(hints[: len(line) - 1]):
        if not isinstance(hint, str) and (code := code_in(hint)):
            reading.blame(f"{where}: {line[0]}[{index}] takes {code}: an agent gives data only.")


def check_path(reading: Reading, where: str, path: Any) -> None:
    """Note a path that is none, or that leads to what is private or secret."""
    steps = reading.read(lambda: parse_path(path))
    for key in steps or ():
        if isinstance(key, str) and (key.startswith("_") or is_secret_key(key)):
            reading.blame(f"{where}: {key!r} is private or a secret: only the person sets it.")


_INSTALLED = frozenset({"site-packages", "dist-packages"})
_METHODS = (FunctionType, staticmethod, classmethod)
_STEPS: dict[str, Callable[[Reading, str, Any], None]] = {
    "dispatch": lambda reading, where, line: check_events(reading, where, line[1:2]),
    "wait": lambda _reading, _where, _line: None,
    "set": _check_set,
    "call": _check_call,
}
