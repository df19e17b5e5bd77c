"""Modules that a run is the first to load, and that share what runs must have apart."""

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


class Lookout:
    """A finder that finds nothing by itself; calls `arrived` when one of its modules is loaded.

    It comes and goes with a new `sys.meta_path`: a thread that goes through the old one skips none.
    """

    def __init__(self, names: frozenset[str], arrived: Callable[[str], None]) -> None:
        self._names = names
        self._arrived = arrived

    def put_in(self) -> None:
        """Be asked first for every module from now on."""
        sys.meta_path = [self, *sys.meta_path]

    def take_out(self) -> None:
        """Be asked no more."""
        sys.meta_path = [finder for finder in sys.meta_path if finder is not self]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> Any:
        """Give what the others find; see to it that we know when it is loaded."""
        if name not in self._names:
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, Lookout)]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        loader: Any = None if spec is None else spec.loader
        # A loader that is a class serves other modules too.
        if loader is not None and not isinstance(loader, type):
            self._watch(loader, name)
        return spec

    def _watch(self, loader: Any, name: str) -> None:
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            load(module)
            self._arrived(name)

        loader.exec_module = exec_module
