"""The immutable types that are data beside containers: one row holds all that is done with a type.

A new type is one more row of `LEAVES`. It is then frozen as it is, hashed, stored, written as
Python, taken from JSON where a parameter declares it, described by a schema and shown to agents.
"""

import base64
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from math import isfinite
from numbers import Complex, Integral, Real
from pathlib import Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any
from uuid import UUID

from repl_pair.runtime.values.classes import is_array_scalar, lineage, name_of, real_class
from repl_pair.runtime.values.leaf import Leaf, Made, Marker, PythonText
from repl_pair.runtime.values.moments import (
    read_moment,
    show_datetime,
    show_time,
    write_moment,
    zoned,
)

LONGEST_INT = 14_000
"""In bits: Python writes and reads 4,300 digits."""


def read_leaf(value: Any, cls: type) -> Any:
    """Return `value` as `cls`, a type in LEAVES; ValueError with the valid form if not."""
    leaf = LEAVES[cls]
    is_one = isinstance(value, _TOWER.get(cls, cls)) or is_array_scalar(value)
    if is_one and (cls is bool or not isinstance(value, bool)):  # a bool is no number
        return value
    if type(value) in leaf.takes:
        try:
            return leaf.read(value)
        except (ValueError, ArithmeticError):
            pass  # answered below with the valid form
    raise ValueError(leaf.form)


def leaf_of(cls: type) -> Leaf | None:
    """Return the row for values of a class, None where they are no leaves."""
    if is_leaf(cls):
        return LEAVES[cls]
    near = nearest_leaf(cls)
    return LEAVES[near] if near is not None and LEAVES[near].subclasses else None


def nearest_leaf(cls: type) -> type | None:
    """Return a class in LEAVES, or the nearest base that is, None where there is none."""
    return next((base for base in lineage(cls) if is_leaf(base)), None)


def is_leaf(cls: type) -> bool:
    """Return whether a class is in LEAVES; a metaclass may hash and compare by code of its own."""
    return cls in LEAVES if real_class(cls) is type else any(cls is known for known in LEAVES)


def leaf_json(value: Any) -> Any:
    """Return the JSON form of a leaf or an instance of a subclass; anything else as it is."""
    near = nearest_leaf(real_class(value))
    write = None if near is None else LEAVES[near].to_json
    return value if write is None else write(value)


def show_exactly(value: Any) -> str:
    """Return the text of an instance of a known class; of a subclass only its name."""
    cls: Any = real_class(value)
    return cls.__str__(value) if is_leaf(cls) else f"<{name_of(cls)}>"


def quoted(text: str) -> str:
    """Write a text in double quotes where nothing in it needs single ones."""
    written = repr(text)
    return written if '"' in text or written[0] == '"' else f'"{written[1:-1]}"'


