"""The canvas: what is looked at, as it was rendered last, and what its run was made of."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from repl_pair.panels.base.context import FOCUS, RUNNING, PanelContext
from repl_pair.panels.base.make_widget import open_entry, ref_of
from repl_pair.panels.base.panel_thread import PANEL_THREAD, Changes
from repl_pair.panels.base.view import Send, View
from repl_pair.panels.canvas.details import args_lines, data_of, docs_of, phase_lines
from repl_pair.panels.canvas.layouts import lay_out, lay_out_story
from repl_pair.panels.canvas.outputs import show_outputs, show_streams
from repl_pair.panels.canvas.summary import card_of, head_of
from repl_pair.runtime.ops.panels import PANEL_HOSTS
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.registry.extending import reachable_chain
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import variants_of
from repl_pair.runtime.results.docs import docs
from repl_pair.runtime.results.last import RESULTS, last_result
from repl_pair.runtime.results.markdown import Markdown, code, prose
from repl_pair.wire import Reply

_BODIES = ("registry/", "global_")
VARIANTS = "registry/variant"


class CanvasView(View):
    """What is looked at: its rendered outputs, where its args come from, its phases and its docs.

    It follows what the other panels choose; nothing runs until it is told to.
    """

    name = "canvas"
    title = "Canvas"
    placement = "centre"

    def __init__(self, context: PanelContext, send: Send) -> None:
        super().__init__(context, send)
        self.runs_on_select = False
        self._looked_at = context.focus.variant
        self._custom: Any = None
        self._fault = ""
        self._token = uuid4().hex
        self._forget_cells = CELLS.at_end(lambda: PANEL_THREAD.submit(self._tell_if_waiting))
        PANEL_HOSTS[self._token] = self

    def on_head(self) -> Mapping[str, Any]:
        """Return what is looked at, in short."""
        return self._head()

    def on_output(self, variant: str, most: int | None = None) -> Mapping[str, Any]:
        """Return what the last run of a variant put out."""
        record = last_result(variant)
        if record is None:
            return {}
        about = {"status": record.status, "reason": record.reason}
        return about | show_outputs(record, most=most) | {"streams": show_streams(record)}

    def on_args(self) -> Mapping[str, Any]:
        """Return the effective args, and where each comes from."""
        return args_lines(self.context.focus)

    def on_phases(self, variant: str) -> Mapping[str, Any]:
        """Return the phases of the last run, with their times."""
        record = last_result(variant)
        return {} if record is None else phase_lines(record)

    def on_docs(self) -> Mapping[str, str]:
        """Return the documentation of the story, as HTML."""
        return docs_of(self.context.focus)

    def on_data(self) -> Mapping[str, str]:
        """Return the registered body as data, and where it was registered."""
        return data_of(self.context.focus)

    def on_layout(self) -> Mapping[str, Any]:
        """Return the variants of a story or workspace, laid out."""
        focus = self.context.focus
        if focus.workspace is not None:
            laid = lay_out(self.context, REGISTRY.get("workspace", focus.workspace).body)
            custom: Mapping[str, Any] = {}
            if laid["layout"] == "custom":
                custom = self._open_custom(laid)
            return {**laid, **custom}
        return lay_out_story(self.context, focus.story or "")

    def on_card(self, variant: str) -> Mapping[str, Any]:
        """Return one card of a layout."""
        return card_of(self.context, variant)

    def on_run(self, variant: str | None = None) -> None:
        """Run what is looked at as it is looked at: the variant, or all that are laid out."""
        if variant is not None and variant != self.context.focus.variant:
            self.context.run(variant, modes=self._modes())
        elif self.context.focus.variant is not None:
            self.context.run_focus(done=self._ran)
        else:
            for id in self._ids():
                self.context.run(id, modes=self._modes())

    def on_open(self, variant: str) -> None:
        """Look at one of the variants that are laid out."""
        entry = REGISTRY.get("variant", variant)
        story = story_of(entry.id)
        focus = replace(self.context.focus, story=story, variant=entry.id, workspace=None)
        self.context.set_focus(replace(focus, overrides={}, moment=None))

    def on_modes(self, modes: Sequence[str]) -> None:
        """Look at it with these modes, laid over each other in this order."""
        self.context.set_focus(replace(self.context.focus, modes=tuple(modes)))

    def on_substrate(self, substrate: str) -> None:
        """Look at another of its renderings."""
        self.context.set_focus(replace(self.context.focus, substrate=substrate))

    def on_options(self, runs_on_select: bool) -> None:
        """Run a variant when it is chosen, or only when told."""
        self.runs_on_select = bool(runs_on_select)

    def handle_changes(self, changes: Changes) -> None:
        """Tell the browser what to show anew: the head, and what else is not as it was."""
        bodies = any(self._concerns(member, keys) for member, keys in changes.items())
        if FOCUS in changes:
            self._look()
        if FOCUS in changes or bodies:
            self.send({"type": "head", "all": True, "head": self._head()})
            return
        ids = _named(changes, RUNNING, RESULTS.name)
        if ids is None or self.context.focus.variant in ids:
            ran = RESULTS.name in changes
            self.send({"type": "head", "all": ran, "head": self._head()})
        elif self.context.focus.variant is None and (shown := sorted(ids & set(self._ids()))):
            self.send({"type": "cards", "cards": [card_of(self.context, id) for id in shown]})

    def open(self, id: str) -> None:
        """Make the widget that a custom workspace shows, on the thread that calls."""
        self._close_custom()
        try:
            self._custom = open_entry(REGISTRY.get("panel", id), self.context)
        except Exception as error:  # noqa: BLE001  whatever a render raises is told in its place
            self._fault = f"{type(error).__name__}: {error}"

    def text(self) -> Markdown:
        """Describe what is looked at and how its last run ended."""
        focus = self.context.focus
        if focus.variant is not None:
            record = last_result(focus.variant)
            last = (
                "not run" if record is None else f"**{record.status}**, {record.total} assertions"
            )
            return Markdown(f"{code(focus.variant)} {last}")
        if focus.workspace is not None:
            named = [code(id) for id in self._ids()]
            return Markdown("\n".join([code(focus.workspace), "", *(f"- {id}" for id in named)]))
        if focus.story is not None and REGISTRY.find("story", focus.story) is not None:
            return docs(focus.story)
        head = self._head()
        return Markdown(prose(f"{head['text']}\n{head.get('code', '')}"))

    def close(self) -> None:
        """Follow cells no more."""
        self._forget_cells()
        PANEL_HOSTS.pop(self._token, None)
        self._close_custom()

    def _head(self) -> Mapping[str, Any]:
        return {
            **head_of(self.context),
            "tab": self.context.focus.tab,
            "runs_on_select": self.runs_on_select,
        }

    def _look(self) -> None:
        variant, self._looked_at = self._looked_at, self.context.focus.variant
        if variant == self._looked_at:
            return
        self._close_custom()
        if self.runs_on_select and self._looked_at is not None:
            self.context.run_focus(done=self._ran)

    def _concerns(self, member: str, keys: frozenset[str] | None) -> bool:
        """Return whether what changed in a registry may change what is shown."""
        if not member.startswith(_BODIES):
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

    def _modes(self) -> Sequence[str]:
        focus = self.context.focus
        if focus.workspace is not None and focus.variant is None:
            return REGISTRY.get("workspace", focus.workspace).body.modes
        return focus.modes

    def _open_custom(self, laid: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have the panel made between the person's cells, for its `render` may be their code."""
        if laid["missing"] or self._fault:
            return {"fault": laid["missing"] or self._fault}
        if self._custom is None:
            self.context.request_widget(self._token, laid["panel"], done=self._opened)
            return {"ref": None}
        return {"ref": ref_of(self._custom)}

    def _opened(self, reply: Reply) -> None:
        if not reply["ok"]:
            self._fault = reply["error"]["message"]
        self.send({"type": "head", "all": True, "head": self._head()})

    def _close_custom(self) -> None:
        widget, self._custom, self._fault = self._custom, None, ""
        if widget is not None:
            widget.close()

    def _ran(self, reply: Reply) -> None:
        """Tell what no record says: a run that was refused before it began."""
        if not reply["ok"]:
            self.send({"type": "refused", "text": reply["error"]["message"]})

    def _tell_if_waiting(self) -> None:
        if self.context.running:
            self.send({"type": "head", "all": False, "head": self._head()})


def _named(changes: Changes, *members: str) -> frozenset[str] | None:
    """Name the keys that changed in any of these; None where all may have."""
    found: frozenset[str] = frozenset()
    for member in members:
        keys = changes.get(member, frozenset())
        if keys is None:
            return None
        found |= keys
    return found
