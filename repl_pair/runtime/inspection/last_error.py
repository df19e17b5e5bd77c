"""Which error was the last that ended a cell, whenever agents came."""

import sys
from collections.abc import Iterator
from itertools import islice
from linecache import getlines
from traceback import walk_tb
from types import CodeType
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.inspection.history import kept_errors
from repl_pair.runtime.ipython import kernel_shell
from repl_pair.runtime.reading.exceptions import read_syntax, text_of, traceback_of
from repl_pair.runtime.values.classes import is_of, name_of, real_class

_NEAR = 20
"""How deep the frame of the cell may stand, below those of IPython."""


@record
class LastError:
    """An error that ended a cell; `text` as IPython kept it, `error` while it is there.

    `number` is 0 where it ended a script of `%run`, whose cell went on.
    """

    type: str
    number: int
    text: str | None = None
    error: BaseException | None = None


def find_last_error() -> LastError | None:
    """Return the last error that ended a cell, or a script, of this process; None without one.

    IPython keeps the text of each, and one exception, which may be of a display or a hook.
    """
    shell = kernel_shell()
    kept = kept_errors() if shell is not None else {}
    number = max(kept, default=0)
    kind, text = kept.get(number, ("", None))
    for error in () if shell is None else _candidates(shell):
        name, own, cell = name_of(real_class(error)), text_of(error), _cell_of(error, shell)
        if cell is None and _ended_script(error, shell):
            return LastError(type=name, number=0, error=error)
        if cell is None:
            continue
        if name == kind and (own in (None, text) or is_of(error, SyntaxError)):
            return LastError(type=name, number=number, text=text, error=error)
        if cell > number:
            return LastError(type=name, number=cell, error=error)
    return LastError(type=kind, number=number, text=text) if number else None


def _candidates(shell: Any) -> Iterator[Any]:
    """Yield what may be the last error, the surest first; none of what a front end ran silently."""
    result = getattr(shell, "last_execution_result", None)
    ended: Any = getattr(result, "error_in_exec", None)
    ended = getattr(result, "error_before_exec", None) if ended is None else ended
    latest: Any = getattr(sys, "last_value", None)
    if result is None or not getattr(result.info, "silent", False):
        yield from () if ended is None else (ended,)
    elif ended is latest:
        return
    if is_of(latest, BaseException):
        yield latest


def _cell_of(error: BaseException, shell: Any) -> int | None:
    """Return the number of the cell whose code an exception ended, None for any other."""
    numbers = getattr(shell.compile, "_filename_map", {})
    runner: Any = getattr(shell.run_cell_async, "__code__", None)
    code = list[CodeType]()
    for frame, _ in islice(walk_tb(traceback_of(error)), _NEAR):
        if frame.f_code is runner:  # raised by the text of the error, which IPython wrote there
            is_cell = frame.f_locals.get("store_history")
            return frame.f_locals.get("execution_count") if is_cell else None
        if frame.f_globals is shell.user_global_ns and frame.f_code.co_name == "<module>":
            code.append(frame.f_code)
    files = [str.__str__(one.co_filename) for one in code] or [read_syntax(error).get("filename")]
    known = (file for file in files if file in numbers and _is_of_cell(file, numbers[file], shell))
    return next((numbers[file] for file in known), None)


def _ended_script(error: BaseException, shell: Any) -> bool:
    """Return whether IPython took an exception from a script of `%run`, and showed it there."""
    first = next((frame.f_code for frame, _ in walk_tb(traceback_of(error))), None)
    runners = (getattr(shell, name, None) for name in ("safe_execfile", "safe_run_module"))
    return first is not None and any(first is getattr(one, "__code__", None) for one in runners)


def _is_of_cell(file: Any, number: int, shell: Any) -> bool:
    """Return whether a file has the code of the cell of its number, as far as history tells.

    Code that a cell runs by `get_ipython().run_cell` gets the number of the next cell, and so do
    cells of a front end that keeps no history, as nbval.
    """
    kept, lines = shell.history_manager.input_hist_parsed, getlines(file)
    if not lines or number >= len(kept) or len(kept) != shell.execution_count:
        return True
    return "".join(lines).rstrip("\n") == kept[number]
