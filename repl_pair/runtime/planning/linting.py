"""What does not fit together among what is registered; nothing of the person's runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from repl_pair.errors import AuthoringError, RequestError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.authoring.agent_loaders import held_data
from repl_pair.runtime.authoring.decorator_uses import misuse
from repl_pair.runtime.authoring.lines import STEPS, signature_of, unknown_step
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.extending import chain_of
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import (
    NAMED,
    Decorator,
    Entry,
    Panel,
    Step,
    Variant,
    components_in,
)
from repl_pair.runtime.registry.origin import BUILTIN, file_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values.frozen import refs_in


@record
class Fault:
    """One thing that does not fit: where it is, its code, what it is and what to do."""

    code: str
    what: str
    remedy: str
    file: str = ""
    line: int = 0


def find_faults() -> list[Fault]:
    """Check every registry of this process, sorted by file and line."""
    found = [fault for check in _CHECKS for fault in check()]
    return sorted(set(found), key=lambda fault: (fault.file, fault.line, fault.code, fault.what))


def _fault(entry: Entry, code: str, what: str, remedy: str) -> Fault:
    origin = entry.origin
    return Fault(
        code=code,
        what=f"{entry.kind} {entry.id}: {what}",
        remedy=remedy,
        file=file_of(origin) or origin.label,
        line=origin.line,
    )


def _entries(*kinds: str) -> Iterator[Entry]:
    for kind in kinds:
        yield from (e for e in REGISTRY.snapshot(kind).values() if e.origin.key != BUILTIN)


def _unknown(entry: Entry, kind: str, names: Iterable[str]) -> Iterator[Fault]:
    known = REGISTRY.ids(kind)
    for name in dict.fromkeys(names):
        if name not in known:
            what = f"there is no {kind} {name!r}.{did_you_mean(name, known)}"
            how = _REMEDIES.get(kind, "Register {!r}").format(name)
            yield _fault(entry, f"unknown-{kind}", what, f"{how}, or name another.")


_REMEDIES = {
    "tag": "Register it: repl_pair.tag({!r})",
    "mode": "Register it: repl_pair.mode({!r}, args=…)",
    "decorator": "Register it: repl_pair.decorator({!r}, …)",
    "panel": "Register it: repl_pair.panel({!r}, …)",
    "loader": "Register it: @repl_pair.loader({!r})",
    "handler": "Register it: @repl_pair.handler({!r})",
    "effect": "Register it: @repl_pair.effect({!r})",
}


def _names() -> Iterator[Fault]:
    for entry in _entries("story", "variant", "workspace"):
        for slot, kind in NAMED.items():
            named: Any = getattr(entry.body, slot, None) or ()
            ids = [named] if isinstance(named, str) else named
            yield from _unknown(entry, kind, (id.removeprefix("!") for id in ids))
        yield from _unknown(entry, "loader", [ref.loader for ref in refs_in(held_data(entry))])
        for id, args in getattr(entry.body, "decorators", ()):
            yield from _unknown(entry, "decorator", [id])
            used = REGISTRY.find("decorator", id)
            if used is not None and (wrong := misuse(used.body, args)):
                yield _fault(entry, "misused-decorator", f"{id}: {wrong}", "Change its args.")


def _lonely() -> Iterator[Fault]:
    for entry in _entries("story"):
        if not REGISTRY.ids("variant", f"{entry.id}/"):
            how = f"Register one: repl_pair.variant('{entry.id}/Name', args={{…}})."
            yield _fault(entry, "story-without-variants", "nothing of it is ever run.", how)


def _lost() -> Iterator[Fault]:
    for entry in _entries(*REGISTRY.kinds):
        for component in components_in(entry.body):
            if component.is_lost:
                how = f"Define {component.qualname} again, or take out what names it."
                yield _fault(entry, "lost-name", component.shown, how)


def _panels() -> Iterator[Fault]:
    for entry in _entries("panel"):
        at: Panel = entry.body
        seen = [entry.id]
        while isinstance(at.render, str):
            target = REGISTRY.find("panel", at.render)
            if target is None or target.id in seen:
                why = "leads back to itself" if target else "is not registered"
                what = f"its render, panel {at.render!r}, {why}: it can never be shown."
                yield _fault(entry, "unreachable-panel", what, "Name a panel with a function.")
                break
            seen.append(target.id)
            at = target.body


def _functions() -> Iterator[Fault]:
    for entry in _entries("variant"):
        body: Variant = entry.body
        events = [str(event[0]) for event in (*body.events, *body.loaders_teardown)]
        yield from _events(entry, [*events, *body.args_to_events.values()])
        for play in (body.play, *(one.steps for one in body.plays)):
            yield from _steps(entry, play)
    for entry in _entries("decorator"):
        setup: Decorator = entry.body
        yield from _events(entry, [str(event[0]) for event in (*setup.init, *setup.teardown)])
        if setup.effect and "." not in setup.effect:  # a dotted name is a function of Python's
            yield from _unknown(entry, "effect", [setup.effect])


def _events(entry: Entry, names: Sequence[str]) -> Iterator[Fault]:
    story = REGISTRY.find("story", story_of(entry.id)) if entry.kind == "variant" else None
    component = None if story is None else story.body.component.resolve()
    if entry.kind == "variant" and not isinstance(component, type):
        # What a function gives is there only once it ran: its methods may take the events.
        return
    own = {n for n in names if not n.startswith("_") and callable(getattr(component, n, None))}
    yield from _unknown(entry, "handler", [name for name in names if name not in own])


def _steps(entry: Entry, steps: Sequence[Step]) -> Iterator[Fault]:
    assertions = REGISTRY.snapshot("assertion")
    for step in steps:
        name = str(step[0])
        if name == "dispatch":
            yield from _events(entry, [str(step[1][0])])
        if name in STEPS:
            continue
        if name not in assertions:
            what = unknown_step(name, assertions)
            yield _fault(entry, "unknown-step", what, "Mend its name, or register the assertion.")
        elif wrong := signature_of(assertions[name].body.component.resolve()).fault(step[1:]):
            yield _fault(entry, "misused-assertion", f"{name}: {wrong}", "Change its words.")


def _contracts() -> Iterator[Fault]:
    for entry in _entries("variant"):
        code, remedy = "dead-extends", "Extend a variant that is there."
        try:
            chain_of(entry)
            code, remedy = "contract", "Change its body, or the component."
            plan_variant(entry.id)
        except (RequestError, AuthoringError) as error:
            yield _fault(entry, code, error.message, remedy)


_CHECKS: Sequence[Callable[[], Iterator[Fault]]] = (
    _names,
    _lonely,
    _lost,
    _panels,
    _functions,
    _contracts,
)
