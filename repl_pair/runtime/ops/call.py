"""What an op may know of the call that it answers."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from repl_pair.wire import View

IMAGE = "$image"
"""Key of the placeholder of an image's data, which is neither scanned nor cut."""


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
    images: list[str] = field(default_factory=list[str])

    def keep_image(self, data: str) -> dict[str, int]:
        """Take base64 image data past the walker; the placeholder is filled in the reply."""
        self.images.append(data)
        return {IMAGE: len(self.images) - 1}

    def suggest(self, *steps: str) -> None:
        """Add concrete next calls, most useful first; the envelope carries three."""
        self.next_steps.extend(steps)
