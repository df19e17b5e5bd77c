"""The canvas: what is in focus, as it was rendered last, and the parts of its run."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from uuid import uuid4

from repl_pair.errors import error_text
from repl_pair.panels.base.context import BATCH, BODIES, FOCUS, RUNNING, Focus, PanelContext
from repl_pair.panels.base.opening import GivenWidget, find_rendering, open_entry, ref_of
from repl_pair.panels.base.panel_thread import PANEL_THREAD, Changes
from repl_pair.panels.base.view import View
from repl_pair.panels.base.widget import PanelWidget, to_html
from repl_pair.panels.canvas.details import args_lines, data_of, output_of, phase_lines
from repl_pair.panels.canvas.messages import Args, CanvasPatch, Data, Head, Layout, Output, Phases
from repl_pair.panels.canvas.summary import about, card_of, lay_out, lay_out_story
from repl_pair.runtime.ops.persons import PANEL_HOSTS
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.registry.extending import reachable_chain
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import variants_of
from repl_pair.runtime.results.docs import docs
from repl_pair.runtime.results.last_results import RESULTS, last_result, last_verdict
from repl_pair.runtime.results.markdown import Markdown, code, prose
from repl_pair.wire import Reply

VARIANTS = "registry/variant"


class _Custom:
    """What a custom workspace shows: the widget of its panel, once that is made, or a fault."""

    def __init__(self, workspace: str, panel: str, rendering: Entry | None) -> None:
        self.workspace = workspace
        self.panel = panel
        self.rendering = rendering
        self.widget: PanelWidget | GivenWidget | None = None
        self.fault = ""


class CanvasView(View[CanvasPatch]):
    """What is in focus: its rendered outputs, where its args come from, its phases and its docs.

    It follows what the other panels choose; nothing runs before the person asks for it.
    """

    name = "canvas"
    title = "Canvas"
    placement = "centre"

    def __init__(self, context: PanelContext, send: Callable[[CanvasPatch], None]) -> None:
        super().__init__(context, send)
        self.runs_on_select = False
        self._variant = context.focus.variant
        self._custom: _Custom | None = None
        self._token = uuid4().hex
        self._unfollow_cells = CELLS.at_end(lambda: PANEL_THREAD.submit(self._end_of_cell))
        PANEL_HOSTS[self._token] = self

    def on_head(self) -> Head:
        """Return what is in focus, in short."""
        return {
            **about(self.context),
            "tab": self.context.focus.tab,
            "runs_on_select": self.runs_on_select,
        }

    def on_output(self, variant: str, most: int | None = None) -> Output | None:
        """Return the outputs of the last run of a variant, None before any; a card has a limit.

        A card shows the verdict of its variant, and so the run that this is of.
        """
        record = last_result(variant) if most is None else last_verdict(variant)
        return None if record is None else output_of(record, most)

    def on_args(self) -> Args:
        """Return the effective args, and where each comes from."""
        return args_lines(self.context.focus)

    def on_phases(self, variant: str) -> Phases | None:
        """Return the phases of the last run, with their times; None before any."""
        record = last_result(variant)
        return None if record is None else phase_lines(record)

    def on_docs(self) -> str:
        """Return the documentation of the story, as HTML."""
        focus = self.context.focus
        story = story_of(focus.variant) if focus.variant else focus.story
        return to_html(docs(story or ""))

    def on_data(self) -> Data:
        """Return the registered body as data, and where it was registered."""
        return data_of(self.context.focus)

    def on_layout(self) -> Layout:
        """Return the variants of a story or workspace, laid out."""
        focus = self.context.focus
        if focus.workspace is None:
            return lay_out_story(self.context, focus.story or "")
        body = REGISTRY.get("workspace", focus.workspace).body
        layout = lay_out(self.context, body)
        panel = body.render or ""
        if layout["layout"] != "custom" or REGISTRY.find("panel", panel) is None:
            return layout
        custom, rendering = self._custom, find_rendering(panel)
        if (
            custom is None
            or (custom.workspace, custom.panel) != (focus.workspace, panel)
            or custom.rendering is not rendering
        ):
            self._close_custom()
            custom = self._custom = _Custom(focus.workspace, panel, rendering)
            # Made between cells: `render` may be the person's code.
            take = partial(self._take_widget, custom)
            self.context.request_widget(self._token, panel, done=take)
        if custom.fault:
            return {**layout, "fault": custom.fault}
        return {**layout, "ref": None if custom.widget is None else ref_of(custom.widget)}

    def on_run(self, kind: str, id: str, card: str | None = None) -> None:
        """Run what is in focus, as it is shown: the variant, all that are laid out, or a card."""
        self.check_focus(id, kind)
        if card is not None:
            self.context.run(card, Focus(modes=self._modes()), done=self._report)
        elif self.context.focus.variant is not None:
            self.context.run_focus(done=self._report)
        else:
            self.context.batch.add(self._ids(), self._modes())

    def on_open(self, variant: str) -> None:
        """Focus on one of the variants that are laid out."""
        id = REGISTRY.get("variant", variant).id
        self.context.focus_on(story=story_of(id), variant=id)

    def on_modes(self, modes: Sequence[str]) -> None:
        """Take these modes, laid over each other in this order."""
        self.context.set_focus(replace(self.context.focus, modes=tuple(modes)))

    def on_substrate(self, substrate: str) -> None:
        """Show another rendering."""
        self.context.set_focus(replace(self.context.focus, substrate=substrate))

    def on_options(self, runs_on_select: bool) -> None:
        """Run a variant when it is chosen, or only when the person asks for it."""
        self.runs_on_select = bool(runs_on_select)

    def handle_changes(self, changes: Changes) -> None:
        """Send the head, or the cards, that changed, and why not all that is laid out was run."""
        progress, variant = self.context.batch.progress, self.context.focus.variant
        if BATCH in changes and variant is None and progress.is_over and progress.fault:
            self.send({"refused": progress.fault})
        bodies = any(self._concerns(member, keys) for member, keys in changes.items())
        custom, target = self._custom, self.context.focus.target
        if custom is not None and target != ("workspace", custom.workspace):
            self._close_custom()
        if FOCUS in changes and self._variant != self.context.focus.variant:
            self._variant = self.context.focus.variant
            if self.runs_on_select and self._variant is not None:
                self.context.run_focus(done=self._report)
        if FOCUS in changes or bodies:
            self._send_head(all=True)
            return
        changed = [changes[member] for member in (RUNNING, RESULTS.name) if member in changes]
        if any(ids is None or variant in ids for ids in changed):
            self._send_head(all=RESULTS.name in changes)
        elif variant is None:
            ids = frozenset[str]().union(*filter(None, changed))
            if shown := sorted(ids.intersection(self._ids())):
                self.send({"cards": [card_of(self.context, id) for id in shown]})

    def open(self, id: str) -> None:
        """Make the widget that a custom workspace still shows, on the caller's thread."""
        custom = self._custom
        if custom is None or custom.widget is not None or custom.panel != id:
            return
        try:
            custom.widget = open_entry(REGISTRY.get("panel", id), self.context)
        except Exception as error:  # noqa: BLE001  whatever a render raises is shown in its place
            custom.fault = error_text(error)
        if self._custom is not custom and custom.widget is not None:
            custom.widget.close()

    def text(self) -> Markdown:
        """Return what is in focus and how its last run ended."""
        focus = self.context.focus
        if focus.variant is not None:
            last = self.context.last_run
            ended = "not run" if last is None else f"**{last.status}**, {last.total} assertions"
            return Markdown(f"{code(focus.variant)} {ended}")
        if focus.workspace is not None:
            ids = [code(id) for id in self._ids()]
            return Markdown("\n".join([code(focus.workspace), "", *(f"- {id}" for id in ids)]))
        if focus.story is not None and REGISTRY.find("story", focus.story) is not None:
            return docs(focus.story)
        head = about(self.context)
        return Markdown(prose(f"{head.get('text', '')}\n{head.get('code', '')}"))

    def close(self) -> None:
        """Follow cells no more."""
        self._unfollow_cells()
        PANEL_HOSTS.pop(self._token, None)
        self._close_custom()

    def _send_head(self, *, all: bool) -> None:
        self.send({"all": self.on_head()} if all else {"head": self.on_head()})

    def _concerns(self, member: str, keys: frozenset[str] | None) -> bool:
        if not member.startswith(BODIES):
            return False
        if member != VARIANTS or keys is None:
            return True
        focus = self.context.focus
        if focus.variant is None:
            return not keys.isdisjoint(self._ids()) or any(story_of(k) == focus.story for k in keys)
        entry = REGISTRY.find("variant", focus.variant)
        chain = () if entry is None else reachable_chain(entry)
        return not keys.isdisjoint({focus.variant, *(each.id for each in chain)})

    def _ids(self) -> Sequence[str]:
        focus = self.context.focus
        if focus.workspace is not None:
            entry = REGISTRY.find("workspace", focus.workspace)
            return () if entry is None else variants_of(entry.body)
        return REGISTRY.ids("variant", f"{focus.story}/") if focus.story else ()

    def _modes(self) -> tuple[str, ...]:
        focus = self.context.focus
        if focus.workspace is not None and focus.variant is None:
            return tuple(REGISTRY.get("workspace", focus.workspace).body.modes)
        return focus.modes

    def _take_widget(self, custom: _Custom, reply: Reply) -> None:
        if not reply["ok"]:
            custom.fault = reply["error"]["message"]
        self._send_head(all=True)

    def _close_custom(self) -> None:
        custom, self._custom = self._custom, None
        if custom is not None and custom.widget is not None:
            custom.widget.close()

    def _report(self, reply: Reply) -> None:
        if not reply["ok"]:  # it was refused before it began, and leaves no record
            self.send({"refused": reply["error"]["message"]})

    def _end_of_cell(self) -> None:
        if self.context.running:
            self._send_head(all=False)
