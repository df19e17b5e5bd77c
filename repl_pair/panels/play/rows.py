"""The lines of one run: a row for each, and one of them in full."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from repl_pair.errors import RequestError
from repl_pair.panels.base.describing import (
    Hide,
    Places,
    hide_of,
    literal,
    phrase,
    readable,
    to_json,
)
from repl_pair.panels.base.differing import ShownChange, change_json, difference, values_difference
from repl_pair.panels.base.source_links import line_of_step, link_to
from repl_pair.panels.play.messages import LineRow, MomentShown, OutcomeShown, StateRow
from repl_pair.runtime.reading.bounded import Bounds
from repl_pair.runtime.registry.extending import chain_of, lay_over
from repl_pair.runtime.registry.model import Entry, Play, Step, Variant
from repl_pair.runtime.registry.outcomes import Outcome
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.steps import named_by
from repl_pair.runtime.results.debugger import Debugger, Moment
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.values.frozen import to_plain
from repl_pair.runtime.values.paths import below, join_path
from repl_pair.wire import Json

MAX_ROWS = 1_000
"""How many lines of a run are shown."""
BEFORE = -1
"""The place before the first line."""
SNAPSHOT = "matches_snapshot"
_STATE = Bounds(depth=8, width=100, text=2_000, nodes=2_000)


def plays_of(entry: Entry) -> Sequence[Play]:
    """Return the plays of a variant; none where it extends a variant that is not registered."""
    try:
        body: Variant = lay_over(chain_of(entry))
    except RequestError:
        return ()
    return (Play(steps=body.play),) if body.play else body.plays


def rows_of(debugger: Debugger, plays: Sequence[Play]) -> list[LineRow]:
    """Return a row for each line that was done, and for those of `plays` that were not."""
    done = {(moment.play, moment.step): moment for moment in debugger.moments}
    by_name, hide = {play.name: play for play in plays}, hide_of(debugger.run)
    rows: list[LineRow] = []
    for name in debugger.run.plays:
        steps = by_name[name].steps if name in by_name else ()
        last = max((at for play, at in done if play == name), default=-1)
        for at in range(max(len(steps), last + 1)):
            moment = done.get((name, at))
            if moment is not None:
                rows.append(_row(moment, secret_places(debugger.run, moment), hide))
            elif at < len(steps):
                rows.append(_line(name, steps[at]))
    return rows[:MAX_ROWS]


def moment_of(debugger: Debugger, index: int, entry: Entry | None) -> MomentShown:
    """Return one line in full; `BEFORE` is the state before the first."""
    debugger.position = max(BEFORE, min(index, len(debugger.moments) - 1))
    run, moment = debugger.run, debugger.moment
    hidden, hide = below(run.sensitive, "state"), hide_of(run)
    if moment is None:
        return {"index": BEFORE, "name": "", "state": state_rows(debugger.state, (), hidden, hide)}
    secret = secret_places(run, moment)
    outcome = moment.outcome
    changes = [hide(change_json(change, hidden)) for change in moment.changes]
    words: Any = hide(to_json(to_plain(moment.line[1:]), secret=below(secret, "payload")))
    # The handler of an event, else an assertion, takes the line.
    is_event = named_by(moment.line) == "event"
    taker = ("handler", str(moment.line[1][0])) if is_event else ("assertion", moment.name)
    return {
        "index": moment.index,
        "name": moment.name,
        "status": _status(moment),
        "words": ", ".join(map(literal, words)),
        "error": hide(moment.error),
        "state": state_rows(moment.state, changes, hidden, hide),
        "changes": changes,
        "link": entry and link_to(entry, line_of_step(entry.origin, moment.play, moment.step)),
        "function": link_to(REGISTRY.find(*taker)),
        "outcome": None if outcome is None else _outcome(outcome, secret, hide),
        "snapshot": moment.name == SNAPSHOT and moment.failed,
    }


def secret_places(run: RunRecord, moment: Moment) -> Places:
    """Return places in `payload`, `expected` and `actual` of a line that are declared secret."""
    if moment.outcome is not None:
        at = next(at for at, outcome in enumerate(run.assertions) if outcome is moment.outcome)
        return below(below(run.sensitive, "assertions"), at)
    place = (moment.play, moment.step)
    at = next(at for at, step in enumerate(run.steps) if (step.play, step.step) == place)
    words = below(below(below(run.sensitive, "steps"), at), "line")
    return [("payload", str(int(word) - 1), *rest) for word, *rest in words]


def state_rows(
    state: Any, changes: Sequence[ShownChange], hidden: Places, hide: Hide
) -> list[StateRow]:
    """Return a state as indented rows; those that the line changed hold the value before it."""
    changed = {str(change["path"]): change for change in changes}
    rows = list(_nested("", hide(to_json(state, _STATE, hidden)), "", 0, changed))
    for path, change in changed.items():
        if path and "after" not in change:
            rows.append({"depth": 0, "key": path, "value": "", "change": change})
    return rows


def _nested(
    key: str, value: Json, path: str, depth: int, changed: Mapping[str, ShownChange]
) -> Iterator[StateRow]:
    items: list[tuple[Any, Json]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(cast("list[Json]", value)))
    text = f"{len(items)} items" if items else literal(value)
    yield {"depth": depth, "key": key, "value": text, "change": changed.get(path)}
    for name, item in items:
        yield from _nested(str(name), item, join_path(path, name), depth + 1, changed)


def _row(moment: Moment, secret: Places, hide: Hide) -> LineRow:
    return {
        **_line(moment.play, moment.line),
        "words": hide(phrase(to_plain(moment.line[1:]), below(secret, "payload"))),
        "index": moment.index,
        "status": _status(moment),
        "reason": hide(moment.error or ("" if moment.outcome is None else moment.outcome.reason)),
    }


def _status(moment: Moment) -> str:
    if moment.outcome:
        return "fail" if moment.failed else "pass"
    return "error" if moment.failed else "done"


def _line(play: str, line: Step | list[Any]) -> LineRow:
    """Return the row of a line that was not done."""
    return {
        "index": None,
        "play": play,
        "name": str(line[0]),
        "words": "",
        "reason": "",
        "status": "not_done",
    }


def _outcome(outcome: Outcome, secret: Places, hide: Hide) -> OutcomeShown:
    hidden = [below(secret, side) for side in ("expected", "actual")]
    sides = [to_plain(outcome.expected), to_plain(outcome.actual)]
    found = [to_json(side, secret=h) for side, h in zip(sides, hidden, strict=True)]
    expected, actual = shown = hide(found)
    # Words and cells are compared as they are, so only where no secret is among them.
    is_whole = shown == found and not any(hidden)
    differ = difference(*sides) if is_whole else values_difference(expected, actual)
    return {
        "passed": outcome.passed,
        "reason": hide(outcome.reason),
        "expected": None if expected is None and actual is None else readable(expected),
        "actual": None
        if actual is None and (outcome.passed or expected is None)
        else readable(actual),
        "difference": None if outcome.passed else differ,
    }
