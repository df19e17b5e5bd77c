"""Which files of a project a module imports, and whether it imports this package."""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from repl_pair.runtime.values.classes import INSTALLED


def uses_package(file: Path, root: Path) -> bool:
    """Return whether a file imports repl_pair, by itself or through modules of the project.

    One that cannot be read may: its import says why it cannot.
    """
    try:
        return any(_IMPORT.search(one.read_bytes()) for one in files_behind(file, root))
    except OSError:
        return True


def files_behind(file: Path, root: Path) -> Iterator[Path]:
    """Yield a file and those of the project that it imports by statements, and they in turn."""
    waiting, seen = [file], set[Path]()
    while waiting:
        if (one := waiting.pop()) not in seen:
            seen.add(one)
            yield one
            waiting += _imported(one, root)


def _imported(file: Path, root: Path) -> Iterator[Path]:
    """Find the files of the project that a module imports by statements."""
    added = [Path(path) for path in sys.path if Path(path).is_relative_to(root)]
    own = [path for path in added if INSTALLED.isdisjoint(path.parts)]
    for name in _names_imported(file.read_bytes()):
        for base in {file.parent, file.parent.parent, root, *own}:
            path = base.joinpath(*name.split("."))
            yield from (
                one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()
            )


@lru_cache(512)
def _names_imported(text: bytes) -> Sequence[str]:
    names: set[str] = set()
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):  # it is reported where it is loaded
        nodes = []
        names = {name.decode() for name in _IMPORTED.findall(text)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            above = f"{node.module}." if node.module else ""
            names |= {above[:-1], *(f"{above}{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return sorted(names - {""})


_PACKAGE = __name__.partition(".")[0]
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+%b\b|import[ \t][^#\n]*\b%b\b)" % (2 * (_PACKAGE.encode(),)), re.M
)
_IMPORTED = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][\w.]*)", re.M)
