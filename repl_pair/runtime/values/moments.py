"""Moments of time as data: wall clock, fold and zone; shown without code of a subclass."""

import sys
from collections.abc import Callable, Mapping
from datetime import datetime, time, timezone
from typing import Any

from repl_pair.runtime.values.classes import name_of, real_class


def has_standard_zone(value: Any) -> bool:
    """Return whether a moment's zone, if it has one, is the standard library's."""
    return _is_standard(getattr(value, "tzinfo", None))


def _is_standard(zone: Any) -> bool:
    zoneinfo = sys.modules.get("zoneinfo")
    known = (type(None), timezone, *(() if zoneinfo is None else (zoneinfo.ZoneInfo,)))
    return any(real_class(zone) is cls for cls in known)


def zoned(value: datetime | time) -> tuple[Any, ...]:
    """Return wall clock, fold and zone, for two zones may agree on the offset of one moment."""
    zone = value.tzinfo
    name = getattr(zone, "key", None) or getattr(zone, "zone", None) or value.tzname()
    return type(value).__name__, value.isoformat(), value.fold, type(zone).__name__, name


def show_datetime(value: Any) -> str:
    """Return a moment as text, a zone of the person's by the name of its class."""
    if name_of(real_class(value)) == "NaTType":
        return "NaT"
    moment = datetime.combine(datetime.date(value), datetime.time(value))
    zone: Any = vars(datetime)["tzinfo"].__get__(value)
    if _is_standard(zone):
        return moment.replace(tzinfo=zone).isoformat()
    return f"{moment.isoformat()} <{name_of(real_class(zone))}>"


def show_time(value: Any) -> str:
    """Return a time as text, one of a subclass or with such a zone by the name of its class."""
    plain = real_class(value) is time and _is_standard(vars(time)["tzinfo"].__get__(value))
    return value.isoformat() if plain else f"<{name_of(real_class(value))}>"


def write_moment(value: Any) -> dict[str, Any] | None:
    """Return wall clock, fold and zone as JSON data; None for a zone that no data carries.

    A zone with a name goes by that.
    """
    zone, slots = value.tzinfo, {"fold": value.fold} if value.fold else {}
    if (key := getattr(zone, "key", None)) is not None:
        return {**slots, "value": value.replace(tzinfo=None).isoformat(), "zone": key}
    plain = zone is None
    if type(zone) is timezone:  # whether the offset is all of it
        plain = timezone(zone.utcoffset(None)).tzname(None) == zone.tzname(None)
    return {**slots, "value": value.isoformat()} if plain else None


def read_moment(slots: Mapping[str, Any], read: Callable[[str], Any]) -> Any:
    """Return the moment that `write_moment` wrote; `read` reads its wall clock."""
    value = read(slots["value"]).replace(fold=slots.get("fold", 0))
    if "zone" not in slots:
        return value
    from zoneinfo import ZoneInfo  # only data with such a zone needs it

    return value.replace(tzinfo=ZoneInfo(slots["zone"]))
