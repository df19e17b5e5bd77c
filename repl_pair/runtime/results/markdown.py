"""Markdown in which texts are escaped: cells, prose and code, each without known secrets."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from repl_pair.runtime.secrets.cleaning import valid_json
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.invisible import escape_invisible

_IN_CELLS = str.maketrans({"\\": "\\\\", "|": "\\|", "`": "\\`", "&": "&amp;", "<": "&lt;"})
_ITEMS = re.compile(r"\s*(?:(?:[-+*]|\d{1,9}[.)])\s+)*")
_BUILDS_A_BLOCK = re.compile(r"#|>|\||`{3}|~{3}|[-=|:\s]+$|[-*_](\s*[-*_])+\s*$")
"""What ends the paragraph, at the begin of a line or of a list's item."""


class Markdown(str):
    """Text that a notebook shows as Markdown; everywhere else it is the text."""

    def _repr_markdown_(self) -> str:
        return valid_json(str(self))

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(escape_invisible(self))


def cell(text: str) -> str:
    """Return a text as the one cell of a table that it is, on one line."""
    line = " ".join(NEEDLES.scrub(text)[0].split())
    return line.translate(_IN_CELLS).replace("![", "!\\[")


def code(text: str) -> str:
    """Return a text as code that may stand in a cell; as plain text where code cannot hold it."""
    clean = NEEDLES.scrub(text)[0]
    plain = bool(clean.strip()) and clean.isprintable() and not set("`|") & set(clean)
    return f"`{clean}`" if plain else cell(clean)


def fenced(text: str) -> str:
    """Return a text as a block of Python code, which nothing in it ends."""
    clean = NEEDLES.scrub(escape_invisible(text))[0].rstrip("\n")
    longest = max(map(len, re.findall("`+", clean)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}python\n{clean}\n{fence}"


def prose(text: str) -> str:
    """Return a text of several lines that stays what it is: no heading, table, fence or HTML."""
    return "\n".join(_line(line) for line in NEEDLES.scrub(text)[0].splitlines()).strip("\n")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown cells, without empty columns; no rows, no table."""
    given = list(rows)
    kept = [i for i in range(len(head)) if not i or any(row[i] for row in given)]
    lines = [[head[i] for i in kept], ["---"] * len(kept), *([r[i] for i in kept] for r in given)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if given else ""


def section(title: str, *blocks: Any) -> str:
    """Return a heading over its blocks; nothing where all of them are empty."""
    full = [str(block) for block in blocks if block]
    return "\n\n".join([f"## {title}", *full]) if full else ""


def _line(line: str) -> str:
    shown = line.rstrip().replace("<", "&lt;").replace("![", "!\\[")
    items = _ITEMS.match(shown)
    head = items[0] if items else ""
    bare = shown[len(head) :]
    return f"{head}\\{bare}" if bare and _BUILDS_A_BLOCK.match(bare) else shown
