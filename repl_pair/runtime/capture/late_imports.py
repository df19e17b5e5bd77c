"""Modules that are imported for the first time in a run."""

import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from repl_pair.runtime.capture.captured import Captured


def watch_late(names: frozenset[str], loaded: Callable[[str], None], captured: Captured) -> None:
    """Until the run ends, call `loaded` with each module of `names` that is imported.

    At the end `sys.meta_path` is replaced by a new list: a thread that iterates over the old one
    skips none.
    """
    if not names:
        return
    hook = _ImportHook(names, loaded)

    def unhook() -> None:
        with _lock:
            before = sys.meta_path
            sys.meta_path = [finder for finder in before if finder is not hook]
            # What another thread has added to the list before meanwhile.
            sys.meta_path += [one for one in before if one not in (hook, *sys.meta_path)]

    captured.at_end.append(unhook)
    sys.meta_path.insert(0, hook)


_lock = threading.RLock()


class _ImportHook:
    """A meta path finder that finds nothing; calls `loaded` once one of its modules is imported."""

    def __init__(self, names: frozenset[str], loaded: Callable[[str], None]) -> None:
        self._names, self._loaded = names, loaded

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> Any:
        """Return what the finders behind it find; its loader is wrapped to report the module."""
        if name not in self._names:
            return None
        finders = sys.meta_path
        others = finders[finders.index(self) + 1 :] if self in finders else []
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        loader: Any = None if spec is None else spec.loader
        # A loader that is a class serves other modules too.
        if loader is None or isinstance(loader, type):
            return spec
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            loader.__dict__.pop("exec_module", None)  # another hook may have removed it
            load(module)
            self._loaded(name)

        loader.exec_module = exec_module
        return spec
