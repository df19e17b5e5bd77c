"""What the person writes to publish live values and functions of their app."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.errors import AuthoringError, did_you_mean
from repl_pair.records import replace
from repl_pair.runtime.authoring.entries import Handle, check_publisher, enter
from repl_pair.runtime.registry.exposure import parts_of
from repl_pair.runtime.registry.model import Entry, Member, Surface
from repl_pair.runtime.registry.origin import outside
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.store import NOTHING
from repl_pair.runtime.surfaces.collection import Collection
from repl_pair.runtime.surfaces.functions import check_exposable, surface_function
from repl_pair.runtime.surfaces.members import Cell, Equals, Event, Stream, SurfaceWarning
from repl_pair.runtime.surfaces.state import State
from repl_pair.runtime.values.classes import spell
from repl_pair.runtime.values.hints import ANYTHING, read_hint

KEPT_EVENTS, MAX_KEPT = 100, 100_000
"""How many of an event are kept, and how many of a stream may be."""


class SurfaceHandle(Handle):
    """A surface, by which its members and functions are declared, and exposed to agents.

    A declaration takes the place of the one before of its name, whatever that was: the handles of
    that one publish nothing any more. All methods refuse by AuthoringError what is not valid.
    """

    tier: str | None = None

    def cell(
        self,
        name: str,
        hint: Any = Any,
        *,
        default: Any = NOTHING,
        equals: Equals | None = None,
        expose: bool = False,
        doc: str = "",
    ) -> Cell:
        """Declare one current value, of the type `hint`.

        A value that equals the current one is not published: by `==` for None, bool, int, float,
        str and bytes, else only the very same object, or what `equals(old, new)` finds equal.
        """
        id, state = f"{self}/{name}", State("cell", value=default)
        cell = Cell(id, state, hint, equals)
        if default is not NOTHING:
            cell.check(default)
        self._declare(id, state, hint, expose, doc)
        return cell

    def collection(
        self,
        name: str,
        hint: Any = dict[str, Any],
        *,
        equals: Equals | None = None,
        expose: bool = False,
        doc: str = "",
    ) -> Collection:
        """Declare current values by key, such as `dict[str, Row]`; the keys are text."""
        id, state = f"{self}/{name}", State("collection")
        item = _item_hint(id, hint)
        collection = Collection(id, state, item, equals)
        self._declare(id, state, item, expose, doc)
        return collection

    def stream(
        self, name: str, hint: Any = Any, *, keep: int = 500, expose: bool = False, doc: str = ""
    ) -> Stream:
        """Declare values that come one after the other, of which the last `keep` are kept.

        AuthoringError `bad_body` for a `keep` that is not from 1 to 100,000.
        """
        id = f"{self}/{name}"
        if type(keep) is not int or not 1 <= keep <= MAX_KEPT:
            raise AuthoringError("bad_body", f"{id}: keep is from 1 to {MAX_KEPT}, not {keep!r}.")
        state = State("stream", keep=keep)
        stream = Stream(id, state, hint)
        self._declare(id, state, hint, expose, doc)
        return stream

    def event(self, name: str, hint: Any = Any, *, expose: bool = False, doc: str = "") -> Event:
        """Declare something that happens, with a value of the type `hint`."""
        id, state = f"{self}/{name}", State("event", keep=KEPT_EVENTS)
        event = Event(id, state, hint)
        self._declare(id, state, hint, expose, doc)
        return event

    def function(self, fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Register a function under its own name, with the options of `repl_pair.function`."""
        return surface_function(str(self), self.tier, self.listed, fn, options)

    def expose(self, *names: str) -> None:
        """Let agents see these members and functions of the surface.

        They are the whole list: a name that an earlier call named, and this one does not, is hidden
        again, with a SurfaceWarning; `expose()` hides all of the list. What is declared anew under
        a name of the list stays exposed; a surface that is declared anew has no list.
        AuthoringError `bad_body` for a name that comes twice, `not_found` for an unknown one.
        """
        check_publisher("surface", self)
        if doubled := [name for name in names if names.count(name) > 1]:
            raise AuthoringError("bad_body", f"{self}.expose names {doubled[0]!r} twice.")
        entry, parts = REGISTRY.find("surface", self), {name: self.part(name) for name in names}
        if entry is None:
            raise AuthoringError("not_found", f"The surface {self} is no longer registered.")
        for part in parts.values():
            if part.kind == "function":
                check_exposable(f"function {part.id!r}", part.body.component.resolve())
        hidden = [part for name in self.listed if name not in names for part in self._parts(name)]
        renew(entry, replace(entry.body, exposed=names))
        for part in (*parts.values(), *hidden):
            renew(part, replace(part.body, exposed=part not in hidden))
        if names and hidden:
            left_out = ", ".join(part.id for part in hidden)
            text = (
                f"{self}.expose takes the whole list, and this call leaves out {left_out}: hidden "
                "from agents again. Name all that they may see in one call."
            )
            warnings.warn(text, SurfaceWarning, stacklevel=outside()[1])

    @property
    def listed(self) -> tuple[str, ...]:
        """The names that the surface exposes by its list."""
        entry = REGISTRY.find("surface", self)
        return () if entry is None else entry.body.exposed

    def _declare(self, id: str, state: State, hint: Any, expose: bool, doc: str) -> None:
        exposed = expose or id.rpartition("/")[2] in self.listed
        body = Member(kind=state.kind, hint=hint, doc=doc, exposed=exposed, state=state)
        enter("member", id, body, self.tier)

    def part(self, name: Any) -> Entry:
        """Return the member or function of a name; `bad_id` for several, `not_found` for none."""
        if not isinstance(name, str):
            what = f"{self}: members and functions are named as text, such as 'loss', not"
            raise AuthoringError("bad_id", f"{what} by {spell(type(name))}.")
        found = self._parts(name)
        if len(found) == 1:
            return found[0]
        if found:
            raise AuthoringError(
                "bad_id",
                f"{self} has a member and a function {name!r}: give one of them another name.",
            )
        ids = [*REGISTRY.ids("member", f"{self}/"), *REGISTRY.ids("function", f"{self}.")]
        known = [id[len(self) + 1 :] for id in ids]
        raise AuthoringError(
            "not_found",
            f"{self} has no {name!r}.{did_you_mean(name, known)} "
            f"It has: {', '.join(known) or 'nothing'}.",
        )

    def _parts(self, name: str) -> list[Entry]:
        ids = {"member": f"{self}/{name}", "function": f"{self}.{name}"}
        found = [REGISTRY.find(kind, id) for kind, id in ids.items()]
        return [entry for entry in found if entry is not None]


