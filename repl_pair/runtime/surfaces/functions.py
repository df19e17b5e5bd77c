"""What the person writes to publish functions of their app, and what of it is refused."""

import inspect
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from repl_pair.errors import AuthoringError
from repl_pair.runtime.authoring.args import bad_body, check_callable
from repl_pair.runtime.authoring.entries import enter, origin_here
from repl_pair.runtime.registry.ids import check_id
from repl_pair.runtime.registry.model import KINDS, Component, Entry, Origin, Procedure
from repl_pair.runtime.registry.origin import is_same_run
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.learning import learn_defaults
from repl_pair.runtime.signatures.arguments import MAX_S
from repl_pair.runtime.signatures.schema import contains_itself, open_parameters
from repl_pair.runtime.surfaces.function_calls import function_schema
from repl_pair.runtime.values.takes import takes_of

F = TypeVar("F", bound=Callable[..., Any])

FUNCTION_S = 20.0
"""What a function may take by default, and so hold the person's cells."""
LONGEST_TOOL = 40
"""Characters of a tool's name: some clients take 64, with the name of the server before it."""
LEGAL = (
    "text, numbers, bool, None beside one of them, Literal, enums, dates, Decimal, UUID, paths, "
    "lists, tuples, sets and dicts of these, dataclasses, typed dicts, named tuples, models"
)
"""Of what types the parameters of an exposed function are."""
_LOCK = threading.RLock()
"""Held from the look whether a tool's name is free until it is taken."""


def function(
    id: str,
    *,
    expose: bool = False,
    tier: str | None = None,
    mutates: bool = True,
    ask: bool = False,
    thread_safe: bool = False,
    timeout_s: float = FUNCTION_S,
) -> Callable[[F], F]:
    """Register a function of the app, under an id such as `orders.place`; it is returned itself.

    Agents see it once it is exposed, and call it as a tool too (`orders__place`). Without
    `mutates=False` it counts as one that changes something. `ask`: the person approves each call of
    an agent. A `thread_safe` one runs beside the person's cells, any other one between them.
    `timeout_s` is what a call may take. AuthoringError `bad_id` for an id whose tool is taken,
    `bad_body` for what cannot be called with JSON.
    """
    check_id("function", KINDS["function"].grammar, id)

    def register(fn: F) -> F:
        where = f"function {id!r}"
        _check_component(where, fn)
        if not 0 < timeout_s <= MAX_S:
            raise bad_body(where, f"timeout_s is a number of seconds, up to {MAX_S}.")
        body = Procedure(
            component=Component.of(fn),
            tool=tool_name(id),
            doc=inspect.getdoc(fn) or "",
            exposed=expose,
            mutates=mutates,
            thread_safe=thread_safe,
            ask=ask,
            timeout_s=float(timeout_s),
        )
        learn_defaults(fn)
        enter_function(id, body, tier)
        return fn

    return register


def surface_function(
    surface: str,
    tier: str | None,
    listed: Collection[str],
    fn: Callable[..., Any] | None,
    options: Mapping[str, Any],
) -> Any:
    """Register a function under a surface and its own name; without `fn` return the decorator.

    It is exposed where its name is `listed` too.
    """

    def register(fn: Any) -> Any:
        name = getattr(fn, "__name__", None)
        if name is None:
            where = f"a function of surface {surface!r}"
            raise bad_body(where, f"a {type(fn).__name__} has no name; use repl_pair.function.")
        exposed = options.get("expose", False) or name in listed
        named: Any = {"tier": tier, **options, "expose": exposed}
        return function(f"{surface}.{name}", **named)(fn)

    return register if fn is None else register(fn)


def enter_function(id: str, body: Procedure, tier: str | None) -> None:
    """Register the body of a function; AuthoringError as `function`."""
    with _LOCK:
        check_function(id, body)
        enter("function", id, body, tier)


def check_function(id: str, body: Procedure) -> None:
    """Refuse a body that `enter_function` would not register."""
    if body.exposed:
        check_exposable(f"function {id!r}", body.component.resolve())
    _check_tool(id, body.tool, origin_here())


def tool_name(id: str) -> str:
    """Return the name of a function's tool; which function a tool is, its entry alone says."""
    return id.replace(".", "__").lower()


def check_exposable(where: str, fn: Callable[..., Any]) -> None:
    """Refuse a generator, and a function whose parameters an agent could not all give as JSON."""
    _refuse_generator(where, fn)
    parameters = takes_of(fn).parameters or {}
    for p in parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise bad_body(where, f"{p}: an agent gives arguments by name; name each parameter.")
    schema = function_schema(fn)
    if not_json := open_parameters(schema):
        hints = takes_of(fn).read
        named = ", ".join(f"{n} ({hints[n] if hints[n].arms else 'no type'})" for n in not_json)
        circular = [n for n in not_json if contains_itself(schema["properties"][n])]
        legal = f" Valid are {LEGAL}." if circular != not_json else ""
        if circular:
            legal += f" The class of {' and '.join(circular)} contains itself: take a list of rows."
        raise bad_body(where, f"an agent cannot give {named} as JSON.{legal}")


def _refuse_generator(where: str, fn: Callable[..., Any]) -> None:
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise bad_body(where, "is a generator; register a function that returns a list.")


def _check_component(where: str, fn: Any) -> None:
    check_callable(fn, where)
    if isinstance(fn, type):
        raise bad_body(where, "is a class; register a function that makes one.")
    _refuse_generator(where, fn)
    if takes_of(fn).parameters is None:
        raise bad_body(where, "does not say what it takes; register a function that calls it.")


def _check_tool(id: str, tool: str, origin: Origin) -> None:
    """Refuse a tool's name that is too long or another function's.

    No op has such a name: an id has two words, and so a tool `__` between them.
    """
    if len(tool) > LONGEST_TOOL:
        raise AuthoringError(
            "bad_id",
            f"function {id!r} ({_place(origin)}) would be the tool {tool!r}, which has "
            f"{len(tool)} characters: at most {LONGEST_TOOL} are allowed.",
            detail={"kind": "function", "id": id},
        )
    for other in list(REGISTRY.snapshot("function").values()):
        if other.body.tool != tool or other.id == id:
            continue
        if _is_of_earlier_run(other, origin):
            REGISTRY.unregister("function", other.id, entry=other)
            continue
        raise AuthoringError(
            "bad_id",
            f"function {id!r} ({_place(origin)}) would be the tool {tool!r}, which function "
            f"{other.id!r} is ({_place(other.origin)}). Pick another id.",
            detail={"kind": "function", "id": id},
        )


def _is_of_earlier_run(entry: Entry, origin: Origin) -> bool:
    """Return whether the place that registers now registered this entry when it ran before."""
    is_renewed = origin.key.startswith(("cell:", "script:", "module:"))
    same_place = is_renewed and entry.origin.key == origin.key
    return same_place and not is_same_run(entry.origin.run, origin.run)


def _place(origin: Origin) -> str:
    return f"{origin.label} line {origin.line}"
