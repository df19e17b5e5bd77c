"""What the person writes to publish live values and functions of their app."""

from collections.abc import Callable
from typing import Any

from repl_pair.runtime.authoring.entries import Handle, enter
from repl_pair.runtime.registry.model import Member, Surface
from repl_pair.runtime.surfaces.functions import surface_function
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

    def function(self, fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Register a function under its own name, with the options of `repl_pair.function`."""
        return surface_function(str(self), self.tier, fn, options)


def surface(id: str, *, tier: str | None = None, doc: str = "") -> SurfaceHandle:
    """Register a surface: a name under which live values and functions are published."""
    handle = SurfaceHandle("surface", str(enter("surface", id, Surface(doc=doc), tier)))
    handle.tier = tier
    return handle
