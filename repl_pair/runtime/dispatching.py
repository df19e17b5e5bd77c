"""Events: each goes to the handler of its name, else to a public method of the live object."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.frame import Frame
from repl_pair.runtime.members import read_member
from repl_pair.runtime.model import Event
from repl_pair.runtime.paths import follow, format_path, parse_path
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.shapes import class_of_value, is_map


async def dispatch(frame: Frame, event: Event) -> Any:
    """Dispatch one event, whose payload is fresh, and give what its handler gave."""
    name, payload = str(event[0]), event[1]
    entry = REGISTRY.find("handler", name)
    handle = method_of(frame.live, name) if entry is None else None
    if entry is None and handle is None:
        near = did_you_mean(name, [*REGISTRY.ids("handler"), *public_methods(frame.live)])
        raise RequestError(
            "cannot_run",
            f"Nothing handles the event {name!r}: there is no handler, and "
            f"{type(frame.live).__name__} has no such method.{near}",
        )
    frame.events.append([name, payload])
    if entry is not None:
        return await frame.value_of(entry.body.component.resolve()(frame.live, **payload))
    assert handle is not None, name
    return await frame.value_of(handle(**payload))


async def call_method(frame: Frame, name: str, kwargs: Mapping[str, Any]) -> Any:
    """Call a public method of the live object, which is no event, and give what it gave."""
    method = method_of(frame.live, name)
    if method is None:
        near = did_you_mean(name, public_methods(frame.live))
        raise RequestError(
            "cannot_run", f"{type(frame.live).__name__} has no public method {name!r}.{near}"
        )
    return await frame.value_of(method(**kwargs))


def set_path(live: Any, path: str | list[Any], value: Any) -> None:
    """Set a key, index or field that is there; a mapping takes new keys too."""
    *above, last = parse_path(path)
    holder: Any = follow(live, above)
    is_new = is_map(holder)
    if not is_new:
        read_member(holder, last)
    if is_new or isinstance(last, int) or hasattr(class_of_value(holder), "__setitem__"):
        cast("Any", holder)[last] = value
    elif str(last).startswith("_"):
        raise RequestError("cannot_run", f"{format_path(parse_path(path))} is not public.")
    else:
        setattr(holder, last, value)


def method_of(live: Any, name: str) -> Callable[..., Any] | None:
    """Give a public method of an object by its class, None if it has none of that name."""
    if (
        name.startswith("_")
        or is_map(live)
        or not callable(getattr(class_of_value(live), name, None))
    ):
        return None
    return getattr(live, name)


def public_methods(live: Any) -> list[str]:
    """Name the methods of an object that events may go to."""
    return (
        []
        if is_map(live)
        else [n for n in dir(class_of_value(live)) if method_of(live, n) is not None]
    )
