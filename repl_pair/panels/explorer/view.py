"""The explorer: every kind as one tree, with how each variant last ran; runs and watches them."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from repl_pair.panels.base.context import BATCH, FOCUS, PanelContext
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import View
from repl_pair.panels.explorer import messages
from repl_pair.panels.explorer.filtering import STATES, Filter, filter_choices
from repl_pair.panels.explorer.row_list import RowList
from repl_pair.panels.explorer.tree import NESTED, TOP, find_name, key_of, read_key, title_of
from repl_pair.panels.explorer.watches import is_watched, set_watch, variants_under, watched_keys
from repl_pair.panels.text import stories_text
from repl_pair.records import to_dict
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.registry import EMPTY, REGISTRY
from repl_pair.runtime.results.markdown import Markdown
from repl_pair.runtime.results.outdated import follow_code
from repl_pair.wire import Reply

PAGES = 8
"""How many places may show one explorer and follow it; the one that asked longest ago drops out."""
MAX_ROWS = 500
MAX_STORIES = 50
"""How many stories its text lists."""


class ExplorerView(View[messages.ExplorerPatch]):
    """Finds, runs and watches what is registered.

    A script holds one window of rows, and gets patches of these only. The registries are read at
    its first ask, not before.
    """

    name = "explorer"
    title = "Registry"
    placement = "left"

    def __init__(
        self, context: PanelContext, send: Callable[[messages.ExplorerPatch], None]
    ) -> None:
        super().__init__(context, send)
        self._row_list = RowList(context.running)
        self._is_loaded = False
        self._windows: dict[str, tuple[int, int]] = {}
        self._watched = frozenset[str]()
        self._sent_progress = context.batch.progress
        self._unfollow_code = follow_code()

    def handle_changes(self, changes: Changes) -> None:
        """Send the rows that changed, or that rows moved."""
        if not self._is_loaded:
            return
        if FOCUS in changes:
            self.send({"focus": self._focused()})
        changed = self._row_list.handle_changes(changes)
        watched, self._watched = self._watched, watched_keys()
        if changed.is_moved or watched != self._watched:
            moved = self._rows_moved()
            if changed.is_moved and "tag" in changed.kinds:
                moved["choices"] = filter_choices()
            self.send({"moved": moved})
        elif changed.keys:
            rows = self._row_list
            places = {i for window in self._windows.values() for i in range(*window)}
            shown = [(i, rows.keys[i]) for i in sorted(places) if i < len(rows.keys)]
            again = [(i, rows.row(key, self._watched)) for i, key in shown if key in changed.keys]
            self.send({"summary": rows.summary(), "rows": {"version": rows.version, "rows": again}})
        if BATCH in changes and self._sent_progress != self.context.batch.progress:
            self.send({"summary": self._row_list.summary(), "batch": self._batch()})

    def on_state(self) -> messages.State:
        """Return all that the panel shows, except for the rows."""
        self._loaded()
        return {
            "filter": self._filter(),
            "choices": filter_choices(),
            "focus": self._focused(),
            "batch": self._batch(),
            "empty": EMPTY,
            **self._totals(),
        }

    def on_rows(
        self, page: str, start: int, stop: int, anchor: str | None = None, offset: int = 0
    ) -> messages.Window:
        """Return a window of rows, and send patches of it to this page from now on.

        With `anchor`, the window begins `offset` rows before that row, if the row is there.
        """
        rows = self._loaded()
        count = min(max(0, stop - start), MAX_ROWS)
        at = None if anchor is None else rows.where(anchor)
        first = max(0, start if at is None else at - offset)
        keys = rows.keys[first : first + count]
        self._windows.pop(page, None)
        self._windows[page] = first, first + count
        if len(self._windows) > PAGES:
            self._windows.pop(next(iter(self._windows)))
        return {
            "start": first,
            "rows": [rows.row(key, self._watched) for key in keys],
            **self._totals(),
        }

    def on_filter(
        self,
        words: str = "",
        tags: Mapping[str, str] | None = None,
        kinds: Sequence[str] = (),
        statuses: Sequence[str] = (),
    ) -> messages.Totals:
        """Show what fits; `tags` has a state of `STATES` by tag."""
        wanted = Filter(
            words=tuple(words.lower().split()),
            tags={tag: state for tag, state in (tags or {}).items() if state in STATES},
            kinds=frozenset(kinds),
            statuses=frozenset(statuses),
        )
        self._loaded().set_filter(wanted)
        self.send({"moved": {**self._rows_moved(), "filter": self._filter()}})
        return self._totals()

    def on_open(self, key: str, is_open: bool) -> messages.Totals:
        """Open or close a row; every path, where the key is that of the top."""
        self._loaded().set_open(key, is_open)
        self.send({"moved": self._rows_moved()})
        return self._totals()

    def on_where(self, key: str) -> int | None:
        """Open all rows above one; return its place, None where the filter leaves it out."""
        rows, version = self._loaded(), self._row_list.version
        if (place := rows.reveal(key)) is None:
            # A focus comes before the batch with the registration of what is in focus.
            kind, id = read_key(key)
            member = f"registry/{'story' if kind == 'path' else kind}"
            rows.handle_changes({member: frozenset({id})})
            place = rows.reveal(key)
        if rows.version != version:
            self.send({"moved": self._rows_moved()})
        return place

    def on_find(self, text: str, after: int) -> int | None:
        """Return the place of the next row whose name begins with a text; goes on from the top."""
        return find_name(self._loaded().keys, text, after)

    def on_failure(self, key: str = TOP, after: str = "") -> messages.Failure | None:
        """Focus on the first failure under a row, or the next behind another; None without any."""
        failures = self._loaded().failures(key)
        if not failures:
            return None
        found = next((id for id in failures if id > after), failures[0])
        self._focus_variant(found)
        return {"key": found, "place": self.on_where(found)}

    def on_select(self, key: str) -> None:
        """Focus all panels on a story, variant or workspace; other rows have no focus."""
        kind, id = read_key(key)
        if kind == "variant":
            self._focus_variant(id)
        elif kind == "path" and REGISTRY.find("story", id) is not None:
            self.context.focus_on(story=id)
        elif kind == "workspace":
            self.context.focus_on(workspace=id)

    def on_run(self, key: str = TOP) -> int:
        """Run the variants of a row, one after another; return how many."""
        kind, id = read_key(key)
        if kind == "variant":

            def report(reply: Reply) -> None:
                if not reply["ok"]:
                    self.send({"refused": f"{id}: {reply['error']['message']}"})

            self.context.run(id, done=report)
            return 1
        ids = variants_under(key) if kind == "path" else ()
        if ids:
            self.context.batch.add(ids)
        return len(ids)

    def on_stop(self) -> None:
        """Drop the variants that wait to be run."""
        self.context.batch.stop()

    def on_watch(self, key: str = TOP, on: bool = True) -> None:
        """Run the variants of a row again whenever they change, or no longer."""
        set_watch(key, on)

    def text(self) -> Markdown:
        """Return the stories with their last statuses, and how many there are of other kinds."""
        others = [
            f"{title_of(kind)}: {len(ids)}"
            for kind in REGISTRY.kinds
            if kind not in NESTED and (ids := REGISTRY.ids(kind))
        ]
        # Without a story it shows how to begin, and nothing else.
        parts = [stories_text(MAX_STORIES), ", ".join(others) if REGISTRY.ids("story") else ""]
        return Markdown("\n\n".join(filter(None, parts)))

    def close(self) -> None:
        """Follow changes of code no more."""
        self._unfollow_code()

    def _loaded(self) -> RowList:
        if not self._is_loaded:
            self._is_loaded = True
            self._row_list.load()
            self._watched = watched_keys()
        return self._row_list

    def _rows_moved(self) -> messages.RowsMoved:
        return {"version": self._row_list.version}

    def _totals(self) -> messages.Totals:
        return {
            "version": self._row_list.version,
            "total": len(self._row_list.keys),
            "summary": self._row_list.summary(),
            "watched": is_watched(TOP, self._watched),
        }

    def _filter(self) -> messages.FilterState:
        wanted = self._row_list.filter
        return {
            "words": " ".join(wanted.words),
            "tags": dict(wanted.tags),
            "kinds": sorted(wanted.kinds),
            "statuses": sorted(wanted.statuses),
        }

    def _batch(self) -> messages.BatchState:
        progress = self._sent_progress = self.context.batch.progress
        return cast("messages.BatchState", {**to_dict(progress), "over": progress.is_over})

    def _focused(self) -> str | None:
        target = self.context.focus.target
        return None if target is None else key_of(*target)

    def _focus_variant(self, id: str) -> None:
        if id != self.context.focus.variant:
            self.context.focus_on(story=story_of(id), variant=id)
