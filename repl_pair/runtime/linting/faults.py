"""What lint reports of one entry: its place, a code, what is wrong and what to do."""

from collections.abc import Iterable, Iterator

from repl_pair.errors import did_you_mean
from repl_pair.records import record
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import BUILTIN, file_of
from repl_pair.runtime.registry.registry import REGISTRY


@record
class Fault:
    """One thing that does not fit: where it is, its code, what it is and what to do."""

    code: str
    what: str
    remedy: str
    file: str = ""
    line: int = 0


def fault_of(entry: Entry, code: str, what: str, remedy: str) -> Fault:
    """Return what is wrong with an entry, at the place that registered it."""
    origin = entry.origin
    return Fault(
        code=code,
        what=f"{entry.kind} {entry.id}: {what}",
        remedy=remedy,
        file=file_of(origin) or origin.label,
        line=origin.line,
    )


def entries_of(*kinds: str) -> Iterator[Entry]:
    """Return what is registered of some kinds, without what ships."""
    for kind in kinds:
        yield from (e for e in REGISTRY.snapshot(kind).values() if e.origin.key != BUILTIN)


def unknown_names(entry: Entry, kind: str, names: Iterable[str]) -> Iterator[Fault]:
    """Report the names that no entry of a kind has."""
    known = REGISTRY.ids(kind)
    for name in dict.fromkeys(names):
        if name not in known:
            what = f"there is no {kind} {name!r}.{did_you_mean(name, known)}"
            how = _REMEDIES.get(kind, "Register {!r}").format(name)
            yield fault_of(entry, f"unknown-{kind}", what, f"{how}, or name another.")


_REMEDIES = {
    "tag": "Register it: repl_pair.tag({!r})",
    "mode": "Register it: repl_pair.mode({!r}, args=…)",
    "decorator": "Register it: repl_pair.decorator({!r}, …)",
    "panel": "Register it: repl_pair.panel({!r}, …)",
    "loader": "Register it: @repl_pair.loader({!r})",
    "handler": "Register it: @repl_pair.handler({!r})",
    "effect": "Register it: @repl_pair.effect({!r})",
}
