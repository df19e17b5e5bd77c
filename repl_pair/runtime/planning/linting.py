"""What does not fit together among what is registered; nothing of the person's runs."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from repl_pair.errors import AuthoringError, RequestError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.authoring.decorator_uses import misuse
from repl_pair.runtime.authoring.lines import STEPS, signature_of, unknown_step
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.extending import chain_of
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import (
    Decorator,
    Entry,
    Origin,
    Panel,
    Step,
    Story,
    Use,
    Variant,
)
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values.frozen import Ref, refs_in


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


def place_of(origin: Origin) -> tuple[str, int]:
    """Return the file and line of a registration, or else what it is called."""
    module = sys.modules.get(origin.key.removeprefix("module:"))
    return (getattr(module, "__file__", None) or origin.label), origin.line


def _fault(entry: Entry, code: str, what: str, remedy: str) -> Fault:
    file, line = place_of(entry.origin)
    return Fault(
        code=code, what=f"{entry.kind} {entry.id}: {what}", remedy=remedy, file=file, line=line
    )


def _entries(*kinds: str) -> Iterator[Entry]:
    for kind in kinds:
        yield from (e for e in REGISTRY.snapshot(kind).values() if e.origin.key != "builtin")


def _unknown(entry: Entry, kind: str, names: Iterable[str | None], how: str) -> Iterator[Fault]:
    known = REGISTRY.ids(kind)
    for name in dict.fromkeys(names):
        if name and name not in known:
            what = f"there is no {kind} {name!r}.{did_you_mean(name, known)}"
            yield _fault(entry, f"unknown-{kind}", what, f"{how.format(name)}, or name another.")


def _names() -> Iterator[Fault]:
    for entry in _entries("story", "variant"):
        body: Story | Variant = entry.body
        tags = (tag.removeprefix("!") for tag in body.tags)
        yield from _unknown(entry, "tag", tags, "Register it: repl_pair.tag({!r})")
        yield from _unknown(entry, "mode", body.modes, "Register it: repl_pair.mode({!r}, args=…)")
        yield from _uses(entry, body.decorators)
    for entry in _entries("workspace"):
        yield from _unknown(entry, "variant", entry.body.variants, "Register {!r}")
        yield from _unknown(entry, "story", [entry.body.story], "Register {!r}")
        yield from _unknown(
            entry, "panel", [entry.body.render], "Register it: repl_pair.panel({!r}, …)"
        )


def _uses(entry: Entry, uses: Sequence[Use]) -> Iterator[Fault]:
    known = REGISTRY.snapshot("decorator")
    names = [str(use[0]) for use in uses]
    yield from _unknown(entry, "decorator", names, "Register it: repl_pair.decorator({!r}, …)")
    for name, args in uses:
        if name in known and (wrong := misuse(known[name].body, args)):
            yield _fault(entry, "misused-decorator", f"{name}: {wrong}", "Change its args.")


def _lonely() -> Iterator[Fault]:
    for entry in _entries("story"):
        if not REGISTRY.ids("variant", f"{entry.id}/"):
            how = f"Register one: repl_pair.variant('{entry.id}/Name', args={{…}})."
            yield _fault(entry, "story-without-variants", "nothing of it is ever run.", how)


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
    """Check what variants and decorators name of functions, by their own words."""
    for entry in _entries("variant"):
        body: Variant = entry.body
        loaders = [*body.loaders, *_loaders_in(body.args), *_loaders_in(list(body.events))]
        yield from _unknown(entry, "loader", loaders, "Register it: @repl_pair.loader({!r})")
        events = [str(event[0]) for event in (*body.events, *body.loaders_teardown)]
        yield from _events(entry, [*events, *body.args_to_events.values()])
        for play in (body.play, *(one.steps for one in body.plays)):
            yield from _steps(entry, play)
    for entry in _entries("story"):
        loaders = _loaders_in(entry.body.args)
        yield from _unknown(entry, "loader", loaders, "Register it: @repl_pair.loader({!r})")
    for entry in _entries("decorator"):
        setup: Decorator = entry.body
        events = [str(event[0]) for event in (*setup.init, *setup.teardown)]
        yield from _events(entry, events)
        # A dotted name is a Python function that is stubbed.
        effect = setup.effect if "." not in setup.effect else None
        yield from _unknown(entry, "effect", [effect], "Register it: @repl_pair.effect({!r})")


def _loaders_in(data: object) -> list[str]:
    refs: Collection[Ref] = refs_in(data)
    return [ref.loader for ref in refs]


def _events(entry: Entry, names: Sequence[str]) -> Iterator[Fault]:
    """Check that each event goes to a handler, or to a method of the component."""
    story = REGISTRY.find("story", story_of(entry.id)) if entry.kind == "variant" else None
    component = None if story is None else story.body.component.resolve()
    if entry.kind == "variant" and not isinstance(component, type):
        # What a function gives is there only once it ran: its methods may take the events.
        return
    own = {n for n in names if not n.startswith("_") and callable(getattr(component, n, None))}
    left = [name for name in names if name not in own]
    yield from _unknown(entry, "handler", left, "Register it: @repl_pair.handler({!r})")


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
    """Check that each variant can be planned: its args fit the component as it is today."""
    for entry in _entries("variant"):
        try:
            chain_of(entry)
        except RequestError as error:
            yield _fault(entry, "dead-extends", error.message, "Extend a variant that is there.")
            continue
        try:
            plan_variant(entry.id)
        except (RequestError, AuthoringError) as error:
            yield _fault(entry, "contract", error.message, "Change its body, or the component.")


_CHECKS: Sequence[Callable[[], Iterator[Fault]]] = (
    _names,
    _lonely,
    _panels,
    _functions,
    _contracts,
)
