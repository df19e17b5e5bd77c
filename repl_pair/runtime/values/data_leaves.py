"""What stands in JSON data for the leaves that JSON has no form for: one marker a type."""

import base64
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID

from repl_pair.records import row
from repl_pair.runtime.values.classes import TypeRef, real_class
from repl_pair.runtime.values.frozen import EnumMember

ENUM = "enum"


@row
class Form:
    """How the values of one type are marked: the slots beside `$type`, and the way back.

    `read` raises whatever comes of slots that are not legal.
    """

    name: str
    write: Callable[[Any], dict[str, Any]]
    read: Callable[[Mapping[str, Any]], Any]


def form_of(value: Any) -> Form | None:
    """Return the form of a leaf, None where it has none."""
    kind: type = real_class(value)
    if kind in (datetime, time) and not _has_known_zone(value.tzinfo):
        return None
    if isinstance(value, PurePath):
        return _PURE.get(kind, _PATH)
    return _FORMS.get(kind)


def form_named(name: Any) -> Form | None:
    """Return the form that a marker names, None where there is none."""
    return _BY_NAME.get(name) if isinstance(name, str) else None


def class_name(ref: TypeRef) -> str:
    """Return the name of a class as markers hold it."""
    return f"{ref.module}:{ref.qualname}"


def class_named(name: str) -> TypeRef:
    """Read the name of a class from a marker."""
    module, _, qualname = name.partition(":")
    return TypeRef(module, qualname)


def _text(name: str, write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Form:
    return Form(name, lambda value: {"value": write(value)}, lambda slots: read(slots["value"]))


def _moment(name: str, read: Callable[[str], Any]) -> Form:
    """Mark the wall clock, its fold and its zone; a zone with a name goes by that."""

    def write(value: Any) -> dict[str, Any]:
        slots = {"fold": value.fold} if value.fold else {}
        key = getattr(value.tzinfo, "key", None)
        if key is None:
            return {**slots, "value": value.isoformat()}
        return {**slots, "value": value.replace(tzinfo=None).isoformat(), "zone": key}

    def moment(slots: Mapping[str, Any]) -> Any:
        value = read(slots["value"]).replace(fold=slots.get("fold", 0))
        return value.replace(tzinfo=_zone(slots["zone"])) if "zone" in slots else value

    return Form(name, write, moment)


def _has_known_zone(zone: tzinfo | None) -> bool:
    if type(zone) is timezone:
        return timezone(zone.utcoffset(None)).tzname(None) == zone.tzname(None)
    return zone is None or getattr(zone, "key", None) is not None


def _zone(key: str) -> tzinfo:
    from zoneinfo import ZoneInfo  # only data with such a zone needs it

    return ZoneInfo(key)


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _span(span: timedelta) -> list[int]:
    return [span.days, span.seconds, span.microseconds]


def _lone(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").hex()


def _complex(parts: tuple[str, str]) -> complex:
    return complex(*map(float.fromhex, parts))


def _member(member: EnumMember) -> dict[str, Any]:
    return {"class": class_name(member.type), "name": member.name}


_PATH = _text("path", PurePath.as_posix, Path)
_PURE: dict[type, Form] = {
    PurePosixPath: _text("pure_posix_path", str, PurePosixPath),
    PureWindowsPath: _text("pure_windows_path", PurePath.as_posix, PureWindowsPath),
}
_FORMS: dict[type, Form] = {
    int: _text("int", hex, lambda text: int(text, 16)),
    float: _text("float", repr, float),
    complex: _text("complex", lambda z: [z.real.hex(), z.imag.hex()], _complex),
    str: _text("text", _lone, lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass")),
    bytes: _text("bytes", lambda raw: base64.b64encode(raw).decode(), _bytes),
    Decimal: _text("decimal", str, Decimal),
    UUID: _text("uuid", str, UUID),
    date: _text("date", date.isoformat, date.fromisoformat),
    datetime: _moment("datetime", datetime.fromisoformat),
    time: _moment("time", time.fromisoformat),
    timedelta: _text("timedelta", _span, lambda parts: timedelta(*parts)),
    EnumMember: Form(ENUM, _member, lambda s: EnumMember(class_named(s["class"]), s["name"])),
}
_BY_NAME = {form.name: form for form in (_PATH, *_PURE.values(), *_FORMS.values())}
