"""Where the stories of a project are: the settings of the project and of pytest, and the files."""

import errno
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from glob import escape, glob
from pathlib import Path
from typing import Any

from repl_pair.errors import AuthoringError
from repl_pair.records import record
from repl_pair.runtime.loading.imported_files import uses_package
from repl_pair.runtime.loading.own_settings import KEYS, read_patterns
from repl_pair.runtime.loading.pytest_settings import NOT_ENTERED, read_settings

INI = "repl_pair_stories"
"""The option of pytest's configuration that names modules and patterns of files."""
DEFAULT_PATTERNS = ("stories_*.py",)


@record
class Project:
    """Where stories are, and how their files are imported.

    `patterns` fit names, with a `/` paths below `base`; where the project names none, a file that
    fits must use repl_pair. `folders` are searched for names, `root` for paths. `is_whole`: the
    search begins in `base`.
    """

    root: Path
    base: Path
    patterns: Sequence[str] = DEFAULT_PATTERNS
    is_named: bool = False
    named_in: Path | None = None
    is_whole: bool = True
    modules: frozenset[Path] = frozenset()
    folders: Sequence[Path] = ()
    not_entered: Sequence[str] = NOT_ENTERED
    ignored: Sequence[str] = ()
    enters_venv: bool = False
    import_paths: Sequence[Path] = ()
    import_mode: str = "prepend"
    namespaces: bool = False

    def holds(self, file: Path) -> bool:
        """Return whether a file holds stories: it is named, or has the default name and uses us."""
        if file.suffix != ".py":
            return False
        is_fit = any(fnmatch(file.name, pattern) for pattern in self.patterns)
        return self.names(file) or (is_fit and (self.is_named or uses_package(file, self.root)))

    def conftests(self, file: Path) -> Iterator[Path]:
        """Yield each `conftest.py` of the folder of a file and above, the outermost first."""
        for folder in reversed(file.parents):
            conftest = folder / "conftest.py"
            if folder.is_relative_to(self.root) and conftest.is_file():
                yield conftest

    def names(self, file: Path) -> bool:
        """Return whether the project names a file by its module or path, wherever it is."""
        paths = (pattern for pattern in self.patterns if "/" in pattern)
        return file in self.modules or any(self._fits(file, pattern) for pattern in paths)

    def unfit(self, files: Sequence[Path]) -> Mapping[str, str]:
        """Return the patterns that none of its files fits, each with the sentence that reports it.

        A name may be without one where the search begins in a part of the project.
        """
        judged = [one for one in self.patterns if "/" in one or self.is_whole]
        named = judged if self.is_named else ()
        left = [one for one in named if not any(self._fits(file, one) for file in files)]
        where = self.named_in or INI
        return {one: f"{where}: the pattern {one!r} fits no file with stories." for one in left}

    def _fits(self, file: Path, pattern: str) -> bool:
        if "/" not in pattern:
            return fnmatch(file.name, pattern)
        is_below = file.is_relative_to(self.base)
        return is_below and _fit(file.relative_to(self.base).parts, pattern.split("/"))


def read_project(start: Path) -> Project:
    """Return the project around a folder; AuthoringError for a setting that is not valid.

    As pytest does, it searches `testpaths` where it starts in the project's folder, else `start`.
    """
    pytest = read_settings(start)
    words = pytest.testpaths if start == pytest.root else ()
    return make_project(
        pytest.root,
        pytest.stories,
        start,
        folders=[one for word in words for one in _find(start, word)] or [start],
        not_entered=pytest.not_entered,
        ignored=pytest.ignored,
        enters_venv=pytest.enters_venv,
        import_paths=[pytest.root / word for word in pytest.pythonpath],
        import_mode=pytest.import_mode,
        namespaces=pytest.namespaces,
    )


def _find(start: Path, word: str) -> Sequence[Path]:
    """Return what a word of `testpaths` names, as pytest finds it."""
    found = glob(os.path.join(escape(str(start)), word), recursive=True)
    return [Path(os.path.abspath(path)) for path in sorted(found)]


