"""What IPython keeps of the person's cells: code as it was typed, outputs, and how each ended."""

import ast
import re
from collections.abc import Iterator
from traceback import walk_stack
from typing import Any, Literal, NotRequired, TypedDict

from repl_pair.runtime.capture.own_threads import frames_of_threads
from repl_pair.runtime.ipython import kernel_shell
from repl_pair.runtime.reading.bounded import cut_text
from repl_pair.runtime.reading.code_lines import hide_literals, names_secret
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.running.raised import bounded
from repl_pair.runtime.values.classes import is_exactly, is_of
from repl_pair.runtime.values.marks import may_hold_secret_keys
from repl_pair.wire import REDACTED

LONGEST = 1_000_000
"""How many characters of code or of an output are read."""
_LONGEST_ERROR = 200_000
_EMPTY_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_OF_IPYTHON = re.compile(r"^[!%].*", re.MULTILINE)
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_OF_PYDANTIC = re.compile(r" \[type=\w+, input_value=.*?, input_type=[^\]\n]*\]", re.DOTALL)
_WHERE_TO_READ = re.compile(r"\n    For further information visit https://errors\.pydantic\S*")


class CellOutput(TypedDict, total=False):
    """What a cell put out: one stream, or its last expression; `left_out` names other forms."""

    stdout: Any
    stderr: Any
    result: Any
    left_out: list[str]


class CellLine(TypedDict):
    """A cell of the person; `seconds` and the end of cells are known where an agent was there."""

    n: int
    cell: str
    code: str
    status: Literal["ok", "error", "running", "unknown"]
    seconds: NotRequired[float]
    outputs: NotRequired[list[CellOutput]]
    error: NotRequired[str]


def kept_codes() -> dict[int, str]:
    """Return the code of each cell of this process by its number, as it was typed.

    Empty lines before it are not counted in tracebacks, and left out.
    """
    shell: Any = kernel_shell()
    if _manager() is None:
        return {}
    raw = dict[int, Any](enumerate(list(_manager().input_hist_raw)))
    if len(raw) != shell.execution_count:  # a cell such as `quit(keep_kernel=True)` is not kept
        names = {n: f"_i{n}" for n in range(1, shell.execution_count)}
        raw = {n: shell.user_ns_hidden.get(name) for n, name in names.items()}
    codes = {n: code for n, code in raw.items() if is_exactly(code, str) and code}
    return {n: cut_text(_EMPTY_LINES.sub("", code), LONGEST) for n, code in codes.items()}


def kept_errors() -> dict[int, tuple[str, str]]:
    """Return the type and the text of the error that ended each cell, by its number.

    IPython made the text when the cell ended.
    """
    kept: dict[int, Any] = dict(getattr(_manager(), "exceptions", {}))
    return {n: (_plain(one["ename"]), _plain(one["evalue"])) for n, one in kept.items()}


def _plain(text: Any) -> str:
    return str.__str__(text) if is_of(text, str) else ""


def without_input(kind: str, text: str) -> str | None:
    """Return the text of an error without the heads and tails of its input that libraries quote.

    None where nothing else is in it.
    """
    if kind != "ValidationError":
        return text
    text = text[:_LONGEST_ERROR]
    if "\n\nOn instance" in text:  # of jsonschema
        return None
    return _WHERE_TO_READ.sub("", _OF_PYDANTIC.sub("", text))


def describe_cell(
    number: int, code: str, error: tuple[str, str] | None, *, is_newest: bool, outputs: bool
) -> CellLine:
    """Return a cell as an agent reads it; its code comes without secret literals."""
    line: Any = {"n": number, "cell": f"In[{number}]", "code": code}
    line |= _status_of(number, error is not None, is_newest)
    if outputs and (put_out := list(_kept_outputs(number, code))):
        line["outputs"] = put_out
    if error is not None:
        text = without_input(*error)
        line["error"] = f"{error[0]}: {bounded(text)}" if text else error[0]
    return line


