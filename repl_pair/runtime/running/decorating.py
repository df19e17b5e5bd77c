"""Decorators in a run: wraps around the component, setups, and overrides of effects."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.authoring.decorator_uses import WRAPPED, Used, misuse, takes_component
from repl_pair.runtime.registry.model import Use, effect_answered
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.running.calling import by_name
from repl_pair.runtime.running.effects import overridden
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.loading import begin, enter, is_manager
from repl_pair.runtime.running.responses import Responses
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.thaw import thaw_data


def _resolve_uses(uses: Iterable[Use]) -> Sequence[Used]:
    """Return the decorators as registered now, the outermost first; `cannot_run` for a misuse."""
    found: list[Used] = []
    for use in uses:
        id, given = str(use[0]), use[1]
        entry = REGISTRY.find("decorator", id)
        if entry is None:
            raise RequestError("cannot_run", REGISTRY.missing("decorator", id))
        # Responses stay frozen, to be made afresh for each call.
        is_override = entry.body.kind == "fx_override"
        args = given if is_override else thaw_data(given, f"decorator {id}")
        if wrong := misuse(entry.body, args):
            raise RequestError("cannot_run", f"Decorator {id!r}: {wrong}")
        if entry.body.kind == "wrap" and any(used.id == id for used in found):
            raise RequestError(
                "cannot_run",
                f"Decorator {id!r} would wrap the component twice; use it in one place only.",
            )
        found.append(Used(id=id, body=entry.body, args=args, by_agent=is_agents(entry.origin)))
    return found


async def apply_decorators(frame: Frame) -> None:
    """Put overrides and wraps around a run, from the outermost in; teardown ends them.

    `cannot_run` for one that is not registered, or whose wrap gives what cannot be used.
    """
    uses = frame.uses = _resolve_uses(frame.plan.decorators)
    if overrides := [_responses(used) for used in uses if used.body.kind == "fx_override"]:
        await enter(frame, overridden(frame.scope, overrides))
    wraps = [(used, used.body.wrap.resolve()) for used in uses if used.body.wrap]
    for used, wrap in wraps:
        if not takes_component(wrap):
            await _begin(frame, used, wrap)
    component: Any = by_name(frame.plan.component)
    for used, wrap in reversed(wraps):
        if not takes_component(wrap):
            continue
        frame.doing = {"decorator": used.id}
        component = await frame.value_of(wrap(component, **used.args))
        frame.doing = {}
        if not callable(component):
            raise RequestError(
                "cannot_run",
                f"Decorator {used.id!r} takes `{WRAPPED}` and gave a "
                f"{real_class(component).__name__}, where it has to give what is called in the "
                "component's place.",
            )
    frame.component = component


def _responses(used: Used) -> Responses:
    body, args = used.body, used.args
    effect = effect_answered(body, args)
    if "responses" in args:
        return Responses(effect, tuple(args["responses"]), repeats=False)
    if "response" in args:
        return Responses(effect, [args["response"]])
    return Responses(effect, body.responses, repeats=body.repeats)


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
