"""Loads the files that hold stories, as `[tool.repl_pair] stories` in pyproject.toml names them."""

import importlib.util
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from repl_pair.errors import AuthoringError

DEFAULT_PATTERNS = ("stories_*.py",)


def load_stories(start: Path | None = None) -> list[Path]:
    """Execute every story file of the project around `start`; return the files, sorted.

    Loading again executes again: what a file no longer registers is retired. AuthoringError where
    a pattern is illegal or matches nothing.
    """
    files = find_files(start)
    for file in files:
        load_file(file)
    return files


def find_files(start: Path | None = None) -> list[Path]:
    """Return the story files of the project around `start`, and put it on the import path."""
    root, patterns = read_patterns(start or Path.cwd())
    files = sorted({file for pattern in patterns for file in root.glob(pattern)})
    if not files:
        raise AuthoringError(
            "not_found",
            f"No story file matches {', '.join(patterns)} in {root}. Name your files "
            "stories_*.py, or set stories = [...] under [tool.repl_pair] in pyproject.toml.",
        )
    put_on_path(root)
    return files


def read_patterns(start: Path) -> tuple[Path, Sequence[str]]:
    """Return the project's folder and patterns; `start` and the default without a project."""
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
            found: Any = table.get("repl_pair", {}).get("stories", list(DEFAULT_PATTERNS))
            patterns = cast("list[Any]", found if isinstance(found, list) else [])
            if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
                what = '[tool.repl_pair] stories is a list of patterns: ["stories_*.py"].'
                raise AuthoringError("bad_body", f"{file}: {what}")
            return folder, patterns
    return start, DEFAULT_PATTERNS


def load_file(file: Path) -> None:
    """Execute one file as the module of its stem; its folder is put on the import path."""
    put_on_path(file.parent)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None, file
    assert spec.loader is not None, file
    module = sys.modules.get(file.stem) or importlib.util.module_from_spec(spec)
    module.__spec__ = spec
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)


def put_on_path(folder: Path) -> None:
    """Put a folder first on the import path."""
    name = str(folder.resolve())
    if name not in sys.path:
        sys.path.insert(0, name)
