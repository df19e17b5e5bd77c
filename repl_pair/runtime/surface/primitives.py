"""What can be looked at in a kernel, as data: each member of the surface is one of these."""

from repl_pair.records import record


@record
class Cell:
    """One current value."""

    name: str
    doc: str = ""


@record
class Collection:
    """Current values by key."""

    name: str
    doc: str = ""


@record
class Event:
    """Something that happens and leaves no current value."""

    name: str
    doc: str = ""


Member = Cell | Collection | Event
