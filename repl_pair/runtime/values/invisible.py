"""Characters that a reader does not see, or that move what is seen: one rule for all interfaces."""

import re
from collections.abc import Callable

_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Letters, marks and symbols without ink. Categories do not tell them from those that have it."""


def escape_invisible(
    text: str, keep: str = "\n\t", write: Callable[[str], str] = lambda mark: f"<U+{ord(mark):04X}>"
) -> str:
    """Write each invisible character out, as `<U+202E>`; those of `keep` stay.

    Invisible are controls, formats, all spaces but the plain one, line separators, halves of
    surrogate pairs, characters that are not assigned, and letters without ink.
    """
    if text.isprintable() and not _BLANK.search(text):
        return text
    judged = f"[^ -~{re.escape(keep)}]"
    return re.sub(judged, lambda m: write(m[0]) if is_invisible(m[0]) else m[0], text)


def is_invisible(mark: str) -> bool:
    """Return whether a character shows nothing, or steers how others are shown."""
    return not mark.isprintable() or _BLANK.match(mark) is not None
