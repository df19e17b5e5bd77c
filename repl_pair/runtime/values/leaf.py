"""What is done with the values of one immutable type; the types themselves are rows of `LEAVES`."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from repl_pair.records import row

Made = tuple[bytes, Callable[[Any], tuple[Any, ...]]]
"""A tag, and a fixed number of plainer values: what the canonical stream holds of a value."""


@row
class Marker:
    """How values stand in JSON data: the slots beside `$type`, and the way back.

    `write` gives None for a value that no data carries; invalid slots make `read` raise anything.
    """

    name: str
    write: Callable[[Any], dict[str, Any] | None]
    read: Callable[[Mapping[str, Any]], Any]


class PythonText(NamedTuple):
    """An expression, and the import that it needs."""

    text: str
    needs: str = ""


@row
class Leaf:
    """One type. What is left out is not done with its values."""

    form: str
    """The valid JSON form in words, for a refusal."""
    takes: tuple[type, ...] = ()
    """The JSON types that `read` makes a value of."""
    read: Callable[[Any], Any] = lambda value: value
    schema: Mapping[str, Any] | None = None
    to_json: Callable[[Any], Any] | None = None
    """Gives the JSON that `read` takes."""
    made_of: Made | None = None
    marker: Marker | None = None
    python: Callable[[Any], PythonText | None] = lambda value: PythonText(repr(value))
    """Gives Python that makes the value, None where no short text does."""
    show: Callable[[Any], str] | None = None
    """Gives the text that agents see; runs no code of a subclass."""
    subclasses: bool = False
    """Whether instances of subclasses are such leaves too."""
