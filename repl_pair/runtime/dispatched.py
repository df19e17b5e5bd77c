"""What live objects take, as those hear it who listen."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.declared import secret_payload
from repl_pair.runtime.model import Event
from repl_pair.runtime.plan import Plan
from repl_pair.runtime.shapes import class_of_value
from repl_pair.runtime.telling import text_of
from repl_pair.runtime.values import freeze


@record
class Dispatched:
    """One event that a live object took, its payload as it was before anything handled it.

    `payload` holds frozen data, and an `Odd` for what is none; `is_typed_secret` tells whether the
    handler declares some of it as secret. `raised` is the class of what the handler raised.
    """

    plan: Plan
    opening: object
    name: str
    payload: Mapping[str, Any]
    is_typed_secret: bool = False
    raised: str = ""


@record
class Odd:
    """Stands for a value that is no data."""

    type: str
    why: str


Listener = Callable[[Dispatched], None]


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Call `listener` in the block with each event that some live object took."""
    token = object()
    _LISTENERS[token] = listener
    try:
        yield
    finally:
        del _LISTENERS[token]


def about_to_send(plan: Plan, opening: object, live: Any, event: Event) -> Dispatched:
    """Freeze what is sent before a handler may change it; unless somebody listens, nothing is."""
    name, payload = event
    heard: Mapping[str, Any] = payload if _LISTENERS else {}
    return Dispatched(
        plan=plan,
        opening=opening,
        name=name,
        payload={key: _frozen(value) for key, value in heard.items()},
        is_typed_secret=_is_declared_secret(live, name, heard),
    )


def tell(sent: Dispatched, raised: str) -> None:
    """Let all who listen hear of what was sent."""
    for listener in tuple(_LISTENERS.values()):
        listener(replace(sent, raised=raised))


def _is_declared_secret(live: Any, name: str, payload: Mapping[str, Any]) -> bool:
    return bool(payload) and bool(secret_payload(class_of_value(live), name, payload))


def _frozen(value: Any) -> Any:
    try:
        return freeze(value)
    except Exception as error:  # noqa: BLE001  a value's own code may fail in any way
        return Odd(type=type(value).__name__, why=text_of(error))


_LISTENERS: dict[object, Listener] = {}
