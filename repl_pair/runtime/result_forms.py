"""The forms in which a notebook shows what came of runs: text, HTML and data, equal for equal runs.

No form holds a known secret, a time or an address: all of them are saved with the notebook.
"""

import re
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from repl_pair.errors import VariantFailed
from repl_pair.records import record, to_dict
from repl_pair.runtime.egress import Limits, send_out
from repl_pair.runtime.origin import interactive_shell
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.secrets import NEEDLES
from repl_pair.wire import RESULTS_MIME

if TYPE_CHECKING:
    from repl_pair.runtime.run_record import RunRecord
    from repl_pair.runtime.sweep import Sweep, SweepRow

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


def bundle(shown: "RunRecord | Sweep") -> dict[str, Any]:
    """Give the forms of one run, or of a sweep, by their MIME types."""
    told, total = _lines(shown), _total(shown)
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


def text(shown: "RunRecord | Sweep") -> str:
    """Give the text of one run, or of a sweep."""
    return "\n".join([*map(_text, _chosen(_lines(shown))), *_total(shown)])


def tell(shown: "RunRecord | Sweep") -> None:
    """Show what came of runs where we are: in the cell, else as printed text."""
    shell = interactive_shell()
    if shell is None:
        print(text(shown))  # noqa: T201  the person asked for it to be shown
        return
    sys.modules["IPython"].display.display(bundle(shown), raw=True)
    cell = shell.displayhook.exec_result
    _TOLD[:] = [] if cell is None else [weakref.ref(shown), weakref.ref(cell)]


def is_told(shown: object) -> bool:
    """Say whether the cell that runs now told this already."""
    shell = interactive_shell()
    cell = None if shell is None else shell.displayhook.exec_result
    told = [ref() for ref in _TOLD]
    return cell is not None and bool(told) and told[0] is shown and told[1] is cell


_TOLD: list["weakref.ref[Any]"] = []


def checked(shown: "RunRecord | Sweep") -> None:
    """Show what came of runs; VariantFailed for anything but `pass`."""
    tell(shown)
    if shown.status != "pass":
        raise VariantFailed(_clean(_summary(shown)), shown)


def _summary(shown: Any) -> str:
    if hasattr(shown, "rows"):
        ids = [f"{row.variant_id}{_in_modes(row.modes)}" for row in shown.failing]
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        listed = f": {', '.join(ids[:5])}{more}" if ids else f". {shown.reason}"
        return f"{len(ids)} of {shown.total} runs did not pass{listed}"
    modes = _in_modes(shown.active_modes)
    head = f"{shown.variant_id}{modes}: {shown.status}, {_count(shown.total)}"
    return f"{head}. {shown.reason}"


def _lines(shown: Any) -> list[Line]:
    if hasattr(shown, "rows"):
        return [_line(row, row.modes, row.content_hash, _reasons(row)) for row in shown.rows]
    hash = shown.identity.content_hash if shown.identity else ""
    failed = [at for at, outcome in enumerate(shown.assertions) if not outcome.passed]
    said = [f"{shown.assertions[at].assertion}: {_why(shown, at)}" for at in failed]
    return [_line(shown, shown.active_modes, hash, said or _reasons(shown))]


def _line(
    run: "RunRecord | SweepRow", modes: Sequence[str], hash: str, said: Iterable[str]
) -> Line:
    return Line(
        id=run.variant_id,
        modes=tuple(modes),
        status=run.status,
        assertions=run.total,
        failures=tuple(_clean(one) for one in said),
        tags=_tags(run.variant_id),
        content_hash=hash,
    )


def _reasons(run: "RunRecord | SweepRow") -> Sequence[str]:
    return () if run.status == "pass" else (run.reason,)


def _why(run: "RunRecord", at: int) -> str:
    """Say why an assertion does not hold; what it compared stands in its reason, if it has one."""
    outcome = run.assertions[at]
    if outcome.reason:
        return outcome.reason
    secret = [path[2:] for path in run.sensitive if path[:2] == ("assertions", str(at))]
    compared = {"expected": outcome.expected, "actual": outcome.actual}
    out = send_out(compared, sensitive=secret, limits=_SHORT, request=run.asked)
    seen: Any = out.value
    return f"expected {seen['expected']!r}, got {seen['actual']!r}"


def _tags(variant_id: str) -> tuple[str, ...]:
    # What shows results pays for the room, not each kernel.
    from repl_pair.runtime.ops.tag_index import tags_of

    entry = REGISTRY.find("variant", variant_id)
    return () if entry is None else tuple(sorted(tags_of(entry)))


def _clean(text: str) -> str:
    clean = _VOLATILE.sub("…", NEEDLES.scrub(text)[0])
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST]} …"


def _chosen(lines: Sequence[Line]) -> Sequence[Line]:
    """Give as many lines as are told: those that did not pass come first if there are too many."""
    if len(lines) <= MOST_LINES:
        return lines
    return sorted(lines, key=lambda line: line.status == "pass")[:MOST_LINES]


def _total(shown: Any) -> Sequence[str]:
    if not hasattr(shown, "rows"):
        return ()
    counted = ", ".join(f"{count} {name}" for name, count in shown.counts.items() if count)
    untold = len(shown.rows) - MOST_LINES
    more = [f"… {untold} more; all stand in .rows"] if untold > 0 else []
    head = f"Sweep of {shown.total}: {shown.status} ({counted or 'nothing was run'})"
    return (*more, head, *([_clean(shown.reason)] if shown.reason else []))


def _text(line: Line) -> str:
    below = "".join(f"\n    {row}" for said in line.failures for row in said.splitlines())
    return f"{_word(line)} {line.id}{_in_modes(line.modes)}: {_count(line.assertions)}{below}"


def _word(line: Line) -> str:
    return line.status.upper().replace("_", " ")


def _count(assertions: int) -> str:
    return f"{assertions} assertion{'' if assertions == 1 else 's'}"


def _in_modes(modes: Sequence[str]) -> str:
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
        f"<code>{escape(line.id)}</code>{escape(_in_modes(line.modes))}",
        f"{_count(line.assertions)}{said}",
    )
    return "".join(
        ["<tr>", *(f'<td style="text-align:left">{cell}</td>' for cell in cells), "</tr>"]
    )


_COLORS: Mapping[str, str] = {"pass": "#2a8a4a", "fail": "#c0392b", "error": "#c0392b"}
