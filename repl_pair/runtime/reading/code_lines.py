"""Source code as it may be shown: beside the names of secrets, without literals."""

import re
from collections.abc import Iterator
from functools import lru_cache
from math import inf

from repl_pair.records import row
from repl_pair.runtime.reading.code_files import LONGEST_SOURCE, read_lines
from repl_pair.runtime.values.marks import is_secret_key, may_hold_secret_keys
from repl_pair.wire import REDACTED, cut_at_word

LONGEST_CODE = 200
"""How many characters of a line of code are kept."""
_CACHED = 20_000
"""Of a longer text it is not remembered what is shown."""
_HIDDEN = f'"{REDACTED}"'


def shown_code(line: str) -> str:
    """Return a line of code; beside a name of secrets its literals are none to be shown."""
    return cut_at_word(hide_literals(line).text, LONGEST_CODE)


def names_secret(text: str) -> bool:
    """Return whether a name of secrets stands in a text."""
    return may_hold_secret_keys(text) and any(map(is_secret_key, _WORD.findall(text)))


def shown_line(filename: str, number: int) -> str:
    """Return a line of a file or cell as it may be shown, empty where there is none.

    Nothing is put into `linecache`, and no loader of the person's is asked.
    """
    lines = _shown_lines(tuple(read_lines(filename, as_run=True)))
    return cut_at_word(lines[number - 1].strip(), LONGEST_CODE) if 0 < number <= len(lines) else ""


@lru_cache(maxsize=32)
def _shown_lines(lines: tuple[str, ...]) -> list[str]:
    source = "".join(lines)
    return (hide_literals(source).text if len(source) <= LONGEST_SOURCE else "").split("\n")


def shown_doc(text: str) -> str:
    """Return a doc; what a line of it that names a secret quotes or assigns is not shown."""
    if not may_hold_secret_keys(text):
        return text
    return "\n".join(
        _ASSIGNED.sub(_without_value, _QUOTED.sub(_HIDDEN, line)) if names_secret(line) else line
        for line in text.split("\n")
    )


def _without_value(found: re.Match[str]) -> str:
    name, sign, value = found.groups()
    return f"{name}{sign}{REDACTED if is_secret_key(name) else value}"


@row
class Shown:
    """A text as it may be shown, and the literals that were taken out of it."""

    text: str
    hidden: tuple[str, ...] = ()


def hide_literals(code: str) -> Shown:
    """Take the literals out of the lines that name a secret, and out of what these lines open.

    That is what stands in their brackets, and the body of a function or class of such a name. Of
    commands of the shell and of magics, everything behind the name is taken out.
    """
    if not may_hold_secret_keys(code):
        return Shown(code)
    return _hide(code) if len(code) <= _CACHED else _hide.__wrapped__(code)


@lru_cache(maxsize=2048)
def _hide(code: str) -> Shown:
    shown, hidden = list[str](), list[str]()
    depth, opened, is_continued, is_cell_magic = 0, None, False, code.startswith("%%")
    body: float = inf
    for line in _lines(code):
        before, parts = depth, list(_PART.finditer(line))
        indent = len(line) - len(line.lstrip()) if line.strip() and not before else inf
        body = inf if indent <= body else body
        for part in parts:
            depth = max(0, depth + (part[0] in _OPENING) - (part[0] in _CLOSING))
        is_named = names_secret(line)
        is_below = is_continued or body < inf or (opened is not None and before > opened)
        if not is_named and not is_below:
            shown.append(line)
        elif is_cell_magic or _COMMAND.match(line) or (is_continued and not _LITERAL.search(line)):
            names = [] if is_below else [w for w in _WORD.finditer(line) if is_secret_key(w[0])]
            end = names[0].end() if names else 0
            shown.append(f"{line[:end]} {REDACTED}" + "\n" * line.endswith("\n"))
            hidden += re.split(r"[\s=:]+", line[end:])
        else:
            shown.append(_PART.sub(_hide_part, line))
            hidden += [_value_of(part["literal"]) for part in parts if part["literal"]]
        body = indent if is_named and body == inf and _DEFINES.match(line) else body
        opened = before if opened is None and is_named and depth > before else opened
        opened = opened if opened is not None and depth > opened else None
        ends = _GOES_ON.search(line)
        is_continued = (is_named or is_below) and ends is not None and (ends[1] != ":" or depth > 0)
    return Shown("".join(shown), tuple(hidden))


def _lines(code: str) -> Iterator[str]:
    """Yield lines with their ends; a literal over several lines is in one."""
    start = 0
    for part in _PART.finditer(code):
        if part[0] == "\n":
            yield code[start : part.end()]
            start = part.end()
    yield code[start:]


def _hide_part(part: re.Match[str]) -> str:
    literal = part["literal"]
    if literal is None:
        return f"# {REDACTED}" if part["comment"] else part[0]
    return _HIDDEN + "\n" * literal.count("\n")  # the lines below keep their numbers


def _value_of(literal: str) -> str:
    """Return the text in a literal, whether or not it is closed."""
    text = literal.strip("'\"\n ")
    return _ESCAPED.sub(lambda part: {"n": "\n", "t": "\t"}.get(part[1], part[1]), text)


_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"(?<!\w)(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?!\w)")
_ASSIGNED = re.compile(r"(\w+)(\s*=\s*)([^\s'\"(\[]+)")
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*(?:'|$)|\"(?:[^\"\\]|\\.)*(?:\"|$)")
_PART = re.compile(
    r"(?P<literal>'''(?:[^\\]|\\.)*?(?:'''|\Z)|\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z)"
    r"|'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z)|\"(?:[^\"\\\n]|\\.)*(?:\"|(?=\n)|\Z)|\b\d[\d_]{3,}\b)|(?P<comment>#[^\n]*)|[\[\](){}\n]",
    re.DOTALL,
)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_DEFINES = re.compile(r"\s*(?:async\s+)?(?:def|class)\s")
_COMMAND = re.compile(r"\s*(?:[\w, ]+=\s*)?[!%]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_GOES_ON = re.compile(r"([=\\:])\s*$")
