"""Where the running cell, the threads and the tasks of a kernel stand: places, no values."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from types import FrameType
from typing import Any, NamedTuple

from repl_pair.runtime.capture.own_threads import frames_of_threads
from repl_pair.runtime.inspection.places import (
    Line,
    Place,
    Places,
    describe_place,
    is_machinery,
    shown_places,
)
from repl_pair.runtime.inspection.suspended import LISTS_ALL_TASKS, lines_of, text_of, waiting_tasks
from repl_pair.runtime.reading.fields import keys_are
from repl_pair.runtime.reading.stored_fields import stored_fields
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.values.classes import is_of

MAX_LINES, MAX_DEEP = 20_000, 4_000
"""How many frames are read in all, and of one thread."""
MAX_SHOWN = 12
"""How many threads, and how many tasks, are shown; those that stand at the same place are one."""
_LEFT_OUT = ("machinery_threads", "threads", "machinery_tasks", "tasks")
MAX_FRAMES, MAX_OF_OTHERS, MAX_AWAITED = 15, 8, 4
"""How many frames are shown of the main thread, of another one, and of what awaits."""


class Stack(NamedTuple):
    """Where a thread or a task stands, the innermost line first.

    `of` is its ident or coroutine, `named` the thread itself or the name of the task.
    """

    named: Any
    lines: Sequence[Line]
    of: Any


class Cell(NamedTuple):
    """A running cell: the stack that it is part of, and the index of its own line there."""

    label: str
    stack: Stack | None = None
    at: int = 0


class _Group(NamedTuple):
    """How many threads or tasks stand at the same places, and the name of the first."""

    name: str
    size: int
    places: Sequence[Place]


def read_stacks(*, code: bool) -> dict[str, Any]:
    """Return where the cell, the threads and the tasks stand; with `code`, the person's lines."""
    places, tasks = Places(), task_stacks()
    main, *others = thread_stacks()
    cell = find_cell(places, (main, *others, *tasks))
    threads, more_threads = _groups(places, others)
    waiting, more_tasks = _groups(places, [t for t in tasks if _cell_in(places, t) is None])
    standing = list(map(places.of, main.lines))
    first = _Group(_name_of(main), 1, [] if is_machinery(standing) else standing)
    shown = [_shown(first, MAX_FRAMES, "frames", code=code)]
    shown += (_shown(group, MAX_OF_OTHERS, "frames", code=code) for group in threads)
    answer: dict[str, Any] = {
        "cell": None if cell is None else _shown_cell(places, cell, code=code),
        "threads": shown,
    }
    if LISTS_ALL_TASKS:
        answer["tasks"] = [_shown(each, MAX_AWAITED, "awaits", code=code) for each in waiting]
    counts = zip(_LEFT_OUT, (*more_threads, *more_tasks), strict=True)
    left_out = {what: count for what, count in counts if count}
    return answer | ({"left_out": left_out} if left_out else {})


def thread_stacks() -> list[Stack]:
    """Return where each thread stands, the main thread first; of very deep ones the inner part.

    The thread that answers is none of them, or, as the main thread, stands nowhere. Each frame is
    let go of at once: what it holds would live on, and end on this thread.
    """
    # A copy in one step: the public way takes a lock, which a stuck thread may hold.
    known: dict[int, Any] = dict(threading._active)  # pyright: ignore
    main, left = threading.main_thread(), MAX_LINES
    ranks = {ident: rank for rank, ident in enumerate(known)} | {main.ident: -1}
    stacks: list[Stack] = []
    with frames_of_threads() as latest:
        del latest[threading.get_ident()]
        for ident in sorted(latest, key=lambda ident: ranks.get(ident, len(ranks))):
            lines = list(islice(lines_above(latest.pop(ident)), min(MAX_DEEP, left)))
            left -= len(lines)
            stacks.append(Stack(known.get(ident), lines, ident))
    is_here = threading.current_thread() is main
    return [Stack(main, [], main.ident), *stacks] if is_here else stacks


def lines_above(frame: FrameType | None) -> Iterator[Line]:
    """Yield the line of a frame, and those of what called it."""
    while frame is not None:
        yield frame.f_code, frame.f_lineno or 0
        frame = frame.f_back


def task_stacks() -> list[Stack]:
    """Return where each task of any loop stands that is not done, by name."""
    stacks = [Stack(name, lines_of(inner), inner) for name, inner in waiting_tasks()]
    return sorted(stacks, key=lambda stack: (len(stack.named), stack.named))


def find_cell(places: Places, stacks: Iterable[Stack]) -> Cell | None:
    """Return the cell that runs on a thread, or that awaits; None where none runs."""
    running = CELLS.current
    if not CELLS.is_busy():
        return None
    found = [cell for stack in stacks if (cell := _cell_in(places, stack)) is not None]
    if running is None:  # it began before repl_pair was attached
        return next(iter(found), None)
    same = [cell for cell in found if cell.label == running.label]
    return next(iter((*same, *found)), Cell(""))._replace(label=running.label)


def _cell_in(places: Places, stack: Stack) -> Cell | None:
    """Return the outermost cell of a stack: a cell may run others."""
    for at in reversed(range(len(stack.lines))):
        if str.__eq__(stack.lines[at][0].co_name, "<module>"):
            place = places.of(stack.lines[at])
            if place.is_cell:
                return Cell(place.where, stack, at)
    return None


def _name_of(stack: Stack) -> str:
    if not is_of(stack.named, threading.Thread):
        return text_of(stack.named)
    fields = stored_fields(stack.named)
    return text_of(fields.get("_name") if keys_are(str, fields) else None)


def _groups(places: Places, stacks: Iterable[Stack]) -> tuple[list[_Group], tuple[int, int]]:
    """Return the groups that are shown, the person's first; how many are machinery, and more."""
    together: dict[Any, list[Stack]] = {}
    for stack in stacks:
        key = tuple((id(function), line) for function, line in stack.lines)
        together.setdefault(key, []).append(stack)
    groups, machinery, unread = list[_Group](), 0, 0
    for same in together.values():
        group = _Group(_name_of(same[0]), len(same), list(map(places.of, same[0].lines)))
        if not group.places:
            unread += group.size
        elif is_machinery(group.places):
            machinery += group.size
        else:
            groups.append(group)
    groups.sort(key=lambda group: not any(place.is_own for place in group.places))
    more = unread + sum(group.size for group in groups[MAX_SHOWN:])
    return groups[:MAX_SHOWN], (machinery, more)


def _shown(group: _Group, most: int, slot: str, *, code: bool) -> dict[str, Any]:
    kept, left_out = shown_places(group.places, most)
    more = {"count": group.size if group.size > 1 else 0, "left_out": left_out}
    found: dict[str, Any] = {"name": group.name, slot: _frames(kept, code=code)}
    return found | {name: count for name, count in more.items() if count}


def _shown_cell(places: Places, cell: Cell, *, code: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"label": cell.label}
    if cell.stack is not None:
        answer["line"] = cell.stack.lines[cell.at][1]
    if CELLS.current is not None:
        answer["seconds"] = round(CELLS.current.seconds, 1)
    if cell.stack is not None and type(cell.stack.of) is not int:
        inner = list(map(places.of, cell.stack.lines[: cell.at]))
        answer["awaits"] = _frames(shown_places(inner, MAX_AWAITED)[0], code=code)
    return answer


def _frames(places: Iterable[Place], *, code: bool) -> list[dict[str, Any]]:
    return [describe_place(place, code=code and place.is_own) for place in places]
