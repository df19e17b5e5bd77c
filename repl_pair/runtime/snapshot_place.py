"""Where stored outputs lie: beside the file that registers the variant, else with the project."""

import importlib.util
import sys
from pathlib import Path

from repl_pair.runtime.origin import SENT
from repl_pair.runtime.registry import REGISTRY

BESIDE = "__snapshots__"
FOLDER = ".repl_pair/snapshots"


def folder_of(variant_id: str) -> Path:
    """Give the folder for a variant's stored outputs: the same in every process that has it.

    `__snapshots__/<stem>` beside the file of the module that registers it; of a notebook's or
    an agent's variant, `.repl_pair/snapshots` of the project that the process works in.
    """
    entry = REGISTRY.find("variant", variant_id)
    file = None if entry is None else _file_of(entry.origin.key.removeprefix(SENT))
    return project_folder() / FOLDER if file is None else folder_beside(file)


def folder_beside(file: Path) -> Path:
    """Give the folder for the stored outputs of a file with stories."""
    return file.parent / BESIDE / file.stem


def project_folder() -> Path:
    """Give the nearest folder upwards that is a project's, else the working directory."""
    here = Path.cwd()
    marks = (".repl_pair", "pyproject.toml", ".git")
    return next((d for d in (here, *here.parents) if any((d / m).exists() for m in marks)), here)


def _file_of(origin: str) -> Path | None:
    place, _, module = origin.partition(":")
    if place != "module" or module == "__main__":
        return None
    file = getattr(sys.modules.get(module), "__file__", None) or _spec_origin(module)
    return None if file is None else Path(file).resolve()


def _spec_origin(module: str) -> str | None:
    """Find the file of a module that this process was told of and has not imported."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return spec.origin if spec is not None and spec.has_location else None
