"""Loads files with stories in the one way in which pytest, the commands and a kernel load them."""

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

from repl_pair.errors import AuthoringError, ReplPairError, RequestError
from repl_pair.runtime.loading.modules import execute, name_of, put_on_path
from repl_pair.runtime.loading.project import Project, find_files, read_project
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import MODULE, file_of
from repl_pair.runtime.registry.registry import REGISTRY


class SkippedFile(UserWarning):
    """A file with stories skipped itself, so that none of its variants is there."""


class UnfitPattern(UserWarning):
    """A pattern of the project's settings fits no file, so that what it was written for is lost."""


class NoStories(AuthoringError):
    """There is no file with stories in a project."""


class DuplicateIds(AuthoringError):
    """Files register the same id twice; `pairs` are the first and the last registration of each."""

    def __init__(self, pairs: Sequence[tuple[Entry, Entry]]) -> None:
        lines = [f"{again.kind} {again.id!r}: {_places(first, again)}." for first, again in pairs]
        what = "Registered twice, so that the first would be lost:"
        are_two = any(place_of(first) != place_of(again) for first, again in pairs)
        how = "Give one of them another id." if are_two else _ONE_NAME
        super().__init__("bad_id", "\n".join([what, *lines, how]))
        self.pairs = pairs


def _places(first: Entry, again: Entry) -> str:
    if place_of(first) != place_of(again):
        return f"{place_of(first)} and {place_of(again)}"
    names = (entry.origin.key.removeprefix(MODULE) for entry in (first, again))
    return f"{place_of(again)}, imported as {' and as '.join(names)}"


_ONE_NAME = (
    "Import the file by one name. With consider_namespace_packages, a file in a folder without "
    "__init__.py is named as an import from the root names it."
)


def load_stories(
    start: Path | None = None, *, on_error: Callable[[Path, Exception], None] | None = None
) -> Sequence[Path]:
    """Execute the story files below `start` and those that its project names; return the files.

    Before each its `conftest.py` files. Loading again executes again: what a file no longer
    registers is retired. What a file raises goes to `on_error`, and the next is loaded. A file that
    skips itself, by `pytest.skip` and its like, or that `collect_ignore` names, is not returned; a
    SkippedFile warning names the former, UnfitPattern a pattern that fits no file. A folder that
    cannot be read is `cannot_run`, to `on_error` too. NoStories `not_found` where there is no file.
    """
    project = read_project((start or Path.cwd()).resolve())
    for folder in reversed(project.import_paths):
        put_on_path(folder)
    for folder in (project.base, project.root):
        put_on_path(folder, project.import_mode)
    again = set(sys.modules)
    REGISTRY.begin_load()
    loaded: list[Path] = []
    unread: list[OSError] = []
    files = find_files(project, unread.append)
    for text in project.unfit(files).values():
        warnings.warn(text, UnfitPattern, stacklevel=2)
    for error in unread:
        _report_unread(error, on_error)
    for file in files:
        try:
            is_loaded = _load_with_conftests(file, project, again)
        except Exception as error:
            if on_error is None:
                raise
            on_error(file, error)
            is_loaded = True
        loaded += [file] if is_loaded else []
    if not (loaded or unread):
        where = ", ".join(os.path.relpath(folder, project.root) for folder in project.folders)
        raise NoStories(
            "not_found",
            f"No story file matches {', '.join(project.patterns)}"
            f"{'' if project.is_named else ' and uses repl_pair'}, in {where} of {project.root}. "
            "Name your files stories_*.py, or set stories = [...] under [tool.repl_pair] in "
            "pyproject.toml.",
        )
    return loaded


def _report_unread(error: OSError, on_error: Callable[[Path, Exception], None] | None) -> None:
    what = f"{error.filename} cannot be searched for stories: {error.strerror}."
    how = "Let it be read, or name it in norecursedirs of pytest's settings."
    refusal = RequestError("cannot_run", f"{what} {how}")
    if on_error is None:
        raise refusal from error
    on_error(Path(error.filename), refusal)


def load_file(file: Path, project: Project, again: set[str]) -> ModuleType:
    """Execute one file as its module, unless it was; those whose names are in `again` once more.

    DuplicateIds where it registers an id that it or another module has registered in this load.
    AuthoringError where it ends the process.
    """
    name = name_of(file, project)
    module = sys.modules.get(name)
    if module is not None and name not in again:
        return module
    again.discard(name)
    before = REGISTRY.revision
    with REGISTRY.loading(), _place_errors(file):
        module = execute(name, file, module, project)
    if doubled := [pair for pair in REGISTRY.doubled() if pair[1].revision > before]:
        raise DuplicateIds(doubled)
    return module


def _load_with_conftests(file: Path, project: Project, again: set[str]) -> bool:
    """Load a file; False where it is to be ignored or skips itself."""
    try:
        for conftest in project.conftests(file):
            module = load_file(conftest, project, again)
            if _is_ignored(file, module, conftest.parent):
                return False
        load_file(file, project, again)
    except BaseException as error:
        if not is_outcome(error, "Skipped"):
            raise
        warnings.warn(f"{file} skips itself: {error}", SkippedFile, stacklevel=3)
        return False
    return True


def _is_ignored(file: Path, conftest: ModuleType, folder: Path) -> bool:
    names: Sequence[Any] = getattr(conftest, "collect_ignore", None) or ()
    globs: Sequence[str] = getattr(conftest, "collect_ignore_glob", None) or ()
    below = [one for one in (file, *file.parents) if one.is_relative_to(folder)]
    return any(one in [folder / name for name in names] for one in below) or any(
        fnmatch(str(one), str(folder / glob)) for one in below for glob in globs
    )


@contextmanager
def _place_errors(file: Path) -> Generator[None]:
    """Give our errors their place in the file; what would end the process is one of them."""
    pid, leave = os.getpid(), os._exit  # pyright: ignore[reportPrivateUsage]  it has no other name
    is_loading = True

    def refuse(status: int) -> None:
        if is_loading and os.getpid() == pid:
            raise SystemExit(f"os._exit({status})")
        leave(status)

    os._exit = refuse
    try:
        yield
    except ReplPairError as error:
        error.message = f"{_raised_at(error, file)}: {error.message}"
        error.args = (error.message,)
        raise
    except BaseException as error:
        if not isinstance(error, SystemExit) and not is_outcome(error, "Exit"):
            raise
        raise AuthoringError(
            "bad_body",
            f"{_raised_at(error, file)}: the file ends the process where it is loaded, by "
            f"{error!r}. Put that below `if __name__ == '__main__':`.",
        ) from error
    finally:
        is_loading = False  # what the file has hooked over it, such as a run's own hook, stays
        if os._exit is refuse:
            os._exit = leave


def _raised_at(error: BaseException, file: Path) -> str:
    """Return the line of a file from which an error came."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    return f"{file}:{lines[-1] if lines else 1}"


def place_of(entry: Entry) -> str:
    """Return the file and line of a registration."""
    return f"{file_of(entry.origin) or entry.origin.label}:{entry.origin.line}"


def is_outcome(error: BaseException, name: str) -> bool:
    """Return whether an exception is one of pytest's, which a file may raise where that is.

    A skip is also that of unittest, as in pytest.
    """
    outcomes, unittest = sys.modules.get("_pytest.outcomes"), sys.modules.get("unittest.case")
    if name == "Skipped" and unittest is not None and isinstance(error, unittest.SkipTest):
        return True
    return outcomes is not None and isinstance(error, getattr(outcomes, name))
