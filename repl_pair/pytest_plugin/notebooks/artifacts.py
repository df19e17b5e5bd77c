"""Notebooks as files: read, stored, and kept with images of a run where that is asked for."""

import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

from repl_pair.records import record


@record
class Artifacts:
    """The place of one notebook's artifacts below `--pair-artifacts`, if that is given."""

    config: pytest.Config
    path: Path

    def keep_notebook(self, executed: Any) -> None:
        """Keep the executed notebook under its name."""
        if (place := self._place()) is not None:
            write_notebook(place, executed)

    def keep_image(self, name: str, image: bytes) -> str:
        """Keep an image; gives where it is, or nothing where none is kept."""
        place = self._place()
        if place is None:
            return ""
        kept = place.with_suffix("") / name
        _write(kept, image)
        return str(kept)

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
