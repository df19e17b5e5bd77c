"""The person's lines in which a running cell spends its time, sampled from another thread."""

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any

from repl_pair.records import mutable
from repl_pair.runtime.capture.own_threads import pause_collection, short_switch_interval
from repl_pair.runtime.inspection.places import Line, Place, Places, describe_place
from repl_pair.runtime.inspection.stacks import find_cell, lines_above, task_stacks, thread_stacks
from repl_pair.runtime.inspection.suspended import lines_of
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.wire import monotonic

PERIOD_S = 0.01
"""How often the cell's line is read."""
LOOK_S = 0.25
"""How often a cell that stands nowhere on its thread is looked for among the tasks."""
MAX_LINES = 10
"""How many lines are given."""


@mutable
class _Spent:
    """The seconds in one line of the person's, and in what of libraries it called there."""

    place: Place
    seconds: float = 0.0
    inside: dict[str, float] = field(default_factory=dict[str, float])


def read_hot_lines(seconds: float, is_cancelled: Callable[[], bool]) -> dict[str, Any] | None:
    """Return the lines in which the running cell spends most time; None where no cell runs.

    Ends early when the cell ends. The time since the last sample counts for the line of the next
    one: after C code that held the interpreter lock, the thread still stands where it called it.
    """
    places, running = Places(), CELLS.current
    cell = find_cell(places, (*thread_stacks(), *task_stacks()))
    if cell is None:
        return None
    thread = cell.stack.of if cell.stack else None
    thread = thread if type(thread) is int else threading.main_thread().ident
    awaited, spent = _follow_await(places), dict[Any, _Spent]()
    samples, ended = 0, False
    began = last = due = monotonic()
    # With long turns a sample would wait until the cell itself returns the interpreter lock, and
    # so fall on lines that read files or sleep, however little time they take.
    with short_switch_interval():
        while last - began < seconds and not is_cancelled():
            due = max(due + PERIOD_S, last)
            time.sleep(max(0.0, due - monotonic()))
            place, inside = _own_line(places, _lines_of(thread))  # first: soon the cell runs on
            now = monotonic()
            ended = CELLS.current is not running or not CELLS.is_busy()
            if ended:
                break
            if place is None:
                place, inside = _own_line(places, awaited())
            samples += 1
            if place is not None:
                _add(spent, place, inside, now - last)
            last = now
    sampled_s = last - began
    lines = sorted(spent.values(), key=lambda each: each.seconds, reverse=True)[:MAX_LINES]
    answer = {
        "samples": samples,
        "seconds": round(sampled_s, 2),
        "cell": cell.label,
        "ended": ended,
        "missed": max(0, int(sampled_s / PERIOD_S) - samples),
        "lines": [line for each in lines if (line := _shown(each, sampled_s))["share"]],
    }
    return {name: value for name, value in answer.items() if value or name not in _OPTIONAL}


_OPTIONAL = ("ended", "missed")


def _shown(line: _Spent, of_s: float) -> dict[str, Any]:
    shown = describe_place(line.place) | {"share": round(line.seconds / of_s, 2)}
    name = max(line.inside, key=line.inside.__getitem__, default="")
    return shown | ({"inside": name} if line.inside.get(name, 0.0) >= line.seconds / 2 else {})


def _add(spent: dict[Any, _Spent], place: Place, inside: Place | None, seconds: float) -> None:
    line = spent.setdefault((place.file, place.line, place.function), _Spent(place=place))
    line.seconds += seconds
    if inside is not None:
        name = f"{inside.where} {inside.function}"
        line.inside[name] = line.inside.get(name, 0.0) + seconds


def _lines_of(thread: int | None) -> list[Line]:
    """Return the lines in which a thread stands, read before it asks for the lock again."""
    resume = pause_collection()
    try:
        return list(lines_above(sys._current_frames().get(thread or 0)))  # pyright: ignore[reportPrivateUsage]
    finally:
        resume()


def _own_line(places: Places, lines: Iterable[Line]) -> tuple[Place | None, Place | None]:
    """Return the innermost line of the person's, and the library's that it called there."""
    inside = None
    for line in lines:
        place = places.of(line)
        if place.is_own:
            return place, inside
        inside = place
    return None, None


def _follow_await(places: Places) -> Callable[[], Sequence[Line]]:
    """Return what gives the lines of the coroutine of a cell that awaits; none where none does."""
    nothing: Callable[[], Any] = lambda: None  # noqa: E731
    coroutine, looked = nothing, 0.0

    def lines() -> Sequence[Line]:
        nonlocal coroutine, looked
        found = lines_of(coroutine())
        if found or monotonic() - looked < LOOK_S:
            return found
        looked, cell = monotonic(), find_cell(places, task_stacks())
        # Held weakly: here it would outlive its task, and end on this thread.
        coroutine = weakref.ref(cell.stack.of) if cell and cell.stack else nothing
        return lines_of(coroutine())

    return lines
