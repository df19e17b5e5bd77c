"""Source code as it may be shown: beside the names of secrets, without literals."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from math import inf
from unicodedata import normalize

from repl_pair.records import row
from repl_pair.runtime.reading.code_files import LONGEST_SOURCE, read_lines
from repl_pair.runtime.values.marks import NAME_SLOTS, is_secret_key, may_hold_secret_keys
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
    text = text if text.isascii() else normalize("NFKC", text)  # as the interpreter reads names
    if not may_hold_secret_keys(text):
        return _MARKED.search(text) is not None
    names = chain(_WORD.findall(text), _NAME.findall(text))
    return any(map(is_secret_key, names)) or _MARKED.search(text) is not None


def _may_name_secret(text: str) -> bool:
    return "Sensitive" in text or may_hold_secret_keys(
        text if text.isascii() else normalize("NFKC", text)
    )


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


def shown_block(lines: Sequence[str], first: int, count: int) -> "Shown":
    """Return lines of a file or cell as they may be shown in it, and the literals taken out there.

    A name of a secret may stand above them, in the function or class that they are inside.
    """
    whole = _shown_lines(tuple(lines))[first : first + count]
    pairs = list(zip(lines[first : first + count], whole, strict=False))
    changed = [line for line, shown in pairs if line.rstrip("\n") != shown]
    literals = [part["literal"] for line in changed for part in _PART.finditer(line)]
    text = "".join(f"{shown}\n" for _, shown in pairs)
    return Shown(text, tuple(_value_of(literal) for literal in literals if literal))


def shown_doc(text: str) -> str:
    """Return a doc; what a line of it that names a secret quotes or assigns is not shown.

    Nor what is quoted below such a line that ends with a sign of more.
    """
    if not _may_name_secret(text):
        return text
    shown, goes_on = list[str](), False
    for line in text.split("\n"):
        is_secret = goes_on or names_secret(line)
        goes_on = is_secret and line.rstrip().endswith(("=", "(", "\\"))
        hidden = _ASSIGNED.sub(_without_value, _QUOTED.sub(_HIDDEN, line)) if is_secret else line
        shown.append(hidden)
    return "\n".join(shown)


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

    That is what stands in their brackets, the rest of an expression over several lines, what is
    given with the name in one call, and the body of a function, class or match of such a name. Of
    commands of the shell and of magics, everything behind the name is taken out.
    """
    if not _may_name_secret(code):
        return Shown(code)
    return _hide(code) if len(code) <= _CACHED else _hide.__wrapped__(code)


@lru_cache(maxsize=2048)
def _hide(code: str) -> Shown:
    lines, shown, hidden = list(_lines(code)), list[str](), list[str]()
    brackets = list[tuple[int, bool]]()  # those open: their lines, whether each is of a call
    opened, is_continued, is_command, part_begins = None, False, False, 0
    is_option = False  # such as "--password", of which the value stands on the next line
    is_cell_magic, body = code.lstrip().startswith("%%"), inf
    for at, line in enumerate(lines):
        begins, before = part_begins == at and not brackets, len(brackets)
        is_command = _COMMAND.match(line) is not None if begins else is_command
        bare = (_PART.sub(_without_comment, line) if "#" in line else line).strip()
        indent = len(line) - len(line.lstrip()) if begins and bare else inf
        body = inf if indent <= body else body
        lowest = before
        for part in () if is_command else _PART.finditer(line):
            if part[0] in _OPENING:
                brackets.append((at, line[part.start() - 1 : part.start()].isidentifier()))
            elif part[0] in _CLOSING and brackets:
                brackets.pop()
                lowest = min(lowest, len(brackets))
        depth, is_named = len(brackets), names_secret(line)
        is_below = is_continued or body < inf or (opened is not None and before > opened)
        first = at
        if is_named and not is_below:
            first = part_begins
            given = _GIVEN.fullmatch(bare) if depth == before > 0 else None
            is_option = given is not None and given["text"].startswith("-")
            if given and (brackets[-1][1] or given["slot"]):  # the name of what stands beside it
                first, opened = min(first, brackets[-1][0] + 1), depth - 1
        shown.append(line)
        for n in range(first, at + 1) if is_named or is_below else ():
            if is_cell_magic or is_command:
                shown[n], taken = _hide_words(lines[n], is_below=is_below or n > part_begins)
            else:
                shown[n] = _NESTED.sub(_HIDDEN, _PART.sub(_hide_part, lines[n]))
                taken = [_value_of(p["literal"]) for p in _PART.finditer(lines[n]) if p["literal"]]
            hidden += taken
        body = indent if is_named and body == inf and _DEFINES.match(line) else body
        opened = lowest if opened is None and is_named and depth > lowest else opened
        opened = opened if opened is not None and depth > opened else None
        end = bare[-1:]
        is_within = depth > 0 and end not in (*",([{",)
        goes_on = is_within or end in ("\\", "=") or (is_cell_magic and _ends_with_name(bare))
        goes_on, is_option = goes_on or is_option, False
        is_continued = (is_named or is_below) and goes_on
        part_begins = part_begins if is_within or end == "\\" else at + 1
    return Shown("".join(shown), tuple(hidden))