def _as_text(name: str, write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Marker:
    return Marker(name, lambda value: {"value": write(value)}, lambda slots: read(slots["value"]))


def _read_hex(text: str) -> int:
    number = int(text, 16)
    if number.bit_length() > LONGEST_INT:
        raise ValueError("it has over 4,200 digits")
    return number


def _as_moment(name: str, read: Callable[[str], Any]) -> Marker:
    return Marker(name, write_moment, lambda slots: read_moment(slots, read))


def _by_class(value: Any, module: str) -> PythonText:
    name = type(value).__name__
    return PythonText(f"{name}({quoted(str(value))})", f"from {module} import {name}")


def _moment_text(value: Any) -> PythonText | None:
    zone = getattr(value, "tzinfo", None)
    plain = zone is None or type(zone) is timezone
    return PythonText(repr(value), "import datetime") if plain else None


def _path(read: type[PurePath], name: str = "path", made: type[PurePath] = Path) -> Leaf:
    return Leaf(
        form="a path as text",
        takes=(str,),
        read=read,
        schema={"type": "string", "format": "path"},
        to_json=PurePath.__str__,
        made_of=(b"path", lambda path: (path.as_posix(),)),
        marker=_as_text(name, PurePath.as_posix, made),
        python=lambda path: _by_class(path, "pathlib"),
        show=show_exactly,
        subclasses=True,
    )


MOMENT: Made = (b"moment", zoned)
LEAVES: dict[type, Leaf] = {
    bool: Leaf("true or false", schema={"type": "boolean"}),
    int: Leaf(
        "a whole number",
        schema={"type": "integer"},
        marker=_as_text("int", hex, _read_hex),
    ),
    float: Leaf(
        "a number",
        takes=(int,),
        schema={"type": "number"},
        marker=_as_text("float", repr, float),
        python=lambda x: PythonText(repr(x) if isfinite(x) else f'float("{x}")'),
    ),
    complex: Leaf(
        "a number",
        takes=(int, float),
        made_of=(b"complex", lambda value: (value.real, value.imag)),
        marker=_as_text(
            "complex",
            lambda z: [z.real.hex(), z.imag.hex()],
            lambda parts: complex(*map(float.fromhex, parts)),
        ),
        # Neither NaN and infinities nor the sign of a zero come back from a sum or a minus.
        python=lambda z: PythonText(
            f'complex("{z}")' if re.search("n|-0|^-", repr(z)) else repr(z)
        ),
        show=complex.__repr__,
    ),
    str: Leaf(
        "text",
        schema={"type": "string"},
        marker=_as_text(
            "text",
            lambda text: text.encode("utf-8", "surrogatepass").hex(),
            lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
        ),
        python=lambda text: PythonText(quoted(text)),
    ),
    bytes: Leaf(
        "bytes, which JSON cannot hold: write ref('loader_id', ...)",
        marker=_as_text(
            "bytes",
            lambda raw: base64.b64encode(raw).decode(),
            lambda text: base64.b64decode(text, validate=True),
        ),
    ),
    Decimal: Leaf(
        "a decimal number as text or a whole number",
        takes=(str, int),
        read=Decimal,
        schema={"type": "string", "format": "decimal"},
        to_json=Decimal.__str__,
        made_of=(b"decimal", lambda value: (str(value),)),
        marker=_as_text("decimal", str, Decimal),
        python=lambda value: _by_class(value, "decimal"),
        show=Decimal.__str__,
    ),
    datetime: Leaf(
        "ISO text such as '2026-01-31T12:00:00'",
        takes=(str,),
        read=datetime.fromisoformat,
        schema={"type": "string", "format": "date-time"},
        to_json=datetime.isoformat,
        made_of=MOMENT,
        marker=_as_moment("datetime", datetime.fromisoformat),
        python=_moment_text,
        show=show_datetime,
    ),
    date: Leaf(
        "ISO text such as '2026-01-31'",
        takes=(str,),
        read=date.fromisoformat,
        schema={"type": "string", "format": "date"},
        to_json=date.isoformat,
        made_of=(b"date", lambda value: (value.isoformat(),)),
        marker=_as_text("date", date.isoformat, date.fromisoformat),
        python=_moment_text,
        show=date.isoformat,
    ),
    time: Leaf(
        "ISO text such as '12:30:00'",
        takes=(str,),
        read=time.fromisoformat,
        schema={"type": "string", "format": "time"},
        to_json=time.isoformat,
        made_of=MOMENT,
        marker=_as_moment("time", time.fromisoformat),
        python=_moment_text,
        show=show_time,
    ),
    timedelta: Leaf(
        "a number of seconds",
        takes=(int, float),
        read=lambda s: timedelta(seconds=s),
        schema={"type": "number", "description": "seconds"},
        to_json=timedelta.total_seconds,
        made_of=(b"span", lambda span: (span.days, span.seconds, span.microseconds)),
        marker=_as_text(
            "timedelta",
            lambda span: [span.days, span.seconds, span.microseconds],
            lambda parts: timedelta(*parts),
        ),
        python=_moment_text,
        show=timedelta.__str__,
    ),
    UUID: Leaf(
        "a UUID as text",
        takes=(str,),
        read=UUID,
        schema={"type": "string", "format": "uuid"},
        to_json=UUID.__str__,
        made_of=(b"uuid", lambda value: (value.hex,)),
        marker=_as_text("uuid", str, UUID),
        python=lambda value: _by_class(value, "uuid"),
        show=show_exactly,
    ),
    **{cls: _path(cls) for cls in (PurePath, Path, PosixPath, WindowsPath)},
    PurePosixPath: _path(PurePosixPath, "pure_posix_path", PurePosixPath),
    PureWindowsPath: _path(PureWindowsPath, "pure_windows_path", PureWindowsPath),
}

_TOWER: dict[Any, type] = {int: Integral, float: Real, complex: Complex}
