"""The report of a run that did not pass: each failed assertion, its place, how to repeat it."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pytest

from repl_pair.errors import ReplPairError
from repl_pair.pytest_plugin.choices import Choice
from repl_pair.runtime.reading.code_files import is_engine
from repl_pair.runtime.registry.origin import file_of
from repl_pair.runtime.results.diff_lines import describe_difference
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.known import NEEDLES, current_secrets, within
from repl_pair.runtime.secrets.learning import learn_secrets, scrub_known
from repl_pair.runtime.secrets.raised import knowing
from repl_pair.runtime.secrets.truncation import Limits
from repl_pair.runtime.values.marks import SHORTEST
from repl_pair.wire import REDACTED

_LIMITS = Limits(depth=16, width=5_000, text=200_000, nodes=20_000)
_LONGEST_WORD = 80
_CUT, _SHORTEST_HALF = "...", 3
"""What stands where pytest shortened a text, and how much of a secret it leaves on both sides."""


class RunningItem(pytest.Function):
    """An item that runs a variant, and the place where that is registered."""

    choice: Choice

    @property
    def source(self) -> tuple[str, int]:
        """The file and line, from 1, of the registration, else the file that was collected."""
        origin = self.choice.entry.origin
        return file_of(origin) or str(self.path), max(origin.line, 1)

    def _repr_failure_py(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:
        """Return what pytest shows of an error in any phase, its secrets hidden."""
        with knowing(excinfo.value):
            return scrub_shown(super()._repr_failure_py(excinfo, style))

    def _traceback_filter(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """Leave out the frames of this package: pytest leaves out its own where no test began."""
        excinfo.traceback = excinfo.traceback.filter(_is_own) or excinfo.traceback
        return super()._traceback_filter(excinfo)


class NotPassed(Exception):
    """A run ended in anything but pass."""

    def __init__(self, record: RunRecord, raised: Sequence[BaseException]) -> None:
        super().__init__(record.reason)
        self.record = record
        self.raised = raised


class RefusedWarning(Exception):
    """A filter of pytest's makes a warning of a run that passed an error; its place and text."""


