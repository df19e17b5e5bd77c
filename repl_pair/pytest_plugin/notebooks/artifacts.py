"""Notebooks as files: read, stored, and kept with images of a run where that is asked for."""

import os
import shutil
from base64 import b64decode
from pathlib import Path
from typing import Any

import nbformat
import pytest

from repl_pair.pytest_plugin.snapshots import TOLERANCE
from repl_pair.runtime.snapshots.forms import compare_images


def artifacts_folder(config: pytest.Config) -> Path | None:
    """Return the folder of `--pair-artifacts`, None where it is not given."""
    folder: str | None = config.option.pair_artifacts
    return None if folder is None else config.invocation_params.dir / folder


def artifact_of(item: pytest.Item | pytest.Collector) -> Path | None:
    """Return where a notebook is kept as it was executed; None where none is."""
    folder, path, root = artifacts_folder(item.config), item.path, item.config.rootpath
    below = path.relative_to(root) if path.is_relative_to(root) else path.name
    return None if folder is None else folder / below


def differing_images(item: pytest.Item, cell: str, mime: str, stored: str, now: str) -> str:
    """Return how an image of a cell differs from the stored one, or nothing; keep both then.

    They are alike with equal bytes, or equal pixels but for as many as the ini file allows.
    """
    wanted, found = b64decode(stored), b64decode(now)
    differs = compare_images(wanted, found, tolerance=float(item.config.getini(TOLERANCE)))
    if differs is None:
        return ""
    lines, suffix = [differs.words], mime.rpartition("/")[2]
    place = artifact_of(item)
    for kind, image in {"expected": wanted, "actual": found, "diff": differs.diff}.items():
        if image and place is not None:
            name = f"{cell}-{kind}.{'png' if kind == 'diff' else suffix}"
            kept = place.with_suffix("") / name
            _write(kept, image)
            lines.append(str(kept))
    return "\n".join(lines)


def read_notebook(path: Path) -> Any:
    """Read a notebook."""
    return _NBFORMAT.read(path, as_version=4)


def write_notebook(path: Path, notebook: Any) -> None:
    """Write a notebook whole or not at all."""
    _write(path, (_NBFORMAT.writes(notebook) + "\n").encode())


def _write(path: Path, content: bytes) -> None:
    path = path.resolve()  # a link stays one
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_bytes(content)
    if path.exists():
        shutil.copymode(path, new)
    os.replace(new, path)


_NBFORMAT: Any = nbformat