def _without_comment(part: re.Match[str]) -> str:
    return "" if part["comment"] else part[0]


def _ends_with_name(text: str) -> bool:
    word = text.rpartition(" ")[2].rstrip(":")
    return word.replace("-", "_").isidentifier() and is_secret_key(word)


def _hide_words(line: str, *, is_below: bool) -> tuple[str, list[str]]:
    """Hide the words of a command behind the name of a secret, or behind the command itself."""
    names = [] if is_below else [word for word in _WORD.finditer(line) if is_secret_key(word[0])]
    end = names[0].end() if names else 0
    if not (end and _PLAIN_BEFORE.fullmatch(line, 0, end)):
        found = None if is_below else _BEGIN.match(line)
        end = found.end() if found else 0
    text = f"{line[:end]} {REDACTED}" + "\n" * line.endswith("\n")
    return text, re.split(r"[\s=:]+", line[end:])


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
_NAME = re.compile(r"(?<=['\"])[\w.-]+(?: [\w.-]+)?(?=['\"])|(?<!\w)\w+(?:-\w+)+")
"""Names that are no identifiers, as of headers, of settings and of columns."""
_MARKED = re.compile(r"\bSensitive\b")
_QUOTED = re.compile(r"(?<!\w)[bBfFrRuU]{0,2}(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?!\w)")
_ASSIGNED = re.compile(r"(?<!\w)(\w+)(\s*=\s*)([^\s'\"(\[]+)")
_PART = re.compile(
    r"(?P<literal>'''(?:[^\\]|\\.)*?(?:'''|\Z)|\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z)"
    r"|'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z)|\"(?:[^\"\\\n]|\\.)*(?:\"|(?=\n)|\Z)"
    r"|\b\d+(?:[ \t]*,[ \t]*\d+){3,}|\b0[xXoObB][\da-fA-F_]+\b|\b\d[\d_]{3,}\b)"
    r"|(?P<comment>#[^\n]*)|[\[\](){}\n]",
    re.DOTALL,
)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_DEFINES = re.compile(r"\s*(?:async\s+)?(?:def|class|match)\s")
_GIVEN = re.compile(
    rf"(?P<slot>['\"]?(?:{'|'.join(NAME_SLOTS)})['\"]?\s*[:=]\s*)?"
    r"[bBfFrRuU]{0,2}(['\"])(?P<text>[^'\"]+)\2,?"
)
"""A name alone on its line, as of an option, or as the name of what stands beside it."""
_COMMAND = re.compile(r"\s*+(?:(?:[^=\n#]*+=\s*+)?[!%]|[,;/])")
_BEGIN = re.compile(r"\s*+(?:[^=\n#]*+=\s*+)?[!%,;/]++[\w./]*")
_PLAIN_BEFORE = re.compile(r"\s*+(?:[^=\n#]*+=\s*+)?[!%,;/]*+[\w./]*(?:\s+-[\w-]*+)*[\s$'\"{-]*\w*")
"""What of a command is shown before the name: the command, and options without values."""
_NESTED = re.compile(rf"{re.escape(_HIDDEN)}\w[\w-]*{re.escape(_HIDDEN)}")
"""What a literal in a literal with the same quotes leaves between the two halves."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
