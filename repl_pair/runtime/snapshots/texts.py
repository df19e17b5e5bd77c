"""A value as text that is lossless, the same in every process, and has a part a line."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from hashlib import sha256
from textwrap import indent
from typing import Any

from repl_pair.runtime.capture.bundles import figure_of
from repl_pair.runtime.snapshots.made_up import hide_addresses
from repl_pair.runtime.snapshots.secret_parts import is_secret_slot, secret_position
from repl_pair.runtime.snapshots.serializers import read_state
from repl_pair.runtime.snapshots.states import State, Unstorable, Words
from repl_pair.runtime.values.classes import is_instance_of, qualname_of, real_class
from repl_pair.runtime.values.leaves import leaf_of, quoted
from repl_pair.runtime.values.marks import names_own_value, secret_type
from repl_pair.runtime.values.paths import Place, below, join_path
from repl_pair.wire import REDACTED

WIDTH = 88
MAX_PARTS, ENDS = 1000, 50
"""Of a container of more parts the first and last stand there, with a digest of all."""
MAX_BYTES = 64
"""Longer bytes are written as their size, digest and first bytes."""
DEEPEST = 100

_INDENT = "  "
_BRACKETS = {list: "[]", tuple: "()", set: "{}", frozenset: "{}"}


def write_text(
    value: Any,
    *,
    secret: Iterable[Place] = (),
    hide: Callable[[str], str],
    hidden: list[Any] | None = None,
) -> str:
    """Return the text of a value; Unstorable, with the place, where it has no lossless one.

    A secret, by type, key or the places `secret`, is a placeholder; `hidden` gets what stood there.
    `hide` replaces those in texts that are known otherwise.
    """
    return _Writer(hide, [] if hidden is None else hidden).write(value, tuple(secret), "result")


def _beside_its_name(parts: Mapping[Any, Any], secret: tuple[Place, ...]) -> tuple[Place, ...]:
    return (*secret, ("value",)) if names_own_value(parts) else secret


class _Writer:
    def __init__(self, hide: Callable[[str], str], hidden: list[Any]) -> None:
        self.hide, self.hidden = hide, hidden
        self._above: list[int] = []

    def write(self, value: Any, secret: tuple[Place, ...], where: str) -> str:
        cls = real_class(value)
        if value is None or cls is bool:
            return repr(value)
        if () in secret or secret_type(value):
            self.hidden.append(value)
            return REDACTED
        if cls is str:
            return self._text(value)
        if cls is bytes or cls is bytearray:
            return self._bytes(cls, value)
        if cls is int or cls is float:
            return self._number(value)
        if isinstance(value, Enum):
            return f"<{qualname_of(cls)}.{value.name}: {self.write(value.value, (), where)}>"
        if (leaf := leaf_of(cls)) is not None and (written := leaf.python(value)) is not None:
            return self.hide(written.text)
        if cls is Words:
            return self.hide(value.text)
        if id(value) in self._above:
            return f"<the {cls.__name__} {len(self._above) - self._above.index(id(value))} above>"
        if len(self._above) >= DEEPEST:
            raise Unstorable(f"{where} is nested more than {DEEPEST} levels deep")
        self._above.append(id(value))
        try:
            return self._open(value, cls, secret, where)
        finally:
            self._above.pop()

    def _open(self, value: Any, cls: type[Any], secret: tuple[Place, ...], where: str) -> str:
        if cls is State:
            return self._state(value, secret, where)
        if cls is dict:
            return self._mapping(value.items(), secret, where)
        if cls in _BRACKETS:
            return self._items(value, cls, secret, where)
        if figure_of(value) or is_instance_of(value, "ipywidgets", "Widget"):
            if len(self._above) <= 2:  # what it shows is an output
                return f"<{qualname_of(cls)}>"
            raise Unstorable(f"{where} is shown only where it is the result, or at its first level")
        try:
            state = read_state(value)
        except Unstorable as error:
            name = qualname_of(cls)
            raise Unstorable(
                f"{where} is a {name}, which has no state that can be stored ({error}): return its "
                f"data instead, or register how it is written with @repl_pair.serializer({name})"
            ) from error
        return (
            self.hide(state.text) if isinstance(state, Words) else self._state(state, secret, where)
        )

    def _state(self, state: State, secret: tuple[Place, ...], where: str) -> str:
        parts = [self.write(arg, secret, f"{where}({n})") for n, arg in enumerate(state.args)]
        secret = _beside_its_name(state.fields, secret)
        for name, part in state.fields.items():
            parts.append(f"{name}={self._slot(name, part, secret, where)}")
        if state.items is not None:
            parts.append(self._items(state.items, list, secret, where))
        if state.pairs is not None:
            parts.append(self._mapping(state.pairs, secret, where, is_sorted=False))
        return self._bracket(f"{state.name}(", parts, ")")

    def _items(self, items: Any, cls: type, secret: tuple[Place, ...], where: str) -> str:
        listed, (start, end) = list(items), _BRACKETS[cls]
        if cls is tuple and (at := secret_position(listed)) is not None:
            secret = (*secret, (str(at),))
        parts = [
            self.write(item, below(secret, at) if secret else (), f"{where}[{at}]")
            for at, item in enumerate(listed)
        ]
        if cls is set or cls is frozenset:
            parts.sort()
            if not parts or cls is frozenset:
                start, end = (f"{cls.__name__}(" + "{" * bool(parts), "}" * bool(parts) + ")")
        if cls is tuple and len(parts) == 1:
            return f"({parts[0]},)"
        return self._bracket(start, parts, end)

    def _mapping(
        self, pairs: Iterable[Any], secret: tuple[Place, ...], where: str, *, is_sorted: bool = True
    ) -> str:
        listed = list(pairs)  # the keys that pickle keeps need no hash
        secret = _beside_its_name({k: part for k, part in listed if type(k) is str}, secret)
        written = [
            f"{self.write(key, (), f'{where} key')}: {self._slot(key, part, secret, where)}"
            for key, part in listed
        ]
        return self._bracket("{", sorted(written) if is_sorted else written, "}")

    def _slot(self, key: Any, part: Any, secret: tuple[Place, ...], where: str) -> str:
        inner = below(secret, key) if secret else ()
        if is_secret_slot(key, part):
            inner = ((),)
        return self.write(part, inner, join_path(where, key))

    def _bracket(self, start: str, parts: list[str], end: str) -> str:
        """Write a part a line, on one what is short and stands in another; of many the ends."""
        if len(parts) > MAX_PARTS:
            digest = sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
            left = f"… {len(parts) - 2 * ENDS} more; sha256 of all {len(parts)}: {digest}"
            parts = [*parts[:ENDS], left, *parts[-ENDS:]]
        line = f"{start}{', '.join(parts)}{end}"
        is_inner = len(self._above) > 1 or not parts
        if is_inner and "\n" not in line and len(line) <= WIDTH:
            return line
        body = "".join(f"{part},\n" for part in parts)
        return f"{start}\n{indent(body, _INDENT)}{end}"

    def _text(self, text: str) -> str:
        text = hide_addresses(self.hide(text))
        lines = text.splitlines(keepends=True)
        if len(lines) < 2:
            return quoted(text)
        return "(\n" + "".join(f"{_INDENT}{quoted(line)}\n" for line in lines) + ")"

    def _bytes(self, cls: type, value: Any) -> str:
        raw = bytes(value)
        text = raw.decode("latin-1")
        if self.hide(text) != text:
            return REDACTED
        if len(raw) <= MAX_BYTES:
            return repr(value)
        digest = sha256(raw).hexdigest()
        return f"<{len(raw)} {cls.__name__}, sha256 {digest}, {raw[:16]!r} first>"

    def _number(self, number: int | float) -> str:
        try:
            return self.hide(repr(number))
        except ValueError:  # more digits than Python writes
            return hex(int(number))