def make_project(root: Path, words: Sequence[str], start: Path, **how: Any) -> Project:
    """Return the project of these modules and patterns, else of those that a pyproject.toml names.

    That is the first one that does, from `start` upward.
    """
    file = None if words else _find_named(start)
    base = root if file is None else file.parent
    named = words if file is None else read_patterns(file, "stories") or ()
    modules = [word for word in named if _MODULE.fullmatch(word) and not word.endswith(".py")]
    patterns = [word.removeprefix("./") for word in named if word not in modules]
    return Project(
        root=root,
        base=base,
        patterns=patterns if named else DEFAULT_PATTERNS,
        is_named=bool(named),
        named_in=file,
        is_whole=start == base,
        modules=frozenset(_file_of(base, module) for module in modules),
        **how,
    )


def find_files(
    project: Project, on_error: Callable[[OSError], None] = lambda _: None
) -> Sequence[Path]:
    """Return the files with stories in the order in which pytest collects them.

    `on_error` gets what keeps a folder of `folders` from being read. A file that cannot be read is
    returned: its import fails.
    """
    found = {file: None for folder in project.folders for file in _walk(folder, project, on_error)}
    if any("/" in pattern for pattern in project.patterns):
        every = _walk(project.base, project, lambda _: None)
        found |= {file: None for file in every if project.names(file)}
    return [*found, *sorted(project.modules - found.keys())]


def _find_named(start: Path) -> Path | None:
    """Return the first pyproject.toml that names stories."""
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file() and (named := read_patterns(file, "stories")) is not None:
            if named:
                return file
            what = f"[tool.repl_pair] stories is a list of patterns: {KEYS['stories']}."
            raise AuthoringError("bad_body", f"{file}: {what}")
    return None


def _walk(folder: Path, project: Project, on_error: Callable[[OSError], None]) -> Iterator[Path]:
    if folder.is_file():
        yield from [folder] if project.holds(folder) else ()
        return
    seen: set[str] = set()

    def enter(folder: Path) -> Iterator[Path]:
        # A link may lead back to a folder above.
        if (real := os.path.realpath(folder)) in seen:
            return
        seen.add(real)
        for path, is_folder in _read_folder(folder, on_error):
            if any(fnmatch(str(path), str(project.root / word)) for word in project.ignored):
                continue
            if is_folder:
                yield from enter(path) if _is_entered(path, project) else ()
            elif project.holds(path):
                yield path

    yield from enter(folder)


def _read_folder(folder: Path, on_error: Callable[[OSError], None]) -> Iterator[tuple[Path, bool]]:
    """Yield the files and folders of a folder by name, and whether each is a folder.

    Links that lead nowhere and pipes are neither, as for pytest.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        on_error(error)
        return
    for entry in entries:
        try:
            if (is_folder := entry.is_dir()) or entry.is_file():
                yield Path(entry.path), is_folder
        except OSError as error:
            if error.errno != errno.ELOOP:
                on_error(error)


def _is_entered(folder: Path, project: Project) -> bool:
    if folder.name == "__pycache__" or any(_fits_name(folder, p) for p in project.not_entered):
        return False
    # Of a folder that cannot be read neither is there: it is reported where it is read.
    marks = (folder / "pyvenv.cfg", folder / "conda-meta/history")
    return project.enters_venv or not any(map(os.path.isfile, marks))


def _fits_name(path: Path, pattern: str) -> bool:
    """Compare as pytest does: a pattern with a `/` is one of the end of a path."""
    if "/" not in pattern:
        return fnmatch(path.name, pattern)
    return fnmatch(str(path), pattern if Path(pattern).is_absolute() else f"*/{pattern}")


def _fit(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    first, *rest = patterns
    if first == "**":
        return any(_fit(parts[at:], rest) for at in range(len(parts) + 1))
    return bool(parts) and fnmatch(parts[0], first) and _fit(parts[1:], rest)


def _file_of(base: Path, module: str) -> Path:
    """Find a module's file as an import in the project's folder would."""
    if str(base) not in sys.path:
        sys.path.insert(0, str(base))
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        spec = None
    if spec is None or spec.origin is None:
        what = f"there is no module {module!r} to import from {base}."
        raise AuthoringError("not_found", f"{INI}: {what}")
    return Path(spec.origin)


_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
