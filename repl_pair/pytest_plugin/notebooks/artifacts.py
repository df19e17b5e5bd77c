"""Notebooks as files: read, stored, and kept with images of a run where that is asked for."""

import os
import shutil
from base64 import b64decode
from pathlib import Path
from typing import Any

import nbformat
import pytest

from repl_pair.pytest_plugin.snapshots import TOLERANCE
from repl_pair.records import record
from repl_pair.runtime.snapshots.images import compare_images


@record
class Artifacts:
    """The place of one notebook's artifacts below `--pair-artifacts`, if that is given."""

    config: pytest.Config
    path: Path

    def keep_notebook(self, executed: Any) -> None:
        """Keep the executed notebook under its name."""
        if (place := self._place()) is not None:
            write_notebook(place, executed)

    def compare_images(self, cell: str, mime: str, stored: str, now: str) -> str:
        """Return how an image of a cell differs from the stored one, or nothing; keep both then.

        They are alike with equal bytes, or equal pixels but for as many as the ini file allows.
        """
        wanted, found = b64decode(stored), b64decode(now)
        tolerance = float(self.config.getini(TOLERANCE))
        differs = compare_images(wanted, found, tolerance=tolerance)
        if differs is None:
            return ""
        lines, suffix = [differs.words], mime.rpartition("/")[2]
        kept = {"expected": wanted, "actual": found, "diff": differs.diff}
        folder = self._place()
        for kind, image in kept.items():
            if image and folder is not None:
                name = f"{cell}-{kind}.{'png' if kind == 'diff' else suffix}"
                place = folder.with_suffix("") / name
                _write(place, image)
                lines.append(str(place))
        return "\n".join(lines)

    def _place(self) -> Path | None:
        folder = artifacts_folder(self.config)
        if folder is None:
            return None
        root = self.config.rootpath
        below = self.path.relative_to(root) if self.path.is_relative_to(root) else self.path.name
        return folder / below


def artifacts_folder(config: pytest.Config) -> Path | None:
    """Return the folder of `--pair-artifacts`, None where it is not given."""
    folder: str | None = config.option.pair_artifacts
    return None if folder is None else config.invocation_params.dir / folder


def read_notebook(path: Path) -> Any:
    """Read a notebook."""
    return _NBFORMAT.read(path, as_version=4)


def write_notebook(path: Path, notebook: Any) -> None:
    """Write a notebook whole or not at all."""
    _write(path, (_NBFORMAT.writes(notebook) + "\n").encode())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_bytes(content)
    if path.exists():
        shutil.copymode(path, new)
    os.replace(new, path)


_NBFORMAT: Any = nbformat
