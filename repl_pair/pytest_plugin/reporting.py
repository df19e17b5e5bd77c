"""The summary of variants at the end of a session."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from repl_pair.pytest_plugin.unmatched import notes_of

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

SHOWN = 10
"""How many of the variants that assert nothing are named; -v names all."""


def write_summary(reporter: "TerminalReporter") -> None:
    """Write the notes on unknown ids, and the variants that assert nothing."""
    for line in notes_of(reporter.config):
        reporter.write_line(line, red=True)
    silent = _asserting_nothing(reporter.stats.get("passed", ()))
    if not silent:
        return
    shown = silent if reporter.verbosity > 0 else silent[:SHOWN]
    reporter.section("variants that assert nothing")
    for nodeid in shown:
        reporter.write_line(nodeid)
    if len(silent) > len(shown):
        reporter.write_line(f"… {len(silent) - len(shown)} more; -v names all")


def _asserting_nothing(reports: Iterable[Any]) -> Sequence[str]:
    """Return those that passed because they could be rendered, and by nothing else."""
    return [
        report.nodeid
        for report in reports
        if ("assertions", "0") in getattr(report, "user_properties", ())
    ]
