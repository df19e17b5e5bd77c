"""What the person writes to publish live values and functions of their app."""

import inspect
from collections.abc import Callable
from typing import Any

from repl_pair.runtime.authoring.entries import Handle, enter
from repl_pair.runtime.registry.model import Component, Member, Procedure, Surface
from repl_pair.runtime.surfaces.members import Cell
from repl_pair.runtime.surfaces.state import NOTHING, declare


class SurfaceHandle(Handle):
    """A surface, by which its members and functions are declared."""

    tier: str | None = None

    def cell(
        self, name: str, hint: Any = Any, *, default: Any = NOTHING, expose: bool = False
    ) -> Cell:
        """Declare one current value."""
        id = f"{self}/{name}"
        enter("member", id, Member(kind="cell", hint=hint, exposed=expose), self.tier)
        state = declare(id, "cell")
        state.value = default
        return Cell(state)


def surface(id: str, *, tier: str | None = None, doc: str = "") -> SurfaceHandle:
    """Register a surface: a name under which live values and functions are published."""
    handle = SurfaceHandle("surface", str(enter("surface", id, Surface(doc=doc), tier)))
    handle.tier = tier
    return handle


def function(
    id: str,
    *,
    expose: bool = False,
    tier: str | None = None,
    mutates: bool = True,
    ask: bool = False,
    thread_safe: bool = False,
    timeout_s: float = 20.0,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of the app; the function itself is returned."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        body = Procedure(
            component=Component.of(fn),
            tool=id.replace(".", "__"),
            doc=inspect.getdoc(fn) or "",
            exposed=expose,
            mutates=mutates,
            ask=ask,
            thread_safe=thread_safe,
            timeout_s=timeout_s,
        )
        enter("function", id, body, tier)
        return fn

    return register
