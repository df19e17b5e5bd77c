"""The explorer: every kind as one tree, with how each variant last ran; runs and watches them."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from repl_pair.panels.base.context import BATCH, FOCUS, Focus, PanelContext
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import Send, View
from repl_pair.panels.explorer.filtering import STATES, Filter
from repl_pair.panels.explorer.row_json import row_json
from repl_pair.panels.explorer.row_list import RowList
from repl_pair.panels.explorer.tree import TOP, key_of, read_key
from repl_pair.panels.explorer.tree_rows import find_name
from repl_pair.panels.explorer.tree_text import tree_text
from repl_pair.panels.explorer.vocabulary import filter_choices
from repl_pair.panels.explorer.watches import is_watched, set_watch, watched_keys
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.registry import EMPTY, REGISTRY
from repl_pair.runtime.results.markdown import Markdown
from repl_pair.wire import Reply

PAGES = 8
"""How many places may show one explorer and follow it; the one that asked longest ago drops out."""
MOST_ROWS = 500


class ExplorerView(View):
    """Finds, runs and watches what is registered.

    A browser holds one window of rows, and is told again only what it shows. Nothing is read of the
    registries before the first ask.
    """

    name: ClassVar[str] = "explorer"
    title: ClassVar[str] = "Registry"
    placement: ClassVar[str] = "left"

    def __init__(self, context: PanelContext, send: Send) -> None:
        super().__init__(context, send)
        self._row_list = RowList(context.running)
        self._is_loaded = False
        self._windows: dict[str, tuple[int, int]] = {}
        self._watched = frozenset[str]()
        self._told_progress = context.batch.progress

    def handle_changes(self, changes: Changes) -> None:
        """Tell the browser which of its rows say something else, or that rows moved."""
        if not self._is_loaded:
            return
        if FOCUS in changes:
            self.send({"type": "focus", "key": self._looked_at()})
        touched = self._row_list.handle_changes(changes)
        watched = self._watched
        self._watched = watched_keys()
        if touched.is_moved:
            vocabulary = {"choices": filter_choices()} if "tag" in touched.kinds else {}
            self._tell_moved(**vocabulary)
        elif watched != self._watched:
            self._tell_moved()
        elif touched.keys:
            self._tell_rows(touched.keys)
        if BATCH in changes and self._told_progress != self.context.batch.progress:
            self.send({"type": "batch", "batch": self._batch(), "summary": self._summary()})

    def on_state(self) -> Mapping[str, Any]:
        """Return all that the panel shows, except for the rows."""
        row_list = self._loaded()
        wanted = row_list.filter
        return {
            "filter": {
                "words": " ".join(wanted.words),
                "tags": dict(wanted.tags),
                "kinds": sorted(wanted.kinds),
                "statuses": sorted(wanted.statuses),
            },
            "choices": filter_choices(),
            "focus": self._looked_at(),
            "batch": self._batch(),
            "empty": EMPTY,
            **self._moved(),
        }

    def on_rows(
        self, page: str, start: int, stop: int, anchor: str | None = None, offset: int = 0
    ) -> Mapping[str, Any]:
        """Return a window of rows, and follow it for this page from now on.

        With `anchor`, the window stands so that this row is `offset` behind its start, as long as
        the row is there.
        """
        row_list = self._loaded()
        count = min(max(0, stop - start), MOST_ROWS)
        at = None if anchor is None else row_list.where(anchor)
        first = max(0, start if at is None else at - offset)
        keys = row_list.rows[first : first + count]
        self._windows.pop(page, None)
        self._windows[page] = first, first + count
        while len(self._windows) > PAGES:
            self._windows.pop(next(iter(self._windows)))
        return {"start": first, "rows": [self._facts(key) for key in keys], **self._moved()}

    def on_filter(
        self,
        words: str = "",
        tags: Mapping[str, str] | None = None,
        kinds: Sequence[str] = (),
        statuses: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """Show what fits; `tags` has a state of `STATES` by tag."""
        wanted = Filter(
            words=tuple(words.lower().split()),
            tags={tag: state for tag, state in (tags or {}).items() if state in STATES},
            kinds=frozenset(kinds),
            statuses=frozenset(statuses),
        )
        self._loaded().set_filter(wanted)
        self._tell_moved(filter=self.on_state()["filter"])
        return self._moved()

    def on_open(self, key: str, is_open: bool) -> Mapping[str, Any]:
        """Open or close a row; every path, where the key is that of the top."""
        row_list = self._loaded()
        if key == TOP:
            row_list.set_all_open(is_open)
        else:
            row_list.set_open(key, is_open)
        self._tell_moved()
        return self._moved()

    def on_where(self, key: str) -> int | None:
        """Return the place of a row, once all above it is open."""
        row_list, version = self._loaded(), self._row_list.version
        place = row_list.reveal(key)
        if row_list.version != version:
            self._tell_moved()
        return place

    def on_find(self, text: str, after: int) -> int | None:
        """Return the place of the next row whose name begins with a text, going around the end."""
        return find_name(self._loaded().rows, text, after)

    def on_failure(self, key: str = TOP, after: str = "") -> Mapping[str, Any] | None:
        """Look at the first failure under a row, or the next behind another; None without any."""
        failures = self._loaded().failures(key)
        if not failures:
            return None
        found = next((id for id in failures if id > after), failures[0])
        self._look_at_variant(found)
        return {"key": found, "place": self.on_where(found)}

    def on_select(self, key: str) -> None:
        """Have every panel look at a story, variant or workspace; other rows are not looked at."""
        kind, id = read_key(key)
        if kind == "variant":
            self._look_at_variant(id)
        elif kind == "path" and REGISTRY.find("story", id) is not None:
            self.context.set_focus(self._focus(story=id))
        elif kind == "workspace":
            self.context.set_focus(self._focus(workspace=id))

    def on_run(self, key: str = TOP) -> int:
        """Run the variants that a row stands for, one after another; gives how many."""
        kind, id = read_key(key)
        row_list = self._loaded()
        if kind == "variant":
            self.context.run(id, done=partial(self._ran, id))
            return 1
        ids = list(row_list.tree.under(key)) if kind == "path" else []
        if ids:
            self.context.batch.add(ids)
        return len(ids)

    def on_stop(self) -> None:
        """Run nothing more of what waits."""
        self.context.batch.stop()

    def on_watch(self, key: str = TOP, on: bool = True) -> None:
        """Have the variants that a row stands for run again whenever they change, or no more."""
        set_watch(key, on)

    def text(self) -> Markdown:
        """Return the stories with their last statuses, and how many there are of other kinds."""
        return tree_text()

    def _loaded(self) -> RowList:
        if not self._is_loaded:
            self._is_loaded = True
            self._row_list.load()
            self._watched = watched_keys()
        return self._row_list

    def _facts(self, key: str) -> Mapping[str, Any]:
        return row_json(key, self._row_list, self._watched)

    def _moved(self) -> dict[str, Any]:
        """Return what every answer says of all rows."""
        row_list = self._row_list
        return {
            "version": row_list.version,
            "total": len(row_list.rows),
            "summary": self._summary(),
            "watched": is_watched(TOP, self._watched),
        }

    def _summary(self) -> Mapping[str, Any]:
        row_list = self._row_list
        return {
            "size": row_list.tree.sizes.get(TOP, 0),
            "counts": row_list.counts(TOP),
            "failing": len(row_list.listing.statuses.failing),
        }

    def _tell_moved(self, **more: Any) -> None:
        """Report that rows moved; the browser asks for those that it shows when it is ready."""
        self.send({"type": "moved", "version": self._row_list.version, **more})

    def _tell_rows(self, keys: AbstractSet[str]) -> None:
        row_list = self._row_list
        places = {i for window in self._windows.values() for i in range(*window)}
        rows = row_list.rows
        said = [
            [i, self._facts(rows[i])] for i in sorted(places) if i < len(rows) and rows[i] in keys
        ]
        self.send(
            {
                "type": "rows",
                "version": row_list.version,
                "rows": said,
                "summary": self._summary(),
            }
        )

    def _batch(self) -> Mapping[str, Any]:
        progress = self._told_progress = self.context.batch.progress
        return {
            "done": progress.done,
            "total": progress.total,
            "over": progress.is_over,
            "fault": progress.fault,
        }

    def _looked_at(self) -> str | None:
        focus = self.context.focus
        if focus.variant is None and focus.story is None and focus.workspace is not None:
            return key_of("workspace", focus.workspace)
        return focus.variant or focus.story

    def _look_at_variant(self, id: str) -> None:
        self.context.set_focus(self._focus(story=story_of(id), variant=id))

    def _focus(self, **seen: str) -> Focus:
        """Look elsewhere, with what was chosen for all of it; overrides are of one variant."""
        fresh = Focus()
        was = self.context.focus
        if seen.get("variant") is not None and seen.get("variant") == was.variant:
            return was
        return replace(fresh, modes=was.modes, substrate=was.substrate, tab=was.tab, **seen)

    def _ran(self, id: str, reply: Reply) -> None:
        if not reply["ok"]:
            self.send({"type": "fault", "text": f"{id}: {reply['error']['message']}"})
