"""What an agent's body calls: decorators, events that something handles, steps of a play."""

import builtins
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from repl_pair.errors import did_you_mean, nearest
from repl_pair.runtime.authoring.agent_data import data_faults, given_faults
from repl_pair.runtime.authoring.agent_reading import SHOWN, Reading, rows_of
from repl_pair.runtime.authoring.bodies import read_uses
from repl_pair.runtime.authoring.decorator_uses import RAISE, builtin_exception
from repl_pair.runtime.authoring.lines import named_steps, read_event, read_steps, unknown_step
from repl_pair.runtime.registry.ids import WORDS
from repl_pair.runtime.registry.model import AssertionSignature, Decorator, Entry
from repl_pair.runtime.registry.steps import STEPS, named_by, public_method, taker_of
from repl_pair.runtime.signatures.code_hints import code_in
from repl_pair.runtime.values.classes import is_installed, is_map, is_row, real_class
from repl_pair.runtime.values.frozen import walk
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import parse_path
from repl_pair.runtime.values.patterns import pattern_fault
from repl_pair.runtime.values.takes import takes_of


def check_uses(reading: Reading, slot: str, uses: Any) -> None:
    """Note what is wrong with decorators as they are used."""
    for use in rows_of(reading, slot, uses):
        id: Any = use[0] if is_row(use) and use else use
        found = reading.entry("decorator", id, slot)
        read = found and reading.read(lambda use=use: read_uses(slot, [use]))
        if found is None or read is None:
            continue
        args, where = read[0][1], f"{slot}: {id}"
        check_override(reading, where, args)
        body: Decorator = found.body
        if body.wrap is not None:
            reading.add_faults(*given_faults(body.wrap.resolve(), args, where=where))
        else:
            reading.add_faults(*data_faults(args, where=where))


def check_override(reading: Reading, where: str, slots: Mapping[str, Any]) -> None:
    """Note an effect that is a Python name, and responses that raise no builtin exception."""
    effect = slots.get("effect", "")
    if effect and not (isinstance(effect, str) and WORDS.matches(effect)):
        known = ", ".join(reading.ids("effect")[:SHOWN])
        reading.add_faults(
            f"{where}: effect {effect!r:.80} is not an effect's id; an agent answers for effects "
            f"by their ids, never for Python names.{f' There are: {known}.' if known else ''}"
        )
    several: Any = slots.get("responses", ())
    answers: Any = [slots["response"]] if "response" in slots else several
    for answer in rows_of(reading, f"{where}: responses", answers):
        name: Any = answer.get(RAISE) if is_map(answer) else None
        if name is not None and not (isinstance(name, str) and builtin_exception(name)):
            near = nearest(str(name), filter(builtin_exception, vars(builtins)))
            reading.add_faults(
                f'{where}: {{"{RAISE}": {name!r:.60}}} names no built-in exception; '
                f"one is {near[0] if near else 'TimeoutError'}."
            )


def check_events(reading: Reading, slot: str, events: Any) -> None:
    """Note invalid events, and those that no code of the person handles or that hold no data."""
    for event in rows_of(reading, slot, events):
        read = reading.read(lambda event=event: read_event(slot, event))
        if read is None:
            continue
        name = str(read[0])
        own = own_methods(reading.component, reading.story)
        taker = taker_of(reading.component, name, own, reading.find)
        if taker is None:
            reading.add_faults(_unhandled(slot, name, [*reading.ids("handler"), *own]))
        else:
            reading.add_faults(*given_faults(taker, read[1], where=f"{slot}: event {name}"))


def check_play(reading: Reading, slot: str, lines: Any) -> None:
    """Note invalid steps of a play, and those that name or set what an agent may not."""
    for index, line in enumerate(rows_of(reading, slot, lines)):
        where = f"{slot}[{index}]"
        head: Any = line[0] if is_row(line) and line else None
        named = not isinstance(head, str) or head in STEPS
        if not named and reading.find("assertion", head) is None:
            reading.add_faults(f"{where}: {unknown_step(head, reading.ids('assertion'))}")
            continue
        if reading.read(lambda line=line, where=where: read_steps(where, [line])):
            (_check_step if head in STEPS else _check_assertion)(reading, where, line)


def check_plays(reading: Reading, slot: str, plays: Any) -> None:
    """Note what is wrong with the steps of named plays."""
    for name, steps in named_steps(plays if is_map(plays) else rows_of(reading, slot, plays)):
        check_play(reading, f"{slot} {name!r}", steps)