def show_failure(item: RunningItem, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
    """Return what pytest shows of a failure that is the variant's; None for any other."""
    error = excinfo.value
    if isinstance(error, NotPassed):
        text = "\n".join(_lines(item, error.record, bool(error.raised)))
        if error.record.status == "error" and error.raised:
            return _traceback_repr(item, error, text)
        reason, *_ = str(_clean(error.record)["reason"]).split("\n")
        return _failure_repr(item, excinfo, text, f"{error.record.status}: {reason}")
    if isinstance(error, RefusedWarning):
        text = (
            f"{_where(item)}: {item.name}: a filter makes this warning an error\n  {error}\n"
            "  Expect it by check.warns(…), or change the filter.\n"
            f"  {repeat_line(item, by_pytest=True)}"
        )
        return _failure_repr(item, excinfo, text, str(error).split(": ", 1)[1])
    if isinstance(error, ReplPairError):
        text = "\n".join([f"{_where(item)}: {item.name}: {error.code}", f"  {error.message}"])
        return _failure_repr(item, excinfo, text, f"{error.code}: {error.message}")
    return None


def repeat_line(item: RunningItem, *, by_pytest: bool = False) -> str:
    """Return the command that runs the variant again, as a shell takes it: fixtures need pytest."""
    choice = item.choice
    if by_pytest or choice.fixtures or hasattr(item, "callspec"):
        filters: list[str] = item.config.getoption("pythonwarnings") or []
        return shlex.join(["pytest", *(f"-W{one}" for one in filters), item.nodeid])
    modes = [word for mode in choice.modes for word in ("--mode", mode)]
    plays = [] if choice.play is None else ["--play", choice.play]
    return shlex.join(["repl-pair", "run", "--here", choice.entry.id, *modes, *plays])


def _failure_repr(
    item: RunningItem, excinfo: pytest.ExceptionInfo[BaseException], text: str, summary: str
) -> Any:
    error = _FailureText(_scrub(text)).with_traceback(excinfo.tb)
    shown = _ExceptionInfo.from_exception(error).getrepr(style="value")
    file, line = item.source
    if shown.reprcrash is not None:
        shown.reprcrash.path, shown.reprcrash.lineno = file, line
        shown.reprcrash.message = _scrub(summary)
    return shown


_ExceptionInfo: Any = pytest.ExceptionInfo


class _FailureText(Exception):
    """Carries the text of a failure through pytest's own forms, which xdist can send."""


def _scrub(text: str) -> str:
    """Return a text without known secrets, also without the halves that pytest leaves of one."""
    head, *tails = scrub_known(text).split(_CUT)
    known = list(_shortened(text)) if tails else []
    longest, done = max(map(len, known), default=1), list[str]()
    for tail in tails:
        begin, end = max((_halves(one, head, tail) for one in known), key=sum, default=(0, 0))
        middle = REDACTED if begin or end else _CUT
        head = f"{head[: len(head) - begin]}{middle}{tail[end:]}"
        done.append(head[:-longest])
        head = head[-longest:]
    return "".join((*done, head))


def _shortened(text: str) -> Iterator[str]:
    """Yield the known secrets whose beginning or end may stand in a text."""
    own, size = current_secrets(), _SHORTEST_HALF
    for secret in (*NEEDLES.ranks, *(own.ranks if own else ())):
        if secret[:size] in text or secret[-size:] in text:
            yield secret


def _halves(secret: str, head: str, tail: str) -> tuple[int, int]:
    """Return how much of a secret ends `head` and begins `tail`; zeros where it is too little."""
    lengths = range(len(secret) - 1, _SHORTEST_HALF - 1, -1)
    begin = next((n for n in lengths if head.endswith(secret[:n])), 0)
    end = next((n for n in lengths if tail.startswith(secret[-n:])), 0)
    return (begin, end) if (begin and end) or max(begin, end) >= SHORTEST else (0, 0)


def scrub_reasons(report: Any) -> None:
    """Take the secrets out of why a report says that it is a skip, or a failure that is awaited."""
    if isinstance(shown := report.longrepr, tuple):
        *place, reason = cast("tuple[Any, ...]", shown)
        report.longrepr = *place, _scrub(reason)
    elif isinstance(shown, str):
        report.longrepr = _scrub(shown)
    if hasattr(report, "wasxfail"):
        report.wasxfail = _scrub(report.wasxfail)


def scrub_shown(shown: Any) -> Any:
    """Take the secrets out of what pytest shows of an error: a text, or its own forms."""
    if isinstance(shown, str):
        return _scrub(shown)
    alone = [(shown.reprtraceback, shown.reprcrash, None)] if hasattr(shown, "reprcrash") else []
    for traceback, crash, _ in getattr(shown, "chain", alone):
        _scrub_traceback(traceback)
        if crash is not None:
            crash.message = _scrub(crash.message)
    if isinstance(text := getattr(shown, "longrepr", None), str):
        shown.longrepr = _scrub(text)
    return shown


def _traceback_repr(item: RunningItem, error: NotPassed, text: str) -> Any:
    info = _ExceptionInfo.from_exception(error.raised[0])
    info.traceback = info.traceback.filter(_is_own) or info.traceback
    style: Any = item.config.getoption("tbstyle", "auto")
    shown = info.getrepr(
        style="long" if style == "auto" else style,
        showlocals=item.config.getoption("showlocals", False),
        tbfilter=False,
    )
    shown.addsection(item.name, _scrub(text), "-")
    with within(error.record.secrets), knowing(error.raised[0]):
        return scrub_shown(shown)


def _scrub_traceback(traceback: Any) -> None:
    for entry in traceback.reprentries:
        entry.lines[:] = map(_scrub, entry.lines)
        if (given := getattr(entry, "reprfuncargs", None)) is not None:
            given.args = [(name, _scrub(text)) for name, text in given.args]
        if (local := getattr(entry, "reprlocals", None)) is not None:
            local.lines[:] = map(_scrub, local.lines)


def _is_own(entry: Any) -> bool:
    return not is_engine(str(entry.path))


def _lines(item: RunningItem, record: RunRecord, has_traceback: bool) -> Iterator[str]:
    failed = [(n, one) for n, one in enumerate(record.assertions) if not one.passed]
    counted = f", {len(failed)} of {record.total} assertions failed" if failed else ""
    phase = "".join(f" in {one.phase}" for one in record.phases if one.error is not None)
    yield f"{_where(item)}: {item.name}: {record.status}{phase}{counted}"
    shown = _clean(record)
    # A traceback that is shown above ends with it.
    if not failed and not (record.status == "error" and has_traceback):
        yield f"  {shown['reason']}"
    for index, outcome in failed:
        at = shown["assertions"][index]
        play = f"play {outcome.play!r}, " if outcome.play else ""
        words = [one for one in at["payload"][:1] if _is_short(one)]
        yield f"  {play}step {outcome.step}: {' '.join((outcome.assertion, *words))}"
        yield f"    {at['reason']}"
        lines = describe_difference(at["expected"], at["actual"], str(at["reason"]))
        yield from (f"    {line}" for line in lines)
    yield f"  {repeat_line(item)}"


def _is_short(word: Any) -> bool:
    return isinstance(word, str) and len(word) <= _LONGEST_WORD and "\n" not in word


def _where(item: RunningItem) -> str:
    file, line = item.source
    here = str(item.config.invocation_params.dir)
    return f"{os.path.relpath(file, here) if file.startswith(here) else file}:{line}"


def _clean(record: RunRecord) -> Mapping[str, Any]:
    """Return what is shown of a record, its secrets hidden: what CI prints is kept."""
    learn_secrets()
    names = ("expected", "actual", "reason", "payload")
    slots = [{name: getattr(one, name) for name in names} for one in record.assertions]
    seen = {"reason": record.reason, "assertions": slots}
    sent = send_out(seen, sensitive=record.sensitive, limits=_LIMITS, secrets=record.secrets)
    return cast("Mapping[str, Any]", sent.value)
