"""Events: each goes to the handler of its name, else to a public method of the live object."""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any, cast

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.planning.guard import check_set, method_for_agent
from repl_pair.runtime.reading.steps import follow, read_member
from repl_pair.runtime.reading.stored_fields import read_field
from repl_pair.runtime.registry.model import Event
from repl_pair.runtime.registry.registry import REGISTRY, registered
from repl_pair.runtime.registry.steps import public_method, public_methods
from repl_pair.runtime.running.copies import copy_containers
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.loading import load_data
from repl_pair.runtime.secrets.places import secret_payload, secret_results
from repl_pair.runtime.values.classes import is_map, is_row, kind_of, real_class
from repl_pair.runtime.values.paths import format_path, parse_path


async def dispatch(frame: Frame, event: Event, *, from_agent: bool = False) -> Any:
    """Dispatch one event as it is registered, and return what its handler returned.

    One from an agent goes to a handler, else only to a method that the component itself defines.
    """
    name = str(event[0])
    before = frame.doing
    frame.doing = {**before, "event": name}
    handle = handler_of(frame, name, from_agent=from_agent)
    index = str(len(frame.events))
    payload: dict[str, Any] = await load_data(
        frame, event[1], f"event {name}", at=("events", index, "1")
    )
    secret = secret_payload(real_class(frame.live), name, event[1])
    frame.sensitive.extend(("events", index, "1", *path) for path in secret)
    # The handler may keep what it is given and change it.
    frame.events.append([name, copy_containers(payload)])
    given = await frame.value_of(handle(**payload))
    frame.doing, frame.gave = before, secret_results(handle)
    return given


async def call_method(frame: Frame, name: str, kwargs: Mapping[str, Any]) -> Any:
    """Call a public method of the live object for a play, and return what it returned.

    RequestError `cannot_run` for a name that is no public method, or not one that agents may call.
    """
    live, plan = frame.live, frame.plan
    if plan.plays_by_agent:
        method = method_for_agent(plan, live, name)
    elif public_method(real_class(live), name) is not None:
        method = getattr(live, name)
    else:
        near = did_you_mean(name, public_methods(real_class(live)))
        raise RequestError(
            "cannot_run", f"{type(live).__name__} has no public method {name!r}.{near}"
        )
    frame.gave = secret_results(method)
    return await frame.value_of(method(**kwargs))


def set_path(live: Any, path: str | list[Any], value: Any, *, from_agent: bool = False) -> None:
    """Set a key, column, field or index that is there; a mapping takes new keys too.

    An agent's path leads through what is stored, and to no code, namespace or stream. RequestError
    `cannot_run` for what is not public.
    """
    *above, last = parse_path(path)
    read = read_field if from_agent else read_member
    holder: Any = follow(live, above, step=read)
    if from_agent:
        check_set(holder, last, value)
    if is_map(holder):
        keys = cast("Any", holder)
        # A member of an enumeration is named by its name.
        members = (key for key in keys if isinstance(key, Enum) and key.name == last)
        keys[last if last in keys else next(members, last)] = value
        return
    read(holder, last)
    labels = {"frame": "columns", "series": "index"}.get(kind_of(holder) or "", "")
    is_label = bool(labels) and last in getattr(holder, labels)
    if isinstance(last, str) and not is_label and (labels or hasattr(holder, last)):
        if last.startswith("_"):
            raise RequestError("cannot_run", f"{format_path(parse_path(path))} is not public.")
        setattr(holder, last, value)
    elif labels and not is_label:
        holder.iloc[int(last)] = value
    else:
        holder[int(last) if is_row(holder) else last] = value


def handler_of(frame: Frame, name: str, *, from_agent: bool = False) -> Callable[..., Any]:
    """Return what handles an event; RequestError `cannot_run` where nothing does."""
    live, cls = frame.live, real_class(frame.live)
    handler = registered("handler", name)
    if handler is not None:
        return partial(handler, live)
    if from_agent:
        return method_for_agent(frame.plan, live, name)
    if public_method(cls, name) is not None:
        return getattr(live, name)
    near = did_you_mean(name, [*REGISTRY.ids("handler"), *public_methods(cls)])
    raise RequestError(
        "cannot_run",
        f"Nothing handles the event {name!r}: there is no handler, and "
        f"{type(live).__name__} has no such method.{near}",
    )
