"""Links to the person's code: the cell or file, and the line in it."""

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from typing import TypedDict

from repl_pair.runtime.ipython import known_shells
from repl_pair.runtime.registry.model import Entry, Origin
from repl_pair.runtime.registry.origin import BUILTIN, file_of

_CELL = "cell:"


class SourceLink(TypedDict):
    """A place in the person's code; `cell` is the id of a cell, `number` its In number."""

    label: str
    text: str
    line: int
    cell: str | None
    number: int | None


def link_to(entry: Entry | None, line: int | None = None) -> SourceLink | None:
    """Return the place of a registration, or of a line in it; None for what ships or was sent."""
    if entry is None or entry.origin.key == BUILTIN or not entry.origin.line:
        return None
    origin = entry.origin
    at = origin.line if line is None else line
    file = file_of(origin)
    return {
        "label": f"{origin.label}:{at}",
        "text": f"{file or origin.label}:{at}",
        "line": at,
        "cell": origin.key.removeprefix(_CELL) if origin.key.startswith(_CELL) else None,
        "number": origin.run if isinstance(origin.run, int) else None,
    }


def line_of_step(origin: Origin, play: str, step: int) -> int | None:
    """Return the line of a step in the call of its variant; None for a play built elsewhere."""
    lists = [
        steps
        for call in _calls(_source_of(origin))
        if call.lineno <= origin.line <= (call.end_lineno or call.lineno)
        for steps in _steps_of(call, play)
    ]
    if not lists or step >= len(lists[-1].elts):
        return None
    before = lists[-1].elts[: step + 1]
    return None if any(isinstance(e, ast.Starred) for e in before) else before[-1].lineno


def _source_of(origin: Origin) -> str:
    file = file_of(origin)
    if file is not None:
        return "".join(linecache.getlines(file))
    number = origin.run
    for shell in known_shells() if isinstance(number, int) else ():
        typed: list[str] = shell.history_manager.input_hist_parsed
        if 0 <= number < len(typed):
            return typed[number]
    return ""


@lru_cache(maxsize=32)
def _calls(source: str) -> tuple[ast.Call, ...]:
    """Return the calls of a source from the outermost in; none where it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _steps_of(call: ast.Call, play: str) -> Iterator[ast.List | ast.Tuple]:
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg == "plays" and isinstance(value, ast.Dict):
            value = _value_of(value, play)
            value = _value_of(value, "steps") if isinstance(value, ast.Dict) else value
        elif keyword.arg != "play" or play:
            continue
        if isinstance(value, ast.List | ast.Tuple):
            yield value


def _value_of(mapping: ast.Dict, name: str) -> ast.expr | None:
    pairs = zip(mapping.keys, mapping.values, strict=True)
    return next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == name), None)
