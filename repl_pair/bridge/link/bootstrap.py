"""Runs in a kernel whose Python lacks the package: loads modules that were shipped as text.

It runs before the package is there, perhaps in a Python that is too old for the rest.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import ExecutionLoader
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec

OLDEST = (3, 11)


class _Shipped(ExecutionLoader):
    """Finds and loads modules whose source is held in memory: `{name: [file, source]}`.

    `inspect` and tracebacks read the source from the loader of a module.
    """

    injected = True

    def __init__(self, sources: Mapping[str, Sequence[str]]) -> None:
        self.sources = sources

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name in self.sources else None

    def get_filename(self, fullname: str) -> str:
        return self.sources[fullname][0]

    def get_source(self, fullname: str) -> str:
        return self.sources[fullname][1]

    def is_package(self, fullname: str) -> bool:
        return self.sources[fullname][0].endswith("__init__.py")


def load(package: str, sources: Mapping[str, Sequence[str]]) -> None:
    """Load all modules of a shipped package; RuntimeError where that is not possible.

    All at once, so that no finder remains, unless this Python lacks what some of them import:
    then their own import shows what that is, where they are first needed.
    """
    if sys.version_info < OLDEST:
        here, oldest = (".".join(map(str, version)) for version in (sys.version_info[:3], OLDEST))
        raise RuntimeError(f"it is Python {here}, and {package} takes {oldest} or later")
    known = sys.modules.get(package)
    if getattr(getattr(known, "__loader__", None), "injected", False):
        return
    is_blocked = known is None and package in sys.modules
    spec = None if is_blocked else importlib.util.find_spec(package)
    # A folder without code, such as one that holds a checkout, has no origin.
    if is_blocked or (spec is not None and spec.origin is not None):
        raise RuntimeError(f"{package} is there, and its import is blocked or broken")
    sys.modules.pop(package, None)
    finder: Any = _Shipped(sources)
    sys.meta_path.insert(0, finder)  # before the one that finds such a folder
    try:
        loaded = [_load_module(name, package) for name in sources]
    except BaseException:
        for name in sources:
            sys.modules.pop(name, None)
        sys.meta_path.remove(finder)
        raise
    if all(loaded):
        sys.meta_path.remove(finder)


def _load_module(name: str, package: str) -> bool:
    """Import a shipped module; return whether this Python has all that it imports."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or package).partition(".")[0] == package:
            raise
        return False
    return True
