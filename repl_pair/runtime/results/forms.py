"""How a notebook shows what came of runs: as text, HTML and data, equal for equal runs.

No form holds a known secret, a time or an address: all of them are saved with the notebook.
"""

import re
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from repl_pair.errors import VariantFailed, count_of
from repl_pair.runtime.ipython import interactive_shell, ipython_module
from repl_pair.runtime.registry.outcomes import Outcome
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.tags import tags_of
from repl_pair.runtime.results.notebook_results import RESULTS_MIME, RESULTS_VERSION, RunResult
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.known import NEEDLES, CallSecrets
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.secrets.truncation import Limits

MAX_LINES = 30
"""How many runs the text and the HTML of a sweep list; its data has all."""
_LONGEST = 2000
_SHORT = Limits(depth=3, width=8, text=120, nodes=40)
_VOLATILE = re.compile(r"\b0x[0-9a-fA-F]{6,}|\b\d+(?:\.\d+)?(?= ?(?:ms|µs|ns)\b)")


class Report:
    """What came of one run or a sweep; a notebook shows it once in the cell that asked for it."""

    status: str

    def lines(self) -> list[RunResult]:
        """Return a line for each run."""
        raise NotImplementedError

    def totals(self) -> Sequence[str]:
        """Return the lines that count the runs, to stand below them; none for one run."""
        return ()

    def summary(self) -> str:
        """Return one sentence on what did not pass."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return the text form: what ran may hold secrets, and a list of runs shows their reprs."""
        learn_secrets()
        return _text(self, self.lines())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return mime_bundle(self)

    def _ipython_display_(self) -> None:
        """Show nothing where this cell shows it already; IPython falls back to the bundle."""
        shell = interactive_shell()
        cell = None if shell is None else shell.displayhook.exec_result
        displayed = [ref() for ref in _DISPLAYED]
        if cell is None or not displayed or displayed[0] is not self or displayed[1] is not cell:
            raise NotImplementedError


def mime_bundle(report: Report) -> dict[str, Any]:
    """Return the forms of a report by their MIME types."""
    learn_secrets()
    lines = report.lines()
    rows = "".join(map(_row, _listed(lines)))
    below = "".join(f"<div>{escape(total)}</div>" for total in report.totals())
    return {
        "text/plain": _text(report, lines),
        "text/html": f"<table>{rows}</table>{below}",
        RESULTS_MIME: {
            "version": RESULTS_VERSION,
            "status": report.status,
            "results": [line.to_wire() for line in lines],
        },
    }


def display(report: Report) -> None:
    """Show a report in the cell that runs; outside of notebooks print its text."""
    shell = interactive_shell()
    if shell is None:
        print(report)  # noqa: T201  the person asked for it to be shown
        return
    ipython_module("display").display(mime_bundle(report), raw=True)
    cell = shell.displayhook.exec_result
    _DISPLAYED[:] = [] if cell is None else [weakref.ref(report), weakref.ref(cell)]


_DISPLAYED: list["weakref.ref[Any]"] = []
"""The report that was displayed last, and the cell that it was displayed in."""


def display_and_check(report: Report) -> None:
    """Show a report; VariantFailed for any status but `pass`."""
    display(report)
    if report.status != "pass":
        raise VariantFailed(clean_text(report.summary()), report)


def run_line(
    variant_id: str,
    modes: Sequence[str],
    status: str,
    assertions: int,
    failures: Iterable[str],
    content_hash: str,
) -> RunResult:
    """Return the line of one run; failures, of one that did not pass, lose secrets and times."""
    entry = REGISTRY.find("variant", variant_id)
    return RunResult(
        id=variant_id,
        modes=tuple(modes),
        status=status,
        assertions=assertions,
        failures=() if status == "pass" else tuple(map(clean_text, failures)),
        tags=() if entry is None else tuple(sorted(tags_of(entry))),
        content_hash=content_hash,
    )


def failure_reason(
    outcome: Outcome, secret: Collection[tuple[str, ...]], met: CallSecrets | None
) -> str:
    """Return why an assertion fails; `secret` places and what the run `met` stay hidden."""
    if outcome.reason:
        return outcome.reason
    compared = {"expected": outcome.expected, "actual": outcome.actual}
    shown: Any = send_out(compared, sensitive=secret, limits=_SHORT, secrets=met).value
    return f"expected {shown['expected']!r}, got {shown['actual']!r}"


def clean_text(text: str) -> str:
    """Take known secrets, times and addresses out of a text, and cut it to a bounded length.

    Whoever shows it learns the secrets first, once for all of its texts.
    """
    clean = _VOLATILE.sub("…", NEEDLES.scrub(text)[0])
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST]} …"


def in_modes(modes: Sequence[str]) -> str:
    """Name the modes of a run behind its id; nothing without any."""
    return f" [{'+'.join(modes)}]" if modes else ""


def _listed(lines: Sequence[RunResult]) -> Sequence[RunResult]:
    """Return the lines that are listed: if there are too many, those that did not pass go first."""
    if len(lines) <= MAX_LINES:
        return lines
    return sorted(lines, key=lambda line: line.status == "pass")[:MAX_LINES]


def _text(report: Report, lines: Sequence[RunResult]) -> str:
    return "\n".join([*map(text_of, _listed(lines)), *report.totals()])


def text_of(run: RunResult) -> str:
    """Describe one run, and below it why it did not pass."""
    head = f"{_status(run)} {run.id}{in_modes(run.modes)}: {count_of(run.assertions, 'assertion')}"
    return "\n    ".join([head, *(row for text in run.failures for row in text.splitlines())])


def _row(line: RunResult) -> str:
    failures = "".join(f"<pre>{escape(failure)}</pre>" for failure in line.failures)
    cells = (
        f'<b style="color:{_COLORS.get(line.status, "inherit")}">{_status(line)}</b>',
        f"<code>{escape(line.id)}</code>{escape(in_modes(line.modes))}",
        f"{count_of(line.assertions, 'assertion')}{failures}",
    )
    row = "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells)
    return f"<tr>{row}</tr>"


def _status(line: RunResult) -> str:
    return line.status.upper().replace("_", " ")


_COLORS: Mapping[str, str] = {"pass": "#2a8a4a", "fail": "#c0392b", "error": "#c0392b"}
