"""What can be looked at in a kernel, as data: each member of the surface is one of these."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One current value."""

    name: str
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Current values by key."""

    name: str
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happens and leaves no current value."""

    name: str
    doc: str = ""


Member = Cell | Collection | Event