def renew(entry: Entry, body: Any) -> None:
    """Register another body of an entry, as the same registration of its place."""
    REGISTRY.register(entry.kind, entry.id, body, origin=entry.origin, tier=entry.tier)


def _item_hint(id: str, hint: Any) -> Any:
    """Return the hint of an item; AuthoringError `bad_body` where it is no mapping of text."""
    containers = read_hint(hint).containers
    if hint is dict or (
        len(containers) == 1
        and issubclass(containers[0].cls, Mapping)
        and len(containers[0].parts) == 2
        and containers[0].parts[0] in (read_hint(str), ANYTHING)
    ):
        return Any if hint is dict else containers[0].args[1]
    raise AuthoringError(
        "bad_body", f"{id}: the type of a collection is dict[str, Row], not {spell(hint)}."
    )


def surface(id: str, *, tier: str | None = None, doc: str = "") -> SurfaceHandle:
    """Register a surface: a name under which live values and functions are published.

    Declared anew it hides what the list of the one before exposed, and its members and functions
    have its tier.
    """
    old = REGISTRY.find("surface", id) if isinstance(id, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    handle = SurfaceHandle("surface", str(enter("surface", id, Surface(doc=doc), tier)))
    handle.tier = tier
    if old is None:
        return handle
    for part in parts_of(id):
        exposed = part.body.exposed and part.id[len(id) + 1 :] not in old.body.exposed
        of_tier = tier if part.tier == old.tier else part.tier
        if (exposed, of_tier) != (part.body.exposed, part.tier):
            renew(replace(part, tier=of_tier), replace(part.body, exposed=exposed))
    return handle
