"""The rows of the explorer: which there are under a filter, and which of them are open."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain

from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.explorer import tree
from repl_pair.panels.explorer.filtering import Filter, choose, unasked_state
from repl_pair.panels.explorer.listing import Listing, TreeChanges
from repl_pair.panels.explorer.messages import Row, Summary
from repl_pair.panels.explorer.statuses import NOT_RUN
from repl_pair.panels.explorer.watches import is_watched
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last_results import last_verdict
from repl_pair.wire import AGENT, View

_DOC_CHARS = 200
_ANY_AGENT = View(principal=AGENT)


class RowList:
    """The rows, listed at the first read after each change.

    Paths are open and groups closed until the person changes that. A search opens what it finds.
    """

    def __init__(self, running: Collection[str]) -> None:
        self.listing = Listing(running)
        self.tree = self.listing.tree
        self.filter = Filter()
        self.version = 0
        """Counts how often rows came, left or moved."""
        self._opened: dict[str, bool] = {}
        self._opened_in_search: dict[str, bool] = {}
        self._shown: tree.Shown | None = None
        self._keys: list[str] | None = None

    @property
    def shown(self) -> tree.Shown:
        """Return what the filter leaves."""
        if self._shown is None:
            self._shown = choose(self.tree, self.listing.statuses, self.effective_filter())
        return self._shown

    @property
    def keys(self) -> Sequence[str]:
        """Return the keys of all rows, in order."""
        if self._keys is None:
            closed = {key for key, is_open in self._toggled().items() if not is_open}
            kinds = {kind for kind in self.shown.others if self.is_open(tree.group_key(kind))}
            self._keys = tree.list_rows(self.shown, closed, kinds)
        return self._keys

    def load(self) -> None:
        """Read all that is registered."""
        self.listing.load()
        self._move()

    def handle_changes(self, changes: Changes) -> TreeChanges:
        """Follow changes; the version counts up where rows may have moved."""
        changed, wanted = self.listing.handle_changes(changes), self.effective_filter()
        # Rows that stayed in place may fit the filter now, or no longer.
        may_fit_now = (
            "tag" in changed.kinds
            or (wanted.tags and changed.kinds)
            or (changed.has_statuses and wanted != Filter())
        )
        if not (changed.is_moved or may_fit_now):
            return changed
        self._move()
        return replace(changed, is_moved=True)

    def set_filter(self, wanted: Filter) -> None:
        """Show what another filter leaves."""
        if wanted.words != self.filter.words:
            self._opened_in_search = {}
        self.filter = wanted
        self._move()

    def effective_filter(self) -> Filter:
        """Return the filter with the default of each tag that the person chose no state for."""
        states = {id: unasked_state(tag) for id, tag in REGISTRY.snapshot("tag").items()}
        states |= self.filter.tags
        return replace(self.filter, tags={id: s for id, s in states.items() if s != "any"})

    def is_open(self, key: str) -> bool:
        """Return whether a row shows what is below it."""
        toggled = self._toggled().get(key)
        if toggled is not None:
            return toggled
        kind, id = tree.read_key(key)
        return kind != "group" or bool(self.filter.words) or id in self.filter.kinds

    def set_open(self, key: str, is_open: bool) -> None:
        """Open or close one row, or every path where the key is that of the top."""
        toggled = self._toggled()
        if key != tree.TOP:
            toggled[key] = is_open
        else:
            toggled.clear()
            if not is_open:
                toggled.update(dict.fromkeys(chain(*self.tree.paths.values()), False))
        self._move_rows()

    def reveal(self, key: str) -> int | None:
        """Open all rows above one; return its place, None where the filter leaves it out."""
        over, is_hidden = tree.above(key), False
        while over:
            if not self.is_open(over):
                self._toggled()[over] = is_hidden = True
            over = tree.above(over)
        if is_hidden:
            self._move_rows()
        return self.where(key)

    def where(self, key: str) -> int | None:
        """Return the place of a row; None where it is not shown."""
        return self.keys.index(key) if key in self.keys else None

    def summary(self, path: str = tree.TOP) -> Summary:
        """Count the variants at or under a path, whatever the filter, the worst status first."""
        size, statuses = self.tree.sizes.get(path, 0), self.listing.statuses
        counts = statuses.count(path, size)
        return {"size": size, "counts": counts, "failing": len(statuses.failing)}

    def row(self, key: str, watched: frozenset[str]) -> Row:
        """Return what a row shows; empty slots are left out."""
        kind, id = tree.read_key(key)
        place, of = tree.place_of(key, self.shown)
        row: Row = {
            "key": key,
            "kind": kind,
            "name": tree.name_of(key),
            "level": tree.level_of(key),
            "above": tree.above(key),
            "place": place,
            "of": of,
        }
        if kind == "group" or key in self.shown.paths or key in self.shown.variants:
            row["open"] = self.is_open(key)
        if kind == "group":
            row["name"], row["size"] = tree.title_of(id), len(self.shown.others[id])
        elif kind == "path":
            row["kind"] = "story" if id in self.tree.stories else "folder"
            summary = self.summary(id)
            row["size"], row["counts"] = summary["size"], summary["counts"]
            row["status"] = next(iter(summary["counts"]), None)
        elif kind == "variant":
            status = row["status"] = self.listing.statuses.of.get(id, NOT_RUN)
            last = last_verdict(id)
            if status == "stale" and last is not None:
                row["last"] = last.status
            if id in self.shown.kept:
                row["kept"] = True
        if kind in ("path", "variant") and is_watched(key, watched):
            row["watched"] = True
        _add_entry(row, "story" if kind == "path" else kind, id)
        return row

    def failures(self, path: str = tree.TOP) -> Sequence[str]:
        """Return what fails at or under a path, in the order of the ids."""
        heads = (f"{path}/", f"{path}.")
        return sorted(
            id for id in self.listing.statuses.failing if path == tree.TOP or id.startswith(heads)
        )

    def _toggled(self) -> dict[str, bool]:
        return self._opened_in_search if self.filter.words else self._opened

    def _move(self) -> None:
        self._shown = None
        self._move_rows()

    def _move_rows(self) -> None:
        self._keys = None
        self.version += 1


def _add_entry(row: Row, kind: str, id: str) -> None:
    """Add what the registration holds of itself; `agent` where an agent registered it."""
    entry = REGISTRY.find(kind, id) if kind in REGISTRY.kinds else None
    if entry is None:
        return
    label, line = entry.origin.label, entry.origin.line
    if origin := f"{label}:{line}" if line else label:
        row["origin"] = origin
    if doc := (getattr(entry.body, "doc", "") or "").partition("\n")[0][:_DOC_CHARS]:
        row["doc"] = doc
    if is_agents(entry.origin) and label:
        row["agent"] = label
    if entry.tier is not None:
        row["tier"] = entry.tier
    if kind in ("member", "function"):
        row["exposure"] = "exposed" if is_seen(_ANY_AGENT, entry) else "hidden"
