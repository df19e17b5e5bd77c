"""Assertions on what a run put out: its rendering, its stored output, its secrets."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from repl_pair.runtime.compare import short
from repl_pair.runtime.outcomes import Verdict
from repl_pair.runtime.settled import Settled
from repl_pair.runtime.shapes import is_map


def rendered_text(settled: Settled, text: str | Mapping[str, str]) -> Verdict:
    """`[text]`: what was displayed is this text, or holds what the pattern of `{match}` finds.

    Counts the text form of each output, else of the result; blanks around it do not count.
    """
    shown = text_of(settled)
    pattern = text.get("match") if is_map(text) else None
    if not isinstance(text, str) and not (isinstance(pattern, str) and len(text) == 1):
        reason = f"it takes a text or {{match}}, not {short(text)}"
        return Verdict(passed=False, expected=text, actual=shown, reason=reason)
    if pattern is not None:
        passed = re.search(pattern, shown) is not None
        reason = "" if passed else f"nothing in the text matches {pattern!r}"
    else:
        passed = shown.strip() == str(text).strip()
        reason = "" if passed else f"expected the text {short(text)}, got {short(shown)}"
    return Verdict(passed=passed, expected=text, actual=shown, reason=reason)


def matches_snapshot(
    settled: Settled, name: str = "", *, tolerance: float | None = None
) -> Verdict:
    """`[name?, {tolerance}]`: result and outputs are as in the stored snapshot of this variant.

    A missing one fails; the person accepts what the last run gave. `tolerance` is the share of an
    image's pixels, 0 to 1, that may look different.
    """
    # Only plays that ask for a snapshot pay for the store.
    from repl_pair.runtime.snapshots import judge_snapshot

    return judge_snapshot(settled, name, tolerance)


def no_secret(settled: Settled) -> Verdict:
    """`[]`: no known secret stands in anything that the run put out; the places are told.

    That is result, outputs, stdout, stderr, logs, warnings and effects.
    """
    from repl_pair.runtime.snapshots import secret_places  # shares the walk of what is shown

    found = secret_places(settled)
    reason = f"a secret stands at {', '.join(found)}" if found else ""
    return Verdict(passed=not found, expected=[], actual=found, reason=reason)


def text_of(settled: Settled) -> str:
    """Give what was displayed as text: a line or more an output, else the result's own text."""
    if settled.outputs:
        return "\n".join(texts_of(settled.outputs))
    result = settled.result
    return result if isinstance(result, str) else repr(result)


def texts_of(outputs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Give the text form of each output, and the name of its kind where it has none."""
    return [_text_of(bundle) for bundle in outputs]


def _text_of(bundle: Mapping[str, Any]) -> str:
    texts = (bundle.get(mime) for mime in ("text/plain", "text/markdown", "text/html"))
    return next((text for text in texts if isinstance(text, str)), f"<{', '.join(bundle)}>")
