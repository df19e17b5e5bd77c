"""Code as it is shown: the name of its cell, and no literals beside the name of a secret."""

import io
import re
import token
import tokenize
from collections.abc import Iterator
from math import inf

from repl_pair.runtime.ipython import interactive_shell
from repl_pair.runtime.values.marks import is_secret_key, may_hold_secret_keys
from repl_pair.wire import REDACTED, cut_at_word

LONGEST_LINE = 200
"""How many characters of a line of code are shown."""
_HIDDEN = f'"{REDACTED}"'
_WORD = re.compile(r"\w+")
_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_LITERAL = re.compile(rf"{_TEXT}|\b\d[\d_]{{3,}}\b")
_IN_BLOCK = re.compile(rf"'''.*?(?:'''|\Z)|\"\"\".*?(?:\"\"\"|\Z)|{_LITERAL.pattern}", re.DOTALL)
_QUOTED = re.compile(rf"(?<!\w)(?:{_TEXT})(?!\w)")
_STATED = re.compile(r"""(\w*(\"{3}|'{3}|"|'))(.*)\2""", re.DOTALL)
_ASSIGNED = re.compile(r"(\w+)(\s*=\s*)([^\s'\"(\[]+)")
_STARTS = frozenset({"FSTRING_START", "TSTRING_START"})
_ENDS = frozenset({"FSTRING_END", "TSTRING_END"})
_LAYOUT = frozenset({"NL", "INDENT", "DEDENT", "NEWLINE", "COMMENT", "ENDMARKER"})

Span = tuple[tuple[int, int], tuple[int, int], str]


def cell_of(filename: str) -> str | None:
    """Return the name of the cell that a file name stands for, `In[3]`; None for any other."""
    compiler = getattr(interactive_shell(), "compile", None)
    name = getattr(compiler, "format_code_name", None)
    found = None if name is None else name(filename)
    return None if found is None else str(found[1])


def show_line(line: str) -> str:
    """Return a line of code; beside a name of secrets its literals are none to be shown."""
    return cut_at_word(_LITERAL.sub(_HIDDEN, line) if _names_secret(line) else line, LONGEST_LINE)


def show_source(source: str) -> str:
    """Return whole statements without the literals of those that name a secret.

    In a function or class of such a name that is each statement. A comment that names one goes
    whole; of a text that is a statement, such as a doc, only what is quoted or assigned in a line
    that names one.
    """
    if not may_hold_secret_keys(source):
        return source
    try:
        spans = list(_hidden_spans(source))
    except (tokenize.TokenError, SyntaxError):  # a part of a source
        return _IN_BLOCK.sub(_HIDDEN, source) if _names_secret(source) else source
    lines = source.splitlines(keepends=True)
    for (top, left), (bottom, right), shown in reversed(spans):
        lines[top - 1 : bottom] = [lines[top - 1][:left] + shown + lines[bottom - 1][right:]]
    return "".join(lines)


def show_doc(text: str) -> str:
    """Return a doc; what a line of it that names a secret quotes or assigns is not shown."""
    if not may_hold_secret_keys(text):
        return text
    return "\n".join(
        _ASSIGNED.sub(_without_value, _QUOTED.sub(_HIDDEN, line)) if _names_secret(line) else line
        for line in text.split("\n")
    )


def _hidden_spans(source: str) -> Iterator[Span]:
    """Yield what is not to be shown, from where to where, with what stands there instead."""
    statement: list[tokenize.TokenInfo] = []
    inside: float = inf
    for one in tokenize.generate_tokens(io.StringIO(source).readline):
        statement.append(one)
        if one.type not in (token.NEWLINE, token.ENDMARKER):
            continue
        code = [part for part in statement if token.tok_name[part.type] not in _LAYOUT]
        comments = [part for part in statement if part.type == token.COMMENT]
        column = code[0].start[1] if code else inf
        inside = inf if column <= inside else inside
        is_secret = any(_names_secret(part.string) for part in code)
        hides = _names_secret if inside == inf else bool
        spans = [(c.start, c.end, f"# {REDACTED}") for c in comments if hides(c.string)]
        if inside < inf or is_secret:
            spans += _literals_of(code, is_doc=inside == inf)
        yield from sorted(spans)
        if is_secret and code[0].string in ("def", "class", "async") and column < inside:
            inside = column
        statement = []


def _literals_of(code: list[tokenize.TokenInfo], *, is_doc: bool) -> Iterator[Span]:
    if is_doc and all(one.type == token.STRING for one in code):
        yield from ((one.start, one.end, _STATED.sub(_as_doc, one.string)) for one in code)
        return
    start, depth = (0, 0), 0
    for one in code:
        name = token.tok_name[one.type]
        start = one.start if name in _STARTS and not depth else start
        depth += (name in _STARTS) - (name in _ENDS)
        is_long = name == "NUMBER" and _LITERAL.fullmatch(one.string)
        if not depth and (name == "STRING" or name in _ENDS or is_long):
            yield (start if name in _ENDS else one.start), one.end, _HIDDEN


def _names_secret(text: str) -> bool:
    return any(map(is_secret_key, _WORD.findall(text)))


def _as_doc(found: re.Match[str]) -> str:
    return f"{found[1]}{show_doc(found[3])}{found[2]}"


def _without_value(found: re.Match[str]) -> str:
    name, sign, value = found.groups()
    return f"{name}{sign}{REDACTED if is_secret_key(name) else value}"
