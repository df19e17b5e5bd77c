"""The way of an exception, line by line, and what stood in the variables of its frames."""

import re
from traceback import walk_tb
from types import FrameType
from typing import Any, NotRequired, TypedDict, cast

from repl_pair.records import record
from repl_pair.runtime.inspection.places import Place, Places, describe_place
from repl_pair.runtime.ipython import kernel_shell
from repl_pair.runtime.reading.closed_values import is_closed
from repl_pair.runtime.reading.code_files import is_engine, shown_place
from repl_pair.runtime.reading.code_lines import shown_code, shown_line
from repl_pair.runtime.reading.exceptions import locals_of, read_syntax, traceback_of
from repl_pair.runtime.reading.table_views import outline
from repl_pair.runtime.values.classes import type_name

FIRST, LAST = 3, 9
"""How many rows of a long way are shown, at its begin and at its end."""
_MACHINERY = ("IPython/", "ipykernel/")
_WORD = re.compile(r"\w+")


class ShownLine(TypedDict, total=False):
    """A line of code; the last of `library_frames` that follow each other, where it is of one.

    `caret` stands below the place in the code of a syntax error.
    """

    function: str
    code: str
    caret: str
    library_frames: int


class FrameLine(ShownLine):
    """A line on the way of an error; numbers from 1 in a file or cell.

    `repeated` counts how often it follows itself, `skipped` the rows left out before it.
    """

    where: str
    line: int
    repeated: NotRequired[int]
    skipped: NotRequired[int]
    locals: NotRequired[dict[str, Any]]


@record
class Row:
    """A frame and its line; those of libraries that follow each other are one, the last."""

    frame: FrameType
    place: Place
    count: int = 1


def rows_of(error: BaseException) -> list[Row]:
    """Return the way of an exception, the deepest last, without what runs cells and variants."""
    places, rows = Places(), list[Row]()
    for frame, number in walk_tb(traceback_of(error)):
        place, last = places.of((frame.f_code, number or 0)), rows[-1] if rows else None
        if is_engine(place.file):
            continue
        is_same = last is not None and last.frame.f_code is frame.f_code and last.place == place
        is_more = last is not None and (is_same if place.is_own else not last.place.is_own)
        count = last.count + 1 if last is not None and is_more else 1
        rows[len(rows) - is_more :] = [Row(frame=frame, place=place, count=count)]
    is_led = len(rows) > 0 and rows[0].place.where.startswith(_MACHINERY)
    return rows[1:] if is_led and (len(rows) > 1 or read_syntax(error)) else rows


def own_rows(error: BaseException) -> list[Row]:
    """Return those of the person's code."""
    return [row for row in rows_of(error) if row.place.is_own]


def describe_traceback(error: BaseException, *, with_locals: bool) -> list[FrameLine]:
    """Return the way of an exception; of a long one its begin and its end."""
    rows = rows_of(error)
    skipped = len(rows) - FIRST - LAST
    shown = rows if skipped <= 1 else [*rows[:FIRST], *rows[-LAST:]]
    lines = list(map(describe_row, shown))
    if skipped > 1:
        lines[FIRST]["skipped"] = skipped
    for row, line in zip(shown, lines, strict=True):
        if with_locals and row.place.is_own and (held := visible_locals(row.frame)):
            line["locals"] = {name: _shown_local(value) for name, value in held.items()}
    return [*lines, *describe_syntax(error)]


def describe_row(row: Row) -> FrameLine:
    """Return one row of a way as an agent reads it."""
    found = describe_place(row.place, code=True)
    if not row.place.is_own:
        found["library_frames"] = row.count
    elif row.count > 1:
        found["repeated"] = row.count
    return cast("FrameLine", found)


def describe_syntax(error: BaseException) -> list[FrameLine]:
    """Return the line of a syntax error, a caret below its place; nothing of others."""
    read = read_syntax(error)
    filename, number, text, offset = map(read.get, ("filename", "lineno", "text", "offset"))
    if type(filename) is not str or type(number) is not int:
        return []
    found: FrameLine = {"where": shown_place(filename), "line": number}
    if type(text) is str:
        code = text.strip()
        # In its cell or file, an earlier line may name a secret.
        found["code"] = shown_line(filename, number) or shown_code(code)
        column = (offset if type(offset) is int else 0) - text.find(code) - 1
        if 0 <= column <= len(code) and found["code"] == code:
            found["caret"] = " " * column + "^"
    return [found]


def visible_locals(frame: FrameType) -> dict[str, Any]:
    """Return the variables of a function without those of private names; a cell has none."""
    held = locals_of(frame)
    return {n: held[n] for n in held if n.isidentifier() and n[:1] != "_"}


def names_used(error: BaseException) -> list[str]:
    """Return the names that the person's lines take from their namespace, the deepest first."""
    shell, names = kernel_shell(), list[str]()
    for row in reversed(own_rows(error)[-LAST:]):
        if shell is not None and row.frame.f_globals is shell.user_global_ns:
            words = _WORD.findall(shown_line(row.place.file, row.place.line))
            names += [word for word in words if word in row.frame.f_code.co_names]
    return list(dict.fromkeys(names))


def _shown_local(value: Any) -> Any:
    return f"<{type_name(value)}>" if is_closed(value) else outline(value)
