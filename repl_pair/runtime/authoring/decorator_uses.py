"""What decorators take where they are used, and the Python names in bodies."""

import builtins
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from repl_pair.errors import did_you_mean
from repl_pair.records import record
from repl_pair.runtime.registry.model import Component, Decorator, Story, Variant, effect_answered
from repl_pair.runtime.values.classes import is_map, is_row, real_class
from repl_pair.runtime.values.frozen import Given, walk
from repl_pair.runtime.values.takes import takes_of

RAISE = "$raise"
"""Heads a response that is raised: `{"$raise": "TimeoutError", "message": "too slow"}`."""
WRAPPED = "component"
"""The first parameter of a wrap function that is given the component and gives another."""
_ANSWERS = ("response", "responses")


@record
class Used:
    """A decorator as one variant uses it."""

    id: str
    body: Decorator
    args: Mapping[str, Any]
    by_agent: bool = False
    """An agent registered the decorator."""


def misuse(body: Decorator, args: Mapping[str, Any]) -> str:
    """Describe what is wrong with the args that a decorator is used with; nothing if they fit."""
    if body.kind == "frame_setup":
        return f"a frame_setup takes no args, not {', '.join(args)}." if args else ""
    if body.wrap is not None:
        wrap = body.wrap.resolve()
        try:
            takes = inspect.signature(wrap)
            takes.bind(*([None] if takes_component(wrap) else []), **args)
        except TypeError as error:
            return f"{Component.of(wrap).qualname} does not take its args: {error}."
        except ValueError:
            pass  # a builtin without a signature refuses when it is called
        return ""
    given = [name for name in _ANSWERS if name in args]
    if odd := [name for name in args if name not in ("effect", *_ANSWERS)]:
        return f"an fx_override takes effect, response or responses, not {', '.join(odd)}."
    if not effect_answered(body, args):
        return "it is used without an effect."
    if len(given) > 1 or not (given or body.responses):
        return "it is used with response, given each time, or responses, once each."
    return unraisable(args.get("responses", [args.get("response")]))


def unraisable(responses: Any) -> str:
    """Describe what is no list of responses, or names no exception; dotted ones are not sought."""
    if not is_row(responses) or not responses:
        return "responses is a list of at least one."
    for response in responses:
        if not is_map(response) or RAISE not in response:
            continue
        name = str(response[RAISE])
        if odd := sorted(map(str, response.keys() - {RAISE, "message"})):
            return f"a response that is raised has {RAISE} and message, not {', '.join(odd)}."
        if "." not in name and builtin_exception(name) is None:
            near = did_you_mean(name, filter(builtin_exception, vars(builtins)))
            return f"{name!r} is not a built-in exception.{near} Name another one as module.Class."
    return ""


def builtin_exception(name: str) -> type[Exception] | None:
    """Return a built-in exception by its name."""
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def takes_component(wrap: Callable[..., Any]) -> bool:
    """Return whether a wrap function takes the component, and returns another one."""
    return next(iter(takes_of(wrap).parameters or ()), None) == WRAPPED


def python_names(body: Any) -> Sequence[str]:
    """Return the dotted Python names in a body: of functions to stub, exceptions and objects."""
    found: list[str] = []
    if isinstance(body, Decorator):
        found += [body.effect, *_raised(list(body.responses))]
    if isinstance(body, (Story, Variant)):
        for _, args in body.decorators:
            found += [str(args.get("effect", "")), *_raised(args)]
    return [name for name in found if "." in name]


def _raised(data: Any) -> Iterator[str]:
    for _, node, _ in walk(data):
        if is_map(node) and RAISE in node:
            yield str(node[RAISE])
        elif type(node) is Given:
            kind = real_class(node.value)
            yield f"{kind.__module__}.{kind.__qualname__}"
