"""What an op may know of the call that it answers."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from repl_pair.wire import View


def _ignore(_message: str) -> None:
    return None


@dataclass(kw_only=True)
class Call:
    """One call under way: its view, its way to report, and what goes into the envelope."""

    __op_context__ = True

    id: str = ""
    view: View = field(default_factory=View)
    progress: Callable[[str], None] = _ignore
    cancelled: threading.Event = field(default_factory=threading.Event)
    next_steps: list[str] = field(default_factory=list[str])
    notifications: list[str] = field(default_factory=list[str])
    sensitive: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def suggest(self, *steps: str) -> None:
        """Add concrete next calls, most useful first; the envelope carries three."""
        self.next_steps.extend(steps)
