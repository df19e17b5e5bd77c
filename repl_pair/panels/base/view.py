"""The base of every panel: what it answers, which changes it follows, and its text."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from repl_pair.errors import RequestError
from repl_pair.panels.base.context import PanelContext
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.runtime.results.markdown import Markdown

Patch = TypeVar("Patch", bound=Mapping[str, Any])
"""What a view sends unasked: a TypedDict, of which each message has the slots that changed."""


class View(Generic[Patch]):
    """One open panel. Its methods run on the panel thread, and never call the person's code.

    The script's `ask("rows", {start: 0})` is answered by `on_rows(start=0)`, with JSON. A patch
    holds what changed, and never all of it. The shapes of both stand in `messages.py` beside the
    view, and as types at the head of its script.
    """

    name: ClassVar[str]
    """Names its script and style, which stand beside its module: `<name>.js`, `<name>.css`."""
    scripts: ClassVar[tuple[str, ...]] = ()
    """Scripts that it shares with other panels, by name; they come before its own."""
    title: ClassVar[str] = ""
    placement: ClassVar[str] = "bottom"
    is_shown: ClassVar[bool] = True
    """Whether the shell shows it before anyone asks."""
    waits_in: ClassVar[str] = ""
    """The member of the person's store whose changes may change `count_waiting`."""

    def __init__(self, context: PanelContext, send: Callable[[Patch], None]) -> None:
        self.context = context
        self.send = send
        """Sends one patch to every place where the panel is shown; from any thread."""

    @staticmethod
    def count_waiting() -> int:
        """Return how much waits in it for the person: the shell shows that, hidden or not."""
        return 0

    def start(self) -> Mapping[str, Any]:
        """Return what the panel shows at first; it may be saved with the notebook."""
        return {}

    def handle_changes(self, changes: Changes) -> None:
        """Send the patches that changes of the store and the context (`panels/…`) call for."""

    def check_focus(self, id: str | None, kind: str = "variant") -> None:
        """Refuse what was asked of an entry that is in focus no more: RequestError `bad_arguments`.

        A page may still show what was in focus before: what is done there is meant for that.
        """
        if self.context.focus.target != (kind, id):
            why = f"Nothing was done: {id} is not in focus any more. Open it again first."
            raise RequestError("bad_arguments", why)

    def on_hello(self) -> None:
        """Answer the first message of a script, which sends it until it is answered."""

    def text(self) -> Markdown:
        """Return what the panel shows where nothing runs; equal registries give equal text."""
        return Markdown("")

    def close(self) -> None:
        """Undo what the view began."""
