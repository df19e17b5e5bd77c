"""Which views a notice may be shown to, as what it is about may be seen."""

from repl_pair.records import row
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.registry.model import KINDS, Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.wire import View


@row
class Unseen:
    """A notice that a principal has not seen with this `count`, and what a view needs for it."""

    id: str
    count: int
    subject: str
    tier: str | None
    access: str | None


def is_open(view: View, notice: Unseen) -> bool:
    """Return whether a view may be shown a notice.

    One about an entry that is not registered now goes by the tier that the entry had.
    """
    if notice.access is not None and notice.access not in view.access:
        return False
    kind, _, _ = notice.subject.partition(":")
    if view.tier is None or kind not in KINDS:
        return True
    entry = find_entry(notice.subject)
    return notice.tier == view.tier if entry is None else is_seen(view, entry)


def find_entry(subject: str) -> Entry | None:
    """Return the entry that a subject `KIND:ID` names, None where it names none."""
    kind, _, id = subject.partition(":")
    return REGISTRY.find(kind, id) if kind in KINDS else None
