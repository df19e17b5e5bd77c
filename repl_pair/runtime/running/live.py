"""Live objects: variants that stay open and take events until they are closed."""

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.runtime.capture.showing import show_open
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.reading.exceptions import short_class_name
from repl_pair.runtime.running.copies import copy_containers
from repl_pair.runtime.running.dispatching import handler_of
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.loading import load_data
from repl_pair.runtime.running.openings import Opening, open_variant
from repl_pair.runtime.secrets.places import secret_payload
from repl_pair.runtime.values.classes import is_map, is_row, is_set, real_class
from repl_pair.runtime.values.declared_fields import has_fields
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import Frozen, NotData, refs_in


@record
class Dispatched:
    """One event that a live object took, its payload as it was before it was handled.

    `payload` holds frozen data, and a `NotData` for what is none. `is_typed_secret`: the handler
    declares some of it as secret. `raised` is the class of what the handler raised.
    """

    plan: Plan
    opening: object
    name: str
    payload: Mapping[str, Any]
    is_typed_secret: bool = False
    raised: str = ""


LISTENERS: dict[object, Callable[[Dispatched], None]] = {}
"""Called with each event that some live object took, by whom they are of."""


def _freeze_event(opening: Opening, name: str, payload: Mapping[str, Any]) -> Dispatched:
    """Freeze an event before a handler may change its payload; left empty without a listener."""
    frozen = {key: _frozen(value) for key, value in payload.items()} if LISTENERS else {}
    secret = frozen and secret_payload(real_class(opening.frame.live), name, frozen)
    return Dispatched(
        plan=opening.plan,
        opening=id(opening),
        name=name,
        payload=frozen,
        is_typed_secret=bool(secret),
    )


def _frozen(value: Any) -> Any:
    try:
        return freeze(value)
    except Exception:  # noqa: BLE001  a value's own code may fail in any way
        return NotData(type(value).__name__)


async def _handle(frame: Frame, sent: Dispatched, payload: Mapping[str, Any]) -> Any:
    """Give an event to its handler, with what was passed; a `ref` is loaded before it is taken."""
    frame.doing = {"event": sent.name}
    handle = handler_of(frame, sent.name)
    loaded = {name: await _loaded(frame, sent, name, value) for name, value in payload.items()}
    try:
        return await frame.value_of(handle(**loaded))
    except BaseException as error:
        sent = replace(sent, raised=short_class_name(type(error)))
        raise
    finally:
        for listener in tuple(LISTENERS.values()):
            listener(sent)


async def _loaded(frame: Frame, sent: Dispatched, name: str, value: Any) -> Any:
    """Copy the containers of what was passed; each part in them that is or holds a `ref` loads."""
    found = dict[int, tuple[object, Frozen]]()

    def set_aside(leaf: Any) -> Any:
        holds = has_fields(real_class(leaf)) or is_map(leaf) or is_row(leaf) or is_set(leaf)
        if not holds or not refs_in(frozen := _frozen(leaf)):
            return leaf
        place = object()
        found[id(place)] = place, frozen
        return place

    copied = copy_containers(value, set_aside)
    where, at = f"event {sent.name}", ("events", name)
    loaded = {id: await load_data(frame, one, where, at=at) for id, (_, one) in found.items()}
    return copy_containers(copied, lambda leaf: loaded.get(id(leaf), leaf)) if found else copied


class Live:
    """A variant that was set up, loaded and rendered, and takes events until it is closed."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._finalizer = weakref.finalize(
            self, opening.close_with_warning, "nothing refers to it any more; close() it"
        )
        self._finalizer.atexit = False

    @property
    def variant_id(self) -> str:
        """Name the variant."""
        return self._opening.plan.variant_id

    @property
    def is_open(self) -> bool:
        """Return whether it takes events."""
        return self._opening.is_open

    @property
    def result(self) -> Any:
        """What the component returned; of a class, the instance."""
        return self._opening.frame.result

    @property
    def state(self) -> Any:
        """What the story projects of the live object, or that object itself."""
        return self._opening.enter(lambda: self._opening.frame.state)

    @property
    def outputs(self) -> tuple[Mapping[str, Any], ...]:
        """The MIME bundles that render, or the last dispatch, showed."""
        return self._opening.frame.captured.bundles()

    @property
    def stdout(self) -> str:
        """What render, or the last dispatch, printed."""
        return self._opening.frame.captured.text("stdout")

    def dispatch(self, name: str, /, **payload: Any) -> Any:
        """Dispatch one event; return what its handler returned, or raise what it raised.

        A closed one refuses with RequestError `cannot_run`.
        """
        opening, frame = self._opening, self._opening.frame
        sent, given = _freeze_event(opening, name, payload), list[Any]()

        async def send() -> None:
            if not opening.is_open:
                raise RequestError("cannot_run", f"The live object of {self.variant_id} is closed.")
            try:
                given.append(await _handle(frame, sent, payload))
            finally:
                show_open(frame.captured)
                frame.scope.forget()

        opening.walk(send)
        return given[0]

    def close(self) -> None:
        """Tear down: loaders and decorators clean up. Closing twice does nothing."""
        self._finalizer.detach()
        self._opening.close()

    def __enter__(self) -> "Live":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<live {self.variant_id}, {'open' if self.is_open else 'closed'}>"


def live(
    variant_id: str, *, modes: Sequence[str] = (), overrides: Mapping[str, Any] | None = None
) -> Live:
    """Open a variant and leave it open: it is set up, loaded and rendered; no play runs.

    Its object takes events by `dispatch(name, **payload)` until `close()` or the end of its `with`
    block. What opening raises is raised here, after its teardown.
    """
    return Live(open_variant(plan_variant(variant_id, modes=modes, overrides=overrides, plays=())))


def opening_id(one: Live) -> object:
    """Return the value that `Dispatched.opening` has for a live object."""
    return id(one._opening)  # pyright: ignore[reportPrivateUsage]  the two are one thing
