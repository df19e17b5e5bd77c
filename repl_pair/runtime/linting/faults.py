"""What lint reports of one entry: unknown names, and what is wrong with its events and plays."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.assertions.view import ROOTS
from repl_pair.runtime.authoring.lines import Signature, signature_of, unknown_step
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry, Step
from repl_pair.runtime.registry.origin import BUILTIN, file_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.steps import (
    STEPS,
    named_by,
    public_method,
    public_methods,
    taker_of,
)
from repl_pair.runtime.registry.tags import ACTING
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.paths import parse_path


@record
class Fault:
    """One thing that does not fit: where it is, its code, what it is and what to do."""

    code: str
    what: str
    remedy: str
    file: str = ""
    line: int = 0


def fault_of(entry: Entry, code: str, what: str, remedy: str) -> Fault:
    """Return what is wrong with an entry, at the place that registered it."""
    origin = entry.origin
    return Fault(
        code=code,
        what=f"{entry.kind} {entry.id}: {what}",
        remedy=remedy,
        file=file_of(origin) or origin.label,
        line=origin.line,
    )


def entries_of(*kinds: str) -> Iterator[Entry]:
    """Return what is registered of some kinds, without what ships."""
    for kind in kinds:
        yield from (e for e in REGISTRY.snapshot(kind).values() if e.origin.key != BUILTIN)


def unknown_names(entry: Entry, kind: str, names: Iterable[str]) -> Iterator[Fault]:
    """Report the names that no entry of a kind has; some tags count as marks without one."""
    known = [*REGISTRY.ids(kind), *(ACTING if kind == "tag" else ())]
    for name in dict.fromkeys(names):
        if name not in known:
            what = f"there is no {kind} {name!r}.{did_you_mean(name, known)}"
            how = _REMEDIES.get(kind, "Register {!r}").format(name)
            yield fault_of(entry, f"unknown-{kind}", what, f"{how}, or name another.")


_REMEDIES = {
    "tag": "Register it: repl_pair.tag({!r})",
    "mode": "Register it: repl_pair.mode({!r}, args=…)",
    "decorator": "Register it: repl_pair.decorator({!r}, …)",
    "panel": "Register it: repl_pair.panel({!r}, …)",
    "loader": "Register it: @repl_pair.loader({!r})",
    "handler": "Register it: @repl_pair.handler({!r})",
    "effect": "Register it: @repl_pair.effect({!r})",
}


def event_faults(entry: Entry, names: Sequence[str]) -> Iterator[Fault]:
    """Report events that neither a handler nor a method of the story's class takes."""
    component = _component_of(entry)
    if entry.kind == "variant" and not isinstance(component, type):
        # What a function gives is there only once it ran: its methods may take the events.
        return
    left = [name for name in names if taker_of(component, name) is None]
    yield from unknown_names(entry, "handler", left)


def step_faults(entry: Entry, steps: Sequence[Step]) -> Iterator[Fault]:
    """Report the lines of a play that no run could carry out."""
    for step in steps:
        name, names = str(step[0]), named_by(step)
        if names == "event":
            yield from event_faults(entry, [str(step[1][0])])
        elif names == "method":
            yield from _call_faults(entry, str(step[1]))
        elif name not in STEPS:
            yield from _assertion_faults(entry, name, step[1:])


def _component_of(entry: Entry) -> Any:
    story = REGISTRY.find("story", story_of(entry.id)) if entry.kind == "variant" else None
    return None if story is None else story.body.component.resolve()


def _call_faults(entry: Entry, method: str) -> Iterator[Fault]:
    cls = _component_of(entry)
    if isinstance(cls, type) and public_method(cls, method) is None:
        near = did_you_mean(method, public_methods(cls))
        what = f"call: {cls.__name__} has no public method {method!r}.{near}"
        yield fault_of(entry, "unknown-method", what, "Name a method that it has.")


def _assertion_faults(entry: Entry, name: str, words: Sequence[Any]) -> Iterator[Fault]:
    assertion = REGISTRY.find("assertion", name)
    if assertion is None:
        what = unknown_step(name, REGISTRY.ids("assertion"))
        yield fault_of(entry, "unknown-step", what, "Correct its name, or register the assertion.")
        return
    signature = signature_of(assertion.body.component.resolve())
    # The path of `state_is` begins in the state.
    misplaced = "" if name == "state_is" else _path_fault(signature, words)
    wrong = signature.fault(words) or misplaced or _pattern_fault(words)
    if wrong:
        yield fault_of(entry, "misused-assertion", f"{name}: {wrong}", "Change its words.")


def _path_fault(signature: Signature, words: Sequence[Any]) -> str:
    if signature.places[:1] != ("path",):
        return ""
    try:
        root = str(parse_path(words[0])[0])
    except RequestError as error:
        return error.message
    known = f"paths start at {', '.join(ROOTS)}, not at {root!r}.{did_you_mean(root, ROOTS)}"
    return "" if root in ROOTS else known


def _pattern_fault(words: Sequence[Any]) -> str:
    pattern = words[-1].get("match") if words and is_map(words[-1]) else None
    try:
        re.compile(pattern if isinstance(pattern, str) else "")
    except (re.error, OverflowError, RecursionError) as error:
        return f"{pattern!r} is not a valid pattern: {error}."
    return ""
