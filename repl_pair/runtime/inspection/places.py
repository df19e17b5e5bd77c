"""Where a line of code stands: in a cell, in a file of the person's, or in a library."""

import os
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from repl_pair.runtime.reading.code_files import is_engine, library_path, shown_place
from repl_pair.runtime.reading.code_lines import shown_line
from repl_pair.runtime.values.classes import is_exactly

Line = tuple[CodeType, int]
"""A function and the line of its file at which it stands; nothing of the person's is kept by it."""
MACHINERY = frozenset(
    {"repl_pair", "ipykernel", "ipykernel_launcher.py", "IPython", "zmq", "debugpy", "xpython"}
)
"""The packages of a kernel's own threads and tasks."""
_STARTERS = ("threading.py", "<frozen ", "runpy.py", "debugpy/")


class Place(NamedTuple):
    """A line as it is shown; `file` is the name of its file as the code has it."""

    where: str
    line: int
    function: str
    is_own: bool
    is_cell: bool
    file: str


class Places:
    """The places of lines, each file looked at once; for one answer, as cells are run again."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, bool, bool]] = {}
        self._kernels = tuple(_kernel_folders())

    def of(self, line: Line) -> Place:
        """Return the place of a line; the names in it are exactly text."""
        function, number = line
        file = str.__str__(function.co_filename)
        known = self._files.get(file)
        if known is None:
            known = self._files[file] = self._look_at(file)
        where, is_own, is_cell = known
        return Place(where, number, str.__str__(function.co_qualname), is_own, is_cell, file)

    def _look_at(self, file: str) -> tuple[str, bool, bool]:
        for folder in self._kernels:
            if file.startswith(folder):
                return file[file.rfind(os.sep, 0, len(folder) - 1) + 1 :], False, False
        path = library_path(file)
        if path is not None:
            return path, False, False
        shown = shown_place(file)
        return shown, not is_engine(file), shown != file


def _kernel_folders() -> Iterator[str]:
    """Yield the folders of the kernel's packages, wherever they are installed."""
    for name in MACHINERY:
        module = sys.modules.get(name)
        file: Any = vars(module).get("__file__") if is_exactly(module, ModuleType) else None
        if is_exactly(file, str) and os.path.basename(file) == "__init__.py":
            yield os.path.dirname(file) + os.sep


def is_machinery(places: Sequence[Place]) -> bool:
    """Return whether a stack, its innermost place first, is of the kernel itself.

    It is where no code of the person's stands in it, and a package of the kernel has begun it.
    """
    wheres = [place.where for place in reversed(places)]
    begun_by = (where for where in wheres if not where.startswith(_STARTERS))
    # A debugger begins the person's threads too, and some that are only its own.
    debuggers = (where for where in wheres if where.startswith("debugpy/"))
    root = next(begun_by, next(debuggers, "")).partition("/")[0]
    return root in MACHINERY and not any(place.is_own for place in places)


def shown_places(places: Sequence[Place], most: int) -> tuple[list[Place], int]:
    """Return what is shown of a stack, its innermost place first, and how many are left out.

    The person's own lines, the innermost line, and of libraries what the person's code called.
    What has called the person's code first is left out uncounted. Of a deep stack both ends are
    shown.
    """
    own = [at for at, place in enumerate(places) if place.is_own]
    within = places[: own[-1] + 1] if own else [p for p in places if not _begins(p)]
    last = len(within) - 1
    kept = [
        place
        for at, place in enumerate(within)
        if place.is_own or at in (0, last) or within[at + 1].is_own
    ]
    if len(kept) > most:
        kept = [*kept[: most - most // 3], *kept[len(kept) - most // 3 :]]
    return kept, len(within) - len(kept)


def _begins(place: Place) -> bool:
    return place.where.startswith(_STARTERS) and place.function.startswith("Thread.")


def describe_place(place: Place, *, code: bool = False) -> dict[str, Any]:
    """Return a place as an agent reads it, with `code` also its line of source, if it is there."""
    found = {"where": place.where, "line": place.line, "function": place.function}
    source = shown_line(place.file, place.line) if code else ""
    return found | ({"code": source} if source else {})
