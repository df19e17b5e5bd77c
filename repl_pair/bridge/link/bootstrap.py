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

    All at once, so that no finder remains.
    """
    if sys.version_info < OLDEST:
        here, oldest = (".".join(map(str, version)) for version in (sys.version_info[:3], OLDEST))
        raise RuntimeError(f"it is Python {here}, and {package} takes {oldest} or later")
    known = sys.modules.get(package)
    if getattr(getattr(known, "__loader__", None), "injected", False):
        return
    if package in sys.modules or importlib.util.find_spec(package) is not None:
        raise RuntimeError(f"{package} is there, and its import is blocked or broken")
    finder: Any = _Shipped(sources)
    sys.meta_path.append(finder)
    try:
        for name in sources:
            importlib.import_module(name)
    except BaseException:
        for name in sources:
            sys.modules.pop(name, None)
        raise
    finally:
        sys.meta_path.remove(finder)
