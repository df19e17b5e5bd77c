"""Which files hold stories: patterns and modules of the ini file, else of pyproject.toml."""

import importlib.util
import re
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import pytest

from repl_pair.errors import AuthoringError
from repl_pair.records import record

INI = "repl_pair_stories"


@record
class StoryFiles:
    """Where stories are: patterns of names and of paths below `root`, and files of modules."""

    root: Path
    patterns: Sequence[str]
    modules: frozenset[Path] = frozenset()

    def holds(self, path: Path) -> bool:
        """Return whether a file is one of them."""
        parts = path.relative_to(self.root).parts if path.is_relative_to(self.root) else None
        return path in self.modules or any(
            parts is not None and _fit(parts, pattern.split("/"))
            if "/" in pattern
            else fnmatch(path.name, pattern)
            for pattern in self.patterns
        )


def is_story_file(config: pytest.Config, path: Path) -> bool:
    """Return whether a file holds stories."""
    return path.suffix == ".py" and story_files(config).holds(path)


def story_files(config: pytest.Config) -> StoryFiles:
    """Return where stories are in this run; UsageError for what cannot be."""
    found = config.stash.get(_FILES, None)
    if found is None:
        found = config.stash[_FILES] = _read(config)
    return found


def chosen_modules(config: pytest.Config) -> Sequence[str]:
    """Return the files of modules that are collected where no argument names what is."""
    files = sorted(map(str, story_files(config).modules))
    return () if config.args_source is pytest.Config.ArgsSource.ARGS else files


def _read(config: pytest.Config) -> StoryFiles:
    words: Sequence[str] = config.getini(INI)
    if not words:
        from repl_pair.runtime.authoring.load import read_patterns  # reads TOML

        try:
            root, patterns = read_patterns(config.rootpath)
        except (AuthoringError, ValueError) as error:
            raise pytest.UsageError(str(error)) from error
        return StoryFiles(root=root, patterns=patterns)
    modules = [word for word in words if _MODULE.fullmatch(word) and not word.endswith(".py")]
    patterns = [word.removeprefix("./") for word in words if word not in modules]
    files = frozenset(_file_of(config.rootpath, module) for module in modules)
    return StoryFiles(root=config.rootpath, patterns=patterns, modules=files)


def _file_of(root: Path, module: str) -> Path:
    """Find a module's file as an import in the project's folder would."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        spec = None
    if spec is None or spec.origin is None:
        raise pytest.UsageError(f"{INI}: there is no module {module!r} to import from {root}.")
    return Path(spec.origin)


def _fit(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    first, *rest = patterns
    if first == "**":
        return any(_fit(parts[at:], rest) for at in range(len(parts) + 1))
    return bool(parts) and fnmatch(parts[0], first) and _fit(parts[1:], rest)


_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_FILES = pytest.StashKey[StoryFiles]()