def _status_of(number: int, has_failed: bool, is_newest: bool) -> dict[str, Any]:
    running, ended = CELLS.current, CELLS.ended.get(number)
    shell: Any = kernel_shell()
    if running is not None and running.number == number:
        return {"status": "running", "seconds": round(running.seconds, 3)}
    if ended is not None:
        is_ok = ended.succeeded and not has_failed
        return {"status": "ok" if is_ok else "error", "seconds": round(ended.seconds, 3)}
    if has_failed:
        return {"status": "error"}
    if is_newest and _is_on_a_stack(number, shell):
        return {"status": "running"}
    result = shell.last_execution_result  # also of what front ends run silently
    is_last = result is not None and result.execution_count == number
    if is_newest and CELLS.is_busy() and not is_last:
        return {"status": "unknown"}
    # Errors are kept as long as the name is, until a %reset.
    is_known = hasattr(_manager(), "exceptions") and f"_i{number}" in shell.user_ns_hidden
    return {"status": "ok" if is_known else "unknown"}


def _is_on_a_stack(number: int, shell: Any) -> bool:
    """Return whether a thread runs the code of a cell now."""
    numbers = getattr(shell.compile, "_filename_map", {})
    with frames_of_threads() as latest:
        return any(
            frame.f_globals is shell.user_global_ns
            and frame.f_code.co_name == "<module>"
            and numbers.get(frame.f_code.co_filename) == number
            for stack in latest.values()
            for frame, _ in walk_stack(stack)
        )


def _manager() -> Any:
    return getattr(kernel_shell(), "history_manager", None)


def _kept_outputs(number: int, code: str) -> Iterator[CellOutput]:
    for output in list(getattr(_manager(), "outputs", {}).get(number, ())):
        bundle: Any = output.bundle if is_exactly(output.bundle, dict) else {}
        parts: dict[str, Any] = {m: part for m, part in bundle.copy().items() if is_exactly(m, str)}
        if output.output_type in ("out_stream", "err_stream"):
            name = "stdout" if output.output_type == "out_stream" else "stderr"
            yield _cut(name, _joined(parts.get("stream", ())))
        elif output.output_type == "execute_result":
            yield _shown_result(parts, code)


def _shown_result(parts: dict[str, Any], code: str) -> CellOutput:
    text: Any = parts.get("text/plain")
    others = [mime for mime in parts if mime != "text/plain"]
    left_out = others if text is None else [mime for mime in others if mime.startswith("image/")]
    shown: CellOutput = {"left_out": left_out} if left_out else {}
    if type(text) is not str:
        return shown
    # The name may be that of a column, whose cells stand below it.
    is_secret = names_secret(_last_statement(code)) or names_secret(text[:LONGEST])
    return shown | ({"result": REDACTED} if is_secret else _cut("result", text))


def _last_statement(code: str) -> str:
    """Return the lines of the last statement of a cell; all where it is not plain Python."""
    lines = _OF_IPYTHON.sub(r"pass  # \g<0>", code).split("\n")
    try:
        return "\n".join(lines[ast.parse("\n".join(lines)).body[-1].lineno - 1 :])
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return code


def _joined(chunks: Any) -> str:
    kept, size = list[str](), 0
    for chunk in list(chunks):
        if size <= LONGEST and is_of(chunk, str):
            kept.append(chunk)
            size += str.__len__(chunk)
    return "".join(kept)


def _cut(name: Literal["stdout", "stderr", "result"], text: str) -> CellOutput:
    """Return an output without colours, and without what a progress bar wrote over."""
    left_out = [f"what follows {LONGEST:,} characters"] if len(text) > LONGEST else []
    text = _COLOURS.sub("", text[:LONGEST])
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if may_hold_secret_keys(text):  # it may quote code
        text = "".join(hide_literals(line).text for line in text.splitlines(keepends=True))
    shown: Any = {name: text}
    return shown | ({"left_out": left_out} if left_out else {})
