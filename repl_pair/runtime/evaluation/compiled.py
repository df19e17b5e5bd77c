"""Code that was sent, compiled: its statements, and its last expression by itself."""

import ast
import inspect
import re
from collections.abc import Iterator
from types import CodeType
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.evaluation.sources import lines_of
from repl_pair.runtime.reading.code_lines import LONGEST_CODE
from repl_pair.runtime.values.marks import is_secret_key

NO_CODE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)
"""What compiling raises: a text may hold a null character, or nest too deeply."""
_REMEDIES = {
    r"(.*=)?\s*!": "a command is subprocess.run([...], capture_output=True, text=True).stdout",
    r"(.*=)?\s*%": "a magic is get_ipython().run_line_magic(name, line)",
    r"\?|.*\?$": "help is help(name)",
}
"""What stands for what IPython alone reads, by how its lines look."""


@record
class Compiled:
    """`body` has no value; `value` is the last expression, None where it ends with no such."""

    filename: str
    body: CodeType
    value: CodeType | None
    is_secret: bool
    """Whether the last expression is a path with a secret name in it, such as `user.password`."""

    @property
    def parts(self) -> list[CodeType]:
        """Return what is run, in its order."""
        return [self.body] if self.value is None else [self.body, self.value]


def compile_source(source: str, filename: str) -> Compiled:
    """Compile plain Python, in which `await` may stand at the top; raises one of NO_CODE."""
    tree = ast.parse(source, filename)
    last = tree.body[-1] if tree.body else None
    value = None
    if isinstance(last, ast.Expr):
        tree.body.pop()
        value = ast.Expression(last.value)
    return Compiled(
        filename=filename,
        body=_compile(tree, filename, "exec"),
        value=None if value is None else _compile(value, filename, "eval"),
        is_secret=value is not None and any(map(is_secret_key, _path_words(value.body))),
    )


def is_coroutine(code: CodeType) -> bool:
    """Return whether running this code gives something to be awaited."""
    return bool(code.co_flags & inspect.CO_COROUTINE)


def describe_no_code(error: BaseException, source: str) -> dict[str, Any]:
    """Return why a source is no code: its line, a caret below the place, and what to do."""
    found: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if not isinstance(error, SyntaxError):
        return found
    found["message"] = error.msg
    if error.lineno is None:
        return found
    lines = lines_of(source)
    line = lines[error.lineno - 1].rstrip() if error.lineno <= len(lines) else ""
    at = max((error.offset or 1) - 1, 0)
    until = (error.end_offset or 0) - 1 if error.end_lineno == error.lineno else len(line)
    # Of a long line what is around the place.
    start = max(0, min(at - LONGEST_CODE // 2, len(line) - LONGEST_CODE))
    code = line[start : start + LONGEST_CODE]
    width = max(1, min(until, start + LONGEST_CODE) - at)
    found |= {"line": error.lineno, "column": at + 1, "code": code}
    before = line[start:at].ljust(at - start)
    found["caret"] = re.sub(r"[^\t]", " ", before) + "^" * width
    for look, remedy in _REMEDIES.items():
        if re.match(look, line.strip()):
            return found | {"remedy": f"Plain Python only: {remedy}."}
    return found


def _compile(tree: Any, filename: str, mode: str) -> CodeType:
    return compile(tree, filename, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def _path_words(node: ast.expr) -> Iterator[str]:
    """Yield the names and keys of an expression that only steps into a value; else nothing."""
    words: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            words.append(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            words.append(str(node.slice.value))
        else:
            return
        node = node.value
    yield from (*words, node.id)
