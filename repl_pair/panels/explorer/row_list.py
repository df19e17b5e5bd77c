"""The rows of the explorer: which there are under a filter, and which of them are open."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.explorer.filtering import Filter, choose
from repl_pair.panels.explorer.listing import Listing, TreeChanges
from repl_pair.panels.explorer.tree import TOP, Shown, Tree, above, group_key, read_key
from repl_pair.panels.explorer.tree_rows import list_rows
from repl_pair.runtime.registry.registry import REGISTRY


class RowList:
    """The rows, listed at the first read after each change.

    Paths are open and groups closed until the person changes that. A search opens what it finds.
    """

    def __init__(self, running: Collection[str]) -> None:
        self.listing = Listing(running)
        self.filter = Filter()
        self.version = 0
        """Counts how often rows came, left or moved."""
        self._opened: dict[str, bool] = {}
        self._opened_in_search: dict[str, bool] = {}
        self._shown: Shown | None = None
        self._keys: list[str] | None = None

    @property
    def tree(self) -> Tree:
        """Return what is registered."""
        return self.listing.tree

    @property
    def shown(self) -> Shown:
        """Return what the filter leaves."""
        if self._shown is None:
            self._shown = choose(self.tree, self.listing.statuses, self.effective_filter())
        return self._shown

    @property
    def keys(self) -> Sequence[str]:
        """Return the keys of all rows, in order."""
        if self._keys is None:
            toggled = self._toggled()
            closed = {key for key, is_open in toggled.items() if not is_open}
            kinds = {kind for kind in self.shown.others if self.is_open(group_key(kind))}
            self._keys = list_rows(self.shown, closed, kinds)
        return self._keys

    def load(self) -> None:
        """Read all that is registered."""
        self.listing.load()
        self._move()

    def handle_changes(self, changes: Changes) -> TreeChanges:
        """Follow changes; the version counts up where rows may have moved."""
        changed = self.listing.handle_changes(changes)
        is_moved = changed.is_moved or self._may_fit_now(changed)
        if is_moved:
            self._move()
        return replace(changed, is_moved=is_moved)

    def set_filter(self, wanted: Filter) -> None:
        """Show what another filter leaves."""
        if wanted.words != self.filter.words:
            self._opened_in_search = {}
        self.filter = wanted
        self._move()

    def effective_filter(self) -> Filter:
        """Return the filter with the default of each tag that the person chose no state for."""
        tags = {
            id: "without"
            for id, entry in REGISTRY.snapshot("tag").items()
            if entry.body.default_filter == "exclude"
        }
        tags.update(self.filter.tags)
        chosen = {tag: state for tag, state in tags.items() if state != "any"}
        return replace(self.filter, tags=chosen)

    def is_open(self, key: str) -> bool:
        """Return whether a row shows what is below it."""
        toggled = self._toggled().get(key)
        if toggled is not None:
            return toggled
        kind, id = read_key(key)
        return kind != "group" or bool(self.filter.words) or id in self.filter.kinds

    def set_open(self, key: str, is_open: bool) -> None:
        """Open or close one row."""
        self._toggled()[key] = is_open
        self._move_rows()

    def set_all_open(self, is_open: bool) -> None:
        """Open or close every path."""
        toggled = self._toggled()
        toggled.clear()
        if not is_open:
            toggled.update({path: False for below in self.tree.paths.values() for path in below})
        self._move_rows()

    def reveal(self, key: str) -> int | None:
        """Open all rows above one; return its place, None where the filter leaves it out."""
        over, is_hidden = above(key), False
        while over:
            if not self.is_open(over):
                self._toggled()[over] = is_hidden = True
            over = above(over)
        if is_hidden:
            self._move_rows()
        return self.where(key)

    def where(self, key: str) -> int | None:
        """Return the place of a row; None where it is not shown."""
        try:
            return self.keys.index(key)
        except ValueError:
            return None

    def can_open(self, key: str) -> bool:
        """Return whether anything is below a row."""
        has_rows = key in self.shown.paths or key in self.shown.variants
        return has_rows or read_key(key)[0] == "group"

    def counts(self, path: str) -> Mapping[str, int]:
        """Count the statuses at or under a path, whatever the filter, the worst first."""
        return self.listing.statuses.count(path, self.tree.sizes.get(path, 0))

    def failures(self, path: str = TOP) -> Sequence[str]:
        """Return what fails at or under a path, in the order of the ids."""
        heads = (f"{path}/", f"{path}.")
        return sorted(
            id for id in self.listing.statuses.failing if path == TOP or id.startswith(heads)
        )

    def _toggled(self) -> dict[str, bool]:
        return self._opened_in_search if self.filter.words else self._opened

    def _may_fit_now(self, changed: TreeChanges) -> bool:
        """Return whether rows that stayed in place may fit the filter now, or no longer."""
        wanted = self.effective_filter()
        if "tag" in changed.kinds or (wanted.tags and changed.kinds):
            return True
        return changed.has_statuses and not wanted.is_empty

    def _move(self) -> None:
        self._shown = None
        self._move_rows()

    def _move_rows(self) -> None:
        self._keys = None
        self.version += 1
