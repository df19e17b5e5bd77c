"""The forms in which a notebook shows what came of runs: text, HTML and data, equal for equal runs.

No form holds a known secret, a time or an address: all of them are saved with the notebook.
"""

import re
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from repl_pair.errors import VariantFailed
from repl_pair.records import record, to_dict
from repl_pair.runtime.ipython import interactive_shell, ipython_module
from repl_pair.runtime.registry.outcomes import Outcome
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.needles import NEEDLES
from repl_pair.runtime.secrets.truncate import Limits
from repl_pair.wire import RESULTS_MIME

MOST_LINES = 30
"""How many runs the text and the HTML of a sweep tell; its data has all."""
_LONGEST = 2000
_SHORT = Limits(depth=3, width=8, text=120, nodes=40)
_VOLATILE = re.compile(r"\b0x[0-9a-fA-F]{6,}|\b\d+(?:\.\d+)?(?= ?(?:ms|µs|ns)\b)")


@record
class Line:
    """What is told of one run; `assertions` counts them, `failures` says what did not hold."""

    id: str
    modes: tuple[str, ...]
    status: str
    assertions: int
    failures: tuple[str, ...]
    tags: tuple[str, ...]
    content_hash: str


class Shown:
    """What came of runs, and how a notebook shows it: once in the cell that asked for it."""

    status: str

    def lines(self) -> list[Line]:
        """Return a line for each run."""
        raise NotImplementedError

    def totals(self) -> Sequence[str]:
        """Return the lines behind the runs, which count them; none for one run."""
        return ()

    def summary(self) -> str:
        """Report in one sentence what did not pass."""
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self)

    def _ipython_display_(self) -> None:
        if not is_told(self):
            raise NotImplementedError


def bundle(shown: Shown) -> dict[str, Any]:
    """Return the forms of one run, or of a sweep, by their MIME types."""
    told, total = shown.lines(), shown.totals()
    few = _chosen(told)
    data = {"version": 1, "status": shown.status, "results": [_plain(line) for line in told]}
    return {
        "text/plain": "\n".join([*map(_text, few), *total]),
        "text/html": _html(few, total),
        RESULTS_MIME: data,
    }


def _plain(line: Line) -> dict[str, Any]:
    lists = {"modes": line.modes, "failures": line.failures, "tags": line.tags}
    return to_dict(line) | {name: list(given) for name, given in lists.items()}


def text(shown: Shown) -> str:
    """Return the text of one run, or of a sweep."""
    return "\n".join([*map(_text, _chosen(shown.lines())), *shown.totals()])


def tell(shown: Shown) -> None:
    """Show what came of runs where we are: in the cell, else as printed text."""
    shell = interactive_shell()
    if shell is None:
        print(text(shown))  # noqa: T201  the person asked for it to be shown
        return
    ipython_module("display").display(bundle(shown), raw=True)
    cell = shell.displayhook.exec_result
    _TOLD[:] = [] if cell is None else [weakref.ref(shown), weakref.ref(cell)]


def is_told(shown: object) -> bool:
    """Return whether the cell that runs now told this already."""
    shell = interactive_shell()
    cell = None if shell is None else shell.displayhook.exec_result
    told = [ref() for ref in _TOLD]
    return cell is not None and bool(told) and told[0] is shown and told[1] is cell


_TOLD: list["weakref.ref[Any]"] = []


def checked(shown: Shown) -> None:
    """Show what came of runs; VariantFailed for anything but `pass`."""
    tell(shown)
    if shown.status != "pass":
        raise VariantFailed(clean_text(shown.summary()), shown)


def line_of(
    variant_id: str,
    modes: Sequence[str],
    status: str,
    assertions: int,
    failures: Iterable[str],
    content_hash: str,
) -> Line:
    """Return the line of one run; its failures lose secrets, times and addresses."""
    return Line(
        id=variant_id,
        modes=tuple(modes),
        status=status,
        assertions=assertions,
        failures=tuple(clean_text(one) for one in failures),
        tags=_tags(variant_id),
        content_hash=content_hash,
    )


def why(outcome: Outcome, secret: Collection[tuple[str, ...]], asked: Any) -> str:
    """Say why an assertion does not hold; what it compared stands in its reason, if it has one.

    `secret` are the places in what was compared that stay hidden, `asked` what the caller sent.
    """
    if outcome.reason:
        return outcome.reason
    compared = {"expected": outcome.expected, "actual": outcome.actual}
    out = send_out(compared, sensitive=secret, limits=_SHORT, request=asked)
    seen: Any = out.value
    return f"expected {seen['expected']!r}, got {seen['actual']!r}"


def _tags(variant_id: str) -> tuple[str, ...]:
    # What shows results pays for the room, not each kernel.
    from repl_pair.runtime.registry.tags import tags_of

    entry = REGISTRY.find("variant", variant_id)
    return () if entry is None else tuple(sorted(tags_of(entry)))


def clean_text(text: str) -> str:
    """Take known secrets, times and addresses out of a text, and cut it to a bounded length."""
    clean = _VOLATILE.sub("…", NEEDLES.scrub(text)[0])
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST]} …"


def _chosen(lines: Sequence[Line]) -> Sequence[Line]:
    """Get as many lines as are told: those that did not pass come first if there are too many."""
    if len(lines) <= MOST_LINES:
        return lines
    return sorted(lines, key=lambda line: line.status == "pass")[:MOST_LINES]


def _text(line: Line) -> str:
    below = "".join(f"\n    {row}" for said in line.failures for row in said.splitlines())
    return (
        f"{_word(line)} {line.id}{in_modes(line.modes)}: {count_assertions(line.assertions)}{below}"
    )


def _word(line: Line) -> str:
    return line.status.upper().replace("_", " ")


def count_assertions(assertions: int) -> str:
    """Describe how many assertions there are."""
    return f"{assertions} assertion{'' if assertions == 1 else 's'}"


def in_modes(modes: Sequence[str]) -> str:
    """Name the modes of a run behind its id; nothing without any."""
    return f" [{'+'.join(modes)}]" if modes else ""


def _html(lines: Iterable[Line], total: Iterable[str]) -> str:
    rows = "".join(map(_row, lines))
    below = "".join(f"<div>{escape(said)}</div>" for said in total)
    return f"<table>{rows}</table>{below}"


def _row(line: Line) -> str:
    color = _COLORS.get(line.status, "inherit")
    said = "".join(f"<pre>{escape(one)}</pre>" for one in line.failures)
    cells = (
        f'<b style="color:{color}">{_word(line)}</b>',
        f"<code>{escape(line.id)}</code>{escape(in_modes(line.modes))}",
        f"{count_assertions(line.assertions)}{said}",
    )
    return "".join(
        ["<tr>", *(f'<td style="text-align:left">{cell}</td>' for cell in cells), "</tr>"]
    )


_COLORS: Mapping[str, str] = {"pass": "#2a8a4a", "fail": "#c0392b", "error": "#c0392b"}