def own_methods(component: Any, story: Entry | None) -> dict[str, Callable[..., Any]]:
    """Return the public methods that a class component, or a base in its own package, defines.

    Those of the standard library and of what is installed are not its own, but for a story that
    comes from the same package.
    """
    if not isinstance(component, type):
        return {}
    home = component.__module__.partition(".")[0]
    registered_by = "" if story is None else story.origin.key.rpartition(":")[2].partition(".")[0]
    if home != registered_by and is_installed(home):
        return {}
    classes = [cls for cls in component.__mro__ if cls.__module__.partition(".")[0] == home]
    found: dict[str, Any] = {name: m for cls in reversed(classes) for name, m in vars(cls).items()}
    return {
        name: getattr(member, "__func__", member)
        for name, member in found.items()
        if real_class(member) in _METHODS and public_method(component, name) is not None
    }


def _unhandled(slot: str, name: str, known: Sequence[str]) -> str:
    near = did_you_mean(name, known) or (
        f" There are: {', '.join(known[:SHOWN])}." if known else " There is none."
    )
    return (
        f"{slot}: nothing handles {name!r}: what an agent dispatches goes to handlers, and to the "
        f"public methods that a class component defines itself.{near}"
    )


def _check_call(reading: Reading, where: str, line: Any) -> None:
    own = own_methods(reading.component, reading.story)
    if line[1] not in own:
        reading.add_faults(_unhandled(where, line[1], list(own)))
    else:
        given: Any = line[2] if len(line) > 2 else {}
        reading.add_faults(*given_faults(own[line[1]], given, where=f"{where}: {line[1]}"))


def _check_step(reading: Reading, where: str, line: Any) -> None:
    first = 2
    match named_by(line):
        case "event":
            check_events(reading, where, line[1:2])
        case "path":
            check_path(reading, where, line[1])
        case "method":
            _check_call(reading, where, line)
            first = 3
        case _:
            first = 1
    for value in line[first:]:
        reading.add_faults(*data_faults(value, where=where))


def _check_assertion(reading: Reading, where: str, line: Any) -> None:
    found = reading.find("assertion", line[0])
    if found is None:
        return
    reading.add_faults(*_pattern_faults(found, line[1:], where))
    taken = takes_of(found.body.component.resolve()).parameters
    hints = [parameter.annotation for parameter in (taken or {}).values()][1:]
    for index, hint in enumerate(hints[: len(line) - 1]):
        if not isinstance(hint, str) and (code := code_in(hint)):
            reading.add_faults(
                f"{where}: {line[0]}[{index}] takes {code}: an agent gives data only."
            )


def _pattern_faults(assertion: Entry, words: Any, where: str) -> list[str]:
    """Return what is wrong with the patterns in the words of a step: none may hold the interpreter.

    The assertions that ship run them on an engine that takes linear time. Those of the person have
    Python's, where two repetitions, or one of a group, may take exponential time.
    """
    signature: AssertionSignature | None = assertion.body.signature
    if signature is not None and not signature.takes_patterns:
        return []
    return [f"{where}: {fault}" for fault in _faults_in(words, for_python=signature is None)]


def _faults_in(words: Any, *, for_python: bool) -> Iterator[str]:
    maps = [node for _, node, _ in walk(words) if is_map(node)]
    for key, value in (item for node in maps for item in node.items()):
        if key in ("match", "pattern") and isinstance(value, str):
            fault = pattern_fault(value) or (_fault_for_python(value) if for_python else "")
            if fault:
                yield f"the pattern {value[:60]!r} {fault}."
        elif key == "patternProperties":
            yield "a schema of an agent has no patternProperties; name the properties."


def _fault_for_python(pattern: str) -> str:
    plain = _LITERAL.sub("x", pattern)
    repeats = sum(plain.count(sign) for sign in "*+?{")
    if repeats > 1 or (repeats and "(" in plain):
        return "goes to the person's own assertion: it may repeat in one place, and no group"
    return ""


def check_path(reading: Reading, where: str, path: Any) -> None:
    """Note an invalid path, and one that leads to what is private or secret."""
    steps = reading.read(lambda: parse_path(path))
    for key in steps or ():
        if isinstance(key, str) and (key.startswith("_") or is_secret_key(key)):
            reading.add_faults(f"{where}: {key!r} is private or a secret: only the person sets it.")


_LITERAL = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?", re.DOTALL)
"""An escape, or a class with all that it holds."""
_METHODS = (FunctionType, staticmethod, classmethod)
