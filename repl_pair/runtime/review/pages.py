"""The pages of a project: its Markdown files and notebooks, and which of them are private."""

import os
import posixpath
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import product, zip_longest
from pathlib import Path, PurePosixPath

from repl_pair.errors import AuthoringError
from repl_pair.runtime.loading.own_settings import read_patterns
from repl_pair.runtime.loading.pytest_settings import NOT_ENTERED
from repl_pair.runtime.review.ignoring import folded, names_of, with_parents, without_ignored
from repl_pair.runtime.review.markdown import read_headings
from repl_pair.runtime.review.model import PageLine
from repl_pair.runtime.review.notebooks import read_cells
from repl_pair.runtime.review.targets import PAGES
from repl_pair.wire import PERSON, View

MAX_PAGES, MAX_FILES = 2_000, 50_000
"""How many pages are listed, and among how many files they are looked for."""
MAX_BYTES = 50_000_000
"""How large a page may be whose text is read."""
_MAX_BRACKETS = 8
_ENDS = tuple(end for ends in PAGES.values() for end in ends)
_TARGETS = tuple(f"{kind}:" for kind in PAGES)


def list_pages(root: Path, view: View, *, private: bool) -> Sequence[PageLine]:
    """Return the pages that a view sees in order of their paths, private ones where asked for."""
    return [
        {
            "title": read_title(root, path),
            "path": path,
            "access": "private" if is_private(root, path) else "public",
        }
        for path in page_paths(root, view.principal)
        if not is_private(root, path) or (private and sees_private(view))
    ]


def sees_private(view: View) -> bool:
    """Return whether a view sees private pages."""
    return view.principal == PERSON or "inspect" in view.access


def sees_page(root: Path, view: View, path: str) -> bool:
    """Return whether a view may see a page, whether it is there or not."""
    return sees_private(view) or not is_private(root, path)


def is_page(root: Path, path: str) -> bool:
    """Return whether a file is a page of the project, in which no link leads out of it."""
    file = root / path
    folders = PurePosixPath(path).parent.parts
    return (
        path.isprintable()
        and file.is_file()
        and file.resolve().is_relative_to(root.resolve())
        and all(_is_entered(root.joinpath(*folders[: n + 1])) for n in range(len(folders)))
    )


def finds_page(root: Path, principal: str, path: str) -> bool:
    """Return whether a file is a page for a principal: for agents, one that `page_paths` may list.

    What git ignores, and what stands behind a link to a folder, is for the person alone. Where git
    does not answer, RequestError `cannot_run` for an agent.
    """
    is_there = is_page(root, path)
    if principal == PERSON or not is_there:
        return is_there
    folder = PurePosixPath(path).parent
    is_own = (root / folder).resolve() == root.resolve() / folder
    return is_own and bool(without_ignored(root, principal, [path]))


def page_paths(root: Path, principal: str) -> Sequence[str]:
    """Return the sorted paths of the project's pages, without those that git ignores.

    Where git fails, the person is given all of them, an agent RequestError `cannot_run`.
    """
    return without_ignored(root, principal, sorted(_walk(root)))[:MAX_PAGES]


def is_private(root: Path, path: str) -> bool:
    """Return whether the project's settings make a page private, by any name that it has.

    AuthoringError `bad_body` where the setting is not valid: then nothing of a page is shown.
    """
    patterns = private_patterns(root)
    if not patterns:
        return False
    names = [folded(name) for name in names_of(root, path)]
    return any(_fits(name, pattern) for name in names for pattern in patterns)


def private_patterns(root: Path) -> Sequence[str]:
    """Return `[tool.repl_pair] private` of the project's pyproject.toml, as paths are compared."""
    file = root / "pyproject.toml"
    try:
        found = file.stat()
    except OSError:
        return ()
    if not stat.S_ISREG(found.st_mode):
        return ()
    return _read_private(file, (found.st_mtime_ns, found.st_size))


def read_title(root: Path, path: str) -> str:
    """Return the first heading of a page, else the name of its file."""
    try:
        found = (root / path).stat()
    except OSError:
        return PurePosixPath(path).name
    return _read_title(root / path, (found.st_mtime_ns, found.st_size))


def read_text(file: Path) -> str | None:
    """Return the text of a page; None where it cannot be read, or has over MAX_BYTES."""
    try:
        if file.stat().st_size > MAX_BYTES:
            return None
        return file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return None


@lru_cache(maxsize=64)
def _read_private(file: Path, _version: object) -> Sequence[str]:
    patterns = read_patterns(file, "private") or ()
    return [_read_pattern(file, at, pattern) for at, pattern in enumerate(patterns, 1)]


def _read_pattern(file: Path, at: int, pattern: str) -> str:
    """Return a pattern as the paths of pages are written; refuse one that could fit none."""
    root = f"{file.parent.as_posix()}/"
    path = posixpath.normpath(f"{pattern}/".removeprefix(root).lstrip("/"))
    path = "*" if path == "." else path  # of the project's folder itself
    is_beside = path.startswith(("~", "!", "../")) or path == ".."
    is_strange = not {"\\", "{", "}"}.isdisjoint(pattern) or pattern.strip() != pattern
    is_target = path.startswith(_TARGETS) or any(f"{end}#" in path for end in _ENDS)
    if not pattern or is_beside or is_strange or is_target:
        what = "folders are parted by /, and *, ?, [ ] and **/ stand for others: drafts/*.md."
        why = f"[tool.repl_pair] private: its pattern {at} fits no page. It is relative to"
        raise AuthoringError("bad_body", f"{file}: {why} this folder, {what}")
    return folded(path)


def _fits(path: str, pattern: str) -> bool:
    """Return whether a pattern is of a page, of a folder that it stands in, or of their names."""
    places = [*with_parents(path)][:-1]
    if "/" not in pattern:
        places += PurePosixPath(path).parts
    return any(fnmatchcase(place, glob) for place in places for glob in _globs_of(pattern))


@lru_cache(maxsize=256)
def _globs_of(pattern: str) -> Sequence[str]:
    """Return all that a pattern may mean: `a/**/b` is a folder below `a` too, `[a]` also a name."""
    first, *parts = pattern.split("[")
    ways = product(("[", "[[]"), repeat=min(len(parts), _MAX_BRACKETS))
    meant = [first + "".join(map("".join, zip_longest(way, parts, fillvalue="["))) for way in ways]
    return [glob for one in meant for glob in (one, one.replace("**/", ""))]


@lru_cache(maxsize=MAX_PAGES)
def _read_title(file: Path, _version: object) -> str:
    text = read_text(file) or ""
    if file.suffix == ".ipynb":
        text = "\n\n".join(cell.text for cell in read_cells(text) if cell.kind == "markdown")
    headings = read_headings(text)
    return next((heading.label for heading in headings if heading.label), file.name)


def _walk(root: Path) -> Iterator[str]:
    seen = 0
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if _is_entered(Path(folder, name))]
        seen += len(files)
        for name in files:
            if name.lower().endswith(_ENDS):
                path = Path(folder, name).relative_to(root).as_posix()
                if is_page(root, path):
                    yield path
        if seen > MAX_FILES:
            return


def _is_entered(folder: Path) -> bool:
    # What cannot be read is neither, and the walk passes it by.
    is_venv = os.path.isfile(folder / "pyvenv.cfg") or os.path.isdir(folder / "conda-meta")
    words = (*NOT_ENTERED, "__pycache__")
    return not is_venv and not any(fnmatchcase(folder.name, word) for word in words)
