"""The checks of lint, each over one kind of what is registered."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from repl_pair.errors import AuthoringError, RequestError, did_you_mean, error_text
from repl_pair.runtime.authoring.agent_data import held_data
from repl_pair.runtime.authoring.decorator_uses import misuse
from repl_pair.runtime.linting.faults import (
    Fault,
    entries_of,
    event_faults,
    fault_of,
    step_faults,
    unknown_names,
)
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry import model
from repl_pair.runtime.registry.extending import chain_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.steps import public_method
from repl_pair.runtime.running.calling import check_required
from repl_pair.runtime.values.frozen import refs_in
from repl_pair.runtime.values.takes import takes_of


def find_faults() -> list[Fault]:
    """Check every registry of this process, sorted by file and line."""
    found = [fault for check in _CHECKS for fault in check()]
    return sorted(set(found), key=lambda fault: (fault.file, fault.line, fault.code, fault.what))


def _names() -> Iterator[Fault]:
    for entry in entries_of("story", "variant", "workspace"):
        for slot, kind in model.NAMED.items():
            named: Any = getattr(entry.body, slot, None) or ()
            ids = [named] if isinstance(named, str) else named
            yield from unknown_names(entry, kind, (id.removeprefix("!") for id in ids))
        yield from unknown_names(entry, "loader", [ref.loader for ref in refs_in(held_data(entry))])
        for id, args in getattr(entry.body, "decorators", ()):
            yield from unknown_names(entry, "decorator", [id])
            used = REGISTRY.find("decorator", id)
            if used is not None and (wrong := misuse(used.body, args)):
                yield fault_of(entry, "misused-decorator", f"{id}: {wrong}", "Change its args.")
            elif used is not None and "effect" in args:
                yield from _effect_faults(entry, model.effect_answered(used.body, args))


def _lonely() -> Iterator[Fault]:
    for entry in entries_of("story"):
        if not REGISTRY.ids("variant", f"{entry.id}/"):
            how = f"Register one: repl_pair.variant('{entry.id}/Name', args={{…}})."
            yield fault_of(entry, "story-without-variants", "nothing of it is ever run.", how)


def _lost() -> Iterator[Fault]:
    for entry in entries_of(*REGISTRY.kinds):
        for component in model.components_in(entry.body):
            if component.is_lost:
                how = f"Define {component.qualname} again, or remove what names it."
                yield fault_of(entry, "lost-name", component.shown, how)


def _panels() -> Iterator[Fault]:
    for entry in entries_of("panel"):
        at: model.Panel = entry.body
        seen = [entry.id]
        while isinstance(at.render, str):
            target = REGISTRY.find("panel", at.render)
            if target is None or target.id in seen:
                why = "leads back to itself" if target else "is not registered"
                what = f"its render, panel {at.render!r}, {why}: it can never be shown."
                yield fault_of(entry, "unreachable-panel", what, "Name a panel with a function.")
                break
            seen.append(target.id)
            at = target.body


def _functions() -> Iterator[Fault]:
    for entry in entries_of("variant"):
        body: model.Variant = entry.body
        events = [str(event[0]) for event in (*body.events, *body.loaders_teardown)]
        yield from event_faults(entry, [*events, *body.args_to_events.values()])
        for play in (body.play, *(one.steps for one in body.plays)):
            yield from step_faults(entry, play)
    components = [entry.body.component.resolve() for entry in entries_of("story")]
    classes = [one for one in components if isinstance(one, type)]
    for entry in entries_of("decorator"):
        setup: model.Decorator = entry.body
        events = [str(event[0]) for event in (*setup.init, *setup.teardown)]
        methods = {e for e in events if any(public_method(cls, e) for cls in classes)}
        yield from event_faults(entry, [event for event in events if event not in methods])
        yield from _effect_faults(entry, setup.effect)


def _effect_faults(entry: model.Entry, effect: str) -> Iterator[Fault]:
    """Report an effect that nothing implements or names, or a dotted name that leads nowhere."""
    if "." not in effect:
        # One that is emitted by `effect.later` needs no implementation.
        yield from unknown_names(entry, "effect", () if _is_emitted(effect) else [effect])
        return
    try:
        resolve_name(effect)
    except (Exception, SystemExit) as error:  # noqa: BLE001  the import runs the person's code
        what = f"there is nothing at {effect!r}: {error_text(error)}."
        yield fault_of(entry, "unknown-effect", what, "Name a function as it is imported.")


def _is_emitted(effect: str) -> bool:
    components = (entry.body.component.resolve() for entry in entries_of("story"))
    modules = {sys.modules.get(getattr(one, "__module__", "")) for one in components}
    emission = re.compile(rf"effect(\.later)?\(\s*['\"]{re.escape(effect)}['\"]")
    return not effect or any(emission.search(_source_of(one)) for one in modules if one)


@lru_cache
def _source_of(module: ModuleType) -> str:
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        return ""


def _contracts() -> Iterator[Fault]:
    for entry in entries_of("variant"):
        code, remedy = "dead-extends", "Extend a variant that is there."
        try:
            chain_of(entry)
            code, remedy = "contract", "Change its body, or the component."
            plan = plan_variant(entry.id)
            used = [REGISTRY.find("decorator", str(use[0])) for use in plan.decorators]
            # A decorator may give the component what the args lack.
            if not any(one is not None and one.body.kind == "wrap" for one in used):
                check_required(plan.component, plan.args)
        except (RequestError, AuthoringError) as error:
            yield fault_of(entry, code, error.message, remedy)


def _modes() -> Iterator[Fault]:
    """Report modes with args that no component takes."""
    taken: set[str] = set()
    for entry in entries_of("story"):
        takes = takes_of(entry.body.component.resolve())
        if takes.parameters is None or takes.takes_any:
            return
        taken.update(takes.parameters)
    for entry in entries_of("variant"):
        taken.update(entry.body.args_to_events)
    for entry in entries_of("mode"):
        args: Sequence[str] = list(entry.body.args)
        if args and not taken.intersection(args):
            near = did_you_mean(args[0], taken)
            what = f"no component takes {', '.join(map(repr, args))}.{near}"
            yield fault_of(entry, "unfit-mode", what, "Change its args, or remove it.")


_CHECKS: Sequence[Callable[[], Iterator[Fault]]] = (
    _names,
    _lonely,
    _lost,
    _panels,
    _functions,
    _contracts,
    _modes,
)
