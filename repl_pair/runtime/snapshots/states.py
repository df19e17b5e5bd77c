"""The forms in which a stored output writes a value that is no plain data."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from repl_pair.runtime.reading.fields import declares_secret
from repl_pair.runtime.values.frozen import Secret


class State(NamedTuple):
    """A name, what it is called with, and what stands in it; `fields` is by name."""

    name: str
    args: tuple[Any, ...] = ()
    fields: Mapping[str, Any] = {}
    items: list[Any] | None = None
    pairs: list[tuple[Any, Any]] | None = None


class Unstorable(Exception):
    """Raised for a value that has no state which could be compared; the text says why."""


class Words(NamedTuple):
    """A text that is written as it is."""

    text: str


def hide_declared(value: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an instance, those as Secrets that its class declares secret."""
    return {n: Secret(part) if declares_secret(value, n) else part for n, part in fields.items()}
