"""Decorators at work: what they put around a component, into its setup, and before its effects."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.runtime.effects import Override, overridden
from repl_pair.runtime.frame import Frame, thaw_data
from repl_pair.runtime.model import Decorator, Event, Use
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.shapes import class_of_value

WRAPPED = "component"
"""The first parameter of a wrap function that is given the component and gives another."""


@record
class Used:
    """A decorator as one variant uses it."""

    id: str
    body: Decorator
    args: Mapping[str, Any]


def resolve_uses(uses: Iterable[Use]) -> Sequence[Used]:
    """Find today's decorators, from the outermost in.

    RequestError `cannot_run` names one that is not registered, or a wrap that stands twice.
    """
    found = [_used(use) for use in uses]
    wraps = [used.id for used in found if used.body.kind == "wrap"]
    for id in wraps:
        if wraps.count(id) > 1:
            raise RequestError(
                "cannot_run",
                f"Decorator {id!r} would wrap the component twice; use it in one place only.",
            )
    return found


def put_around(frame: Frame, uses: Sequence[Used]) -> None:
    """Put what wraps and answers around a run, until `frame.around` is closed."""
    frame.around.enter_context(overridden(frame.scope, _overrides(uses)))
    component: Callable[..., Any] = frame.plan.component
    for used in reversed(uses):
        if used.body.wrap is None:
            continue
        wrap = used.body.wrap.resolve()
        if _takes_component(wrap):
            component = wrap(component, **used.args)
        else:
            frame.around.enter_context(_manager(used.id, wrap, used.args))
    frame.component = component


def patches(uses: Sequence[Used]) -> Iterable[tuple[str, Any]]:
    """Give the paths that setups set, in order, each with its fresh value."""
    for used in uses:
        for path, value in used.body.patch.items():
            yield path, thaw_data(value, f"decorator {used.id}: patch {path}")


def init_events(uses: Sequence[Used]) -> Iterable[Event]:
    """Give the events of setups, in order."""
    return (event for used in uses for event in used.body.init)


def teardown_events(uses: Sequence[Used]) -> Iterable[Event]:
    """Give the events that end setups, from the innermost out."""
    return (event for used in reversed(uses) for event in used.body.teardown)


def _used(use: Use) -> Used:
    id = str(use[0])
    entry = REGISTRY.find("decorator", id)
    if entry is None:
        raise RequestError("cannot_run", REGISTRY.missing("decorator", id))
    return Used(id=id, body=entry.body, args=thaw_data(use[1], f"decorator {id}"))


def _overrides(uses: Sequence[Used]) -> Iterable[Override]:
    return (_override(used) for used in uses if used.body.kind == "fx_override")


def _override(used: Used) -> Override:
    """Give what an fx_override answers; its use may name the effect and the response itself."""
    body, args = used.body, used.args
    effect = str(args.get("effect", body.effect))
    if not effect:
        raise RequestError("cannot_run", f"Decorator {used.id!r} is used without an effect.")
    if "responses" in args:
        return Override(effect=effect, responses=tuple(args["responses"]), repeats=False)
    if "response" in args:
        return Override(effect=effect, responses=(args["response"],))
    return Override(effect=effect, responses=body.responses, repeats=body.repeats)


def _takes_component(wrap: Callable[..., Any]) -> bool:
    return next(iter(inspect.signature(wrap).parameters), None) == WRAPPED


def _manager(id: str, wrap: Callable[..., Any], args: Mapping[str, Any]) -> Any:
    if inspect.isgeneratorfunction(wrap):
        return contextmanager(wrap)(**args)
    manager: Any = wrap(**args)
    if hasattr(class_of_value(manager), "__enter__"):
        return manager
    raise RequestError(
        "cannot_run",
        f"Decorator {id!r} gave a {class_of_value(manager).__name__}. "
        "A wrap function is a generator that yields once, gives a context manager, or takes "
        f"`{WRAPPED}` first and gives another.",
    )
