"""Decorators in a run: wraps around the component, setups, and overrides of effects."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.authoring.decorator_uses import WRAPPED, Used, misuse, takes_component
from repl_pair.runtime.registry.model import Use, effect_answered
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.running.effects import overridden
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.loading import begin, enter, is_manager
from repl_pair.runtime.running.responses import Responses
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.thaw import thaw_data


def resolve_uses(uses: Iterable[Use]) -> Sequence[Used]:
    """Return the decorators as registered now, from the outermost in.

    RequestError `cannot_run` names one that is not registered, or a wrap that stands twice.
    """
    found: list[Used] = []
    for use in uses:
        id, given = str(use[0]), use[1]
        entry = REGISTRY.find("decorator", id)
        if entry is None:
            raise RequestError("cannot_run", REGISTRY.missing("decorator", id))
        # Responses stay frozen, to be made afresh for each call.
        is_override = entry.body.kind == "fx_override"
        args = given if is_override else thaw_data(given, f"decorator {id}")
        found.append(Used(id=id, body=entry.body, args=args, by_agent=is_agents(entry.origin)))
    for used in found:
        if wrong := misuse(used.body, used.args):
            raise RequestError("cannot_run", f"Decorator {used.id!r}: {wrong}")
    wraps = [used.id for used in found if used.body.kind == "wrap"]
    for id in wraps:
        if wraps.count(id) > 1:
            raise RequestError(
                "cannot_run",
                f"Decorator {id!r} would wrap the component twice; use it in one place only.",
            )
    return found


async def apply_decorators(frame: Frame, uses: Sequence[Used]) -> None:
    """Apply overrides and wraps to a run, from the outermost in; teardown ends them."""
    frame.uses = uses
    if uses:
        overrides = [_responses(used) for used in uses if used.body.kind == "fx_override"]
        await enter(frame, overridden(frame.scope, overrides))
    component: Callable[..., Any] = frame.plan.component
    component_wraps: list[tuple[Used, Callable[..., Any]]] = []
    for used in uses:
        wrap = used.body.wrap and used.body.wrap.resolve()
        if wrap is not None and takes_component(wrap):
            component_wraps.append((used, wrap))
        elif wrap is not None:
            await _begin(frame, used, wrap)
    for used, wrap in reversed(component_wraps):
        component = await _wrapped(frame, used, wrap, component)
    frame.component = component


def _responses(used: Used) -> Responses:
    """Return the responses of an fx_override; its use may give effect and response itself."""
    body, args = used.body, used.args
    effect = effect_answered(body, args)
    if "responses" in args:
        return Responses(effect, tuple(args["responses"]), repeats=False)
    if "response" in args:
        return Responses(effect, [args["response"]])
    return Responses(effect, body.responses, repeats=body.repeats)


async def _wrapped(
    frame: Frame, used: Used, wrap: Callable[..., Any], component: Callable[..., Any]
) -> Callable[..., Any]:
    frame.doing = {"decorator": used.id}
    made = await frame.value_of(wrap(component, **used.args))
    frame.doing = {}
    if callable(made):
        return made
    raise RequestError(
        "cannot_run",
        f"Decorator {used.id!r} takes `{WRAPPED}` and gave a {real_class(made).__name__}, "
        "where it has to give what is called in the component's place.",
    )


async def _begin(frame: Frame, used: Used, wrap: Callable[..., Any]) -> None:
    frame.doing = {"decorator": used.id}
    made: Any = wrap(**used.args)
    if inspect.isgenerator(made) or inspect.isasyncgen(made):
        await begin(frame, made, f"Decorator {used.id!r}")
    elif is_manager(made):
        await enter(frame, made)
    else:
        if inspect.iscoroutine(made):
            made.close()
        raise RequestError(
            "cannot_run",
            f"Decorator {used.id!r} gave a {real_class(made).__name__}. "
            "A wrap function is a generator that yields once, gives a context manager, or takes "
            f"`{WRAPPED}` first and gives another.",
        )
    frame.doing = {}
