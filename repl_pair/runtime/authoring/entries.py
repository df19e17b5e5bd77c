"""Registering what was read, with its origin and handle, and undoing what agents registered."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Self

from repl_pair.errors import AuthoringError
from repl_pair.records import holding
from repl_pair.runtime.authoring.args import check_callable, learn_secrets_in
from repl_pair.runtime.authoring.decorator_uses import python_names
from repl_pair.runtime.authoring.lines import signature_of
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.registry.ids import check_id
from repl_pair.runtime.registry.model import KINDS, PUBLISHED, Component, Entry, Function, Origin
from repl_pair.runtime.registry.origin import AGENT, SCRIPT, find_origin, is_agents
from repl_pair.runtime.registry.registry import REGISTRY


class Handle(str):
    """The id of an entry, with its kind; taken wherever an id is."""

    kind: str

    def __new__(cls, kind: str, id: str) -> Self:
        """Make the handle of one entry."""
        handle = super().__new__(cls, id)
        handle.kind = kind
        return handle

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"{self.kind} {self}" if not cycle else "...")

    def _repr_html_(self) -> str:
        return f"<code>{self.kind}</code> <b>{self}</b>"


def function_kind(kind: str, doc: str) -> Callable[[Any], Any]:
    """Make the decorator that registers functions of a kind, by their own name or a given id."""

    def register(id: Any) -> Any:
        if callable(id):
            return register(getattr(id, "__name__", "?"))(id)
        check_id(kind, KINDS[kind].grammar, id)

        def decorate(fn: Callable[..., Any]) -> Handle:
            component = Component.of(check_callable(fn, f"{kind} {id!r}"))
            takes = signature_of(fn).payload if kind == "assertion" else ""
            body = Function(component=component, doc=inspect.getdoc(fn) or "", takes=takes)
            return enter(kind, id, body)

        return decorate

    register.__name__, register.__doc__ = kind, doc
    return register


def check_publisher(kind: str, id: str) -> None:
    """Refuse code of an agent's that publishes something, or exposes it; `bad_body`."""
    if is_agents(origin_here()):
        raise AuthoringError("bad_body", f"{kind} {id!r}: what an app publishes is the person's.")


def enter(kind: str, id: str, body: Any, tier: str | None = None) -> Handle:
    """Register a body with the caller's place as its origin, and return its handle.

    AuthoringError `bad_body` if a text of it is none, or if it comes from an agent and names Python
    objects.
    """
    for slot, kinds in _TEXTS.items():
        if not isinstance(text := getattr(body, slot, ""), kinds):
            raise AuthoringError("bad_body", f"{kind} {id!r}: {slot} is a text, not {text!r}.")
    origin = origin_here()
    if _ORIGIN.get() is None and origin.key.startswith(("cell:", SCRIPT)):
        CELLS.track()  # to retire what the next run of the cell leaves out
    if kind in PUBLISHED:
        check_publisher(kind, id)
    if is_agents(origin) and (names := python_names(body)):
        raise AuthoringError(
            "bad_body",
            f"{kind} {id!r} names {', '.join(names)}: an agent names what is registered and "
            "built-in exceptions, and no other name of Python's.",
        )
    if not is_agents(origin):
        learn_secrets_in([args for _, args in getattr(body, "decorators", ())])
    entry: Entry = REGISTRY.register(kind, id, body, origin=origin, tier=tier)
    return Handle(kind, entry.id)


_TEXTS: Mapping[str, tuple[type, ...]] = {
    "doc": (str,),
    "title": (str,),
    "axis": (str, type(None)),
}
"""The slots of bodies that are texts."""


def origin_here() -> Origin:
    """Return the origin of what is registered now."""
    return _ORIGIN.get() or find_origin()


def entering_from(origin: Origin) -> AbstractContextManager[None]:
    """Register what is registered in this block with a given origin, not the caller's place."""
    return holding(_ORIGIN, origin)


_ORIGIN: ContextVar[Origin | None] = ContextVar("repl_pair_origin", default=None)


def undo_agent(principal: str | None = None) -> list[str]:
    """Unregister all that agents registered, or that one of them did; return it as `kind id`.

    The undo that `registry.checkpoint(origin="agent:")` returns unregisters what came after it.
    """
    written = REGISTRY.entries_of(AGENT if principal is None else f"{AGENT}{principal}")
    return sorted(
        f"{kind} {id}"
        for (kind, id), entry in written.items()
        if REGISTRY.unregister(kind, id, entry=entry)
    )
