"""The shell: five slots and a centre for the panels, each panel looked up when it is shown."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any
from uuid import uuid4

from repl_pair.errors import ReplPairError, error_text
from repl_pair.panels.base.context import OPENED, Focus, PanelContext
from repl_pair.panels.base.opening import (
    GivenWidget,
    find_rendering,
    open_entry,
    ref_of,
    rendering_of,
    resolve_render,
)
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import View
from repl_pair.panels.base.widget import PanelWidget
from repl_pair.panels.builtin import VIEWS, find_view, register_panels, shows_at_once
from repl_pair.panels.shell.commands import COMMANDS
from repl_pair.panels.shell.messages import CommandShown, Panels, PanelShown
from repl_pair.runtime.ops.persons import PANEL_HOSTS
from repl_pair.runtime.reading.bounded import cut_text
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry, Panel
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.markdown import Markdown, prose
from repl_pair.wire import Reply

PANELS = "registry/panel"
FOLLOWED = {PANELS, *(view.waits_in for view in VIEWS if view.waits_in)}
"""The members of the stores whose changes change what is sent."""
MAX_FOUND = 20
"""How many variants the palette lists at once."""
LONGEST = 2000
"""How much of a widget's repr is the text of its panel, in characters."""


class Shell(View[Panels]):
    """Hosts every registered panel, by id; a later registration of an id replaces the earlier one.

    Widgets of third parties are made between the person's cells: their `render` may be the
    person's code.
    """

    name = "shell"

    def __init__(
        self,
        context: PanelContext,
        send: Callable[[Panels], None],
        *,
        text: Markdown,
        only: str | None = None,
    ) -> None:
        super().__init__(context, send)
        self._text = text
        self.token = uuid4().hex
        self._only = only
        self._visible: dict[str, bool] = {}
        self._open: dict[str, tuple[Entry, PanelWidget | GivenWidget]] = {}
        """By panel, the one that renders for it, and what that made."""
        self._faults: dict[str, str] = {}
        self._opening: set[str] = set()
        register_panels()
        if only is not None:
            REGISTRY.get("panel", only)
        PANEL_HOSTS[self.token] = self
        for id, entry in self._entries().items():
            if self._is_visible(entry):
                self.open(id)

    def start(self) -> Panels:
        """Return the panels and their widgets."""
        return {"panels": self.on_panels()}

    def open(self, id: str) -> None:
        """Make the widget of a panel, on the caller's thread; a fault is shown in its place."""
        entry = REGISTRY.get("panel", id)
        self.close_panel(id)
        try:
            rendering = rendering_of(entry)
            self._open[id] = rendering, open_entry(rendering, self.context)
            self._faults.pop(id, None)
        except Exception as error:  # noqa: BLE001  whatever a render raises is shown in its panel
            self._faults[id] = error_text(error)

    def close_panel(self, id: str) -> None:
        """Take a panel's widget away."""
        if id in self._open:
            self._open.pop(id)[1].close()

    def send_panels(self) -> None:
        """Send the panels as they are now."""
        self.send(self.start())

    def handle_changes(self, changes: Changes) -> None:
        """Show panels that came, were replaced or left, and how much waits in each."""
        for id in changes.get(OPENED) or ():
            self.on_show(id, True)
        if PANELS in changes:
            self._follow_registry()
        if not FOLLOWED.isdisjoint(changes):
            self.send_panels()

    def on_panels(self) -> Sequence[PanelShown]:
        """Return every panel with its place, whether it is shown, and its widget.

        A page that is loaded again asks for them: what it starts with is old.
        """
        return [self._shown(id, entry) for id, entry in sorted(self._entries().items())]

    def on_show(self, panel: str, visible: bool) -> None:
        """Show or hide one panel; of the modal ones, the last that was shown is the only one."""
        placements = {id: entry.body.placement for id, entry in self._entries().items()}
        if visible and placements.get(panel) == "modal":
            self._visible |= {id: False for id, each in placements.items() if each == "modal"}
        self._visible[panel] = visible
        if visible and panel not in self._open:
            self._make_widget(panel)
        self.send_panels()

    def on_commands(self) -> Sequence[CommandShown]:
        """Return the commands of the palette, as of now."""
        return [{"id": id, "title": command.title} for id, command in COMMANDS.items()]

    def on_command(self, id: str) -> None:
        """Carry out one command."""
        COMMANDS[id].act(self.context)

    def on_find(self, words: str) -> Sequence[str]:
        """Return the ids of variants that hold all the words, the first few."""
        wanted = words.lower().split()
        ids = REGISTRY.ids("variant")
        matching = (id for id in ids if all(word in id.lower() for word in wanted))
        return list(islice(matching, MAX_FOUND))

    def on_go(self, variant: str) -> None:
        """Focus on a variant."""
        self.context.set_focus(Focus(story=story_of(variant), variant=variant))

    def text(self) -> Markdown:
        """Return the text of when the shell was made; of one panel alone, its text or fault now."""
        id = self._only or ""
        _, opened = self._open.get(id, (None, None))
        if isinstance(opened, PanelWidget):
            return opened.view.text()
        try:
            shown = self._faults.get(id) if opened is None else repr(opened.widget)
        except Exception as error:  # noqa: BLE001  whatever a widget's own repr raises
            shown = error_text(error)
        return self._text if shown is None else Markdown(cut_text(prose(shown), LONGEST))

    def close(self) -> None:
        """Close every panel."""
        PANEL_HOSTS.pop(self.token, None)
        for id in list(self._open):
            self.close_panel(id)
        self.context.close()

    def _entries(self) -> Mapping[str, Entry]:
        entries = REGISTRY.snapshot("panel")
        return {id: entry for id, entry in entries.items() if self._only in (None, id)}

    def _follow_registry(self) -> None:
        """Make the widgets of panels that came and were replaced; drop those that left."""
        entries = self._entries()
        for id, (rendering, _) in list(self._open.items()):
            if id not in entries:
                self.close_panel(id)
            elif find_rendering(id) is not rendering:
                self._make_widget(id)
        for id, entry in entries.items():
            if self._is_visible(entry) and id not in self._open:
                self._make_widget(id)

    def _is_visible(self, entry: Entry) -> bool:
        return self._visible.get(entry.id, self._only is not None or shows_at_once(entry))

    def _shown(self, id: str, entry: Entry) -> PanelShown:
        body: Panel = entry.body
        view = find_view(entry)
        return {
            "id": id,
            "title": body.title,
            "doc": body.doc,
            "placement": "centre" if self._only else body.placement,
            "visible": self._is_visible(entry),
            "waiting": 0 if view is None else view.count_waiting(),
            "ref": ref_of(self._open[id][1]) if id in self._open else None,
            "fault": self._faults.get(id),
        }

    def _make_widget(self, id: str) -> None:
        """Make the widget of a panel: of a view here, of any other panel on the main lane."""
        entry = REGISTRY.find("panel", id)
        if entry is None or id in self._opening:
            return
        try:
            render = resolve_render(entry)
            is_view = isinstance(render, type) and issubclass(render, View)
        except ReplPairError:
            is_view = True  # `open` shows the fault
        if is_view:
            self.open(id)
            return

        def take(reply: Reply) -> None:
            self._opening.discard(id)
            if not reply["ok"]:
                self._faults[id] = reply["error"]["message"]
            if id in self._open and self._open[id][0] is not find_rendering(id):
                self._make_widget(id)
            self.send_panels()

        self._opening.add(id)
        self.context.request_widget(self.token, id, done=take)


def open_shell(text: Markdown, *, only: str | None, **focus: Any) -> PanelWidget:
    """Return the widget of a new shell; `focus` has the slots of `Focus`."""
    return PanelWidget(partial(Shell, text=text, only=only), PanelContext(Focus(**focus)))
