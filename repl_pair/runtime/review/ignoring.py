"""What git ignores among the pages of a project: each repository in it is asked for its own."""

import os
import posixpath
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath

from repl_pair.errors import RequestError
from repl_pair.runtime.project.git import run_git
from repl_pair.wire import PERSON

_LIST = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
_GIT_S = 5.0


def without_ignored(root: Path, principal: str, paths: Sequence[str]) -> Sequence[str]:
    """Return the paths of those pages that git ignores by no name that they have.

    RequestError `cannot_run` for an agent where git does not answer for a repository of theirs.
    """
    names = {path: names_of(root, path) for path in paths}
    ignored: set[str] = set()
    for folder in _repositories(root, {name for some in names.values() for name in some}):
        listed = run_git(root / folder, *_LIST, timeout_s=_GIT_S)
        if listed.why and principal != PERSON:
            what = "Which pages git ignores is not known, so no page is there for an agent"
            raise RequestError("cannot_run", f"{what}: {listed.why}")
        inside = (f"{folder}/{path}" for path in listed.out.split("\0") if path)
        ignored.update(folded(posixpath.normpath(path)) for path in inside)
    places = {
        path: {p for n in some for p in with_parents(folded(n))} for path, some in names.items()
    }
    return [path for path in paths if ignored.isdisjoint(places[path])]


def names_of(root: Path, path: str) -> Collection[str]:
    """Return the names that a page has in the project: its own, and where links lead."""
    real, top = (root / path).resolve(), root.resolve()
    return {path, real.relative_to(top).as_posix()} if real.is_relative_to(top) else {path}


def folded(path: str) -> str:
    """Return a path as it is compared: some systems write a letter and its accent apart."""
    return unicodedata.normalize("NFC", path.casefold())


def with_parents(path: str) -> Sequence[str]:
    """Return a path, the folders that it stands in, and `.`."""
    return [path, *map(str, PurePosixPath(path).parents)]


def _repositories(root: Path, paths: Collection[str]) -> Iterator[str]:
    """Return the folders to ask: `.` where the root is in a repository, and those nested in it."""
    top = root.resolve()
    if any(os.path.lexists(folder / ".git") for folder in (top, *top.parents)):
        yield "."
    folders = {folder for path in paths for folder in with_parents(path)[1:]} - {"."}
    yield from (folder for folder in sorted(folders) if os.path.lexists(top / folder / ".git"))
