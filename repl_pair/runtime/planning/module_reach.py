"""Which files a variant rests on: those that its code hash follows, and those behind them."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.planning.targets import home_of, unwrap
from repl_pair.runtime.registry.model import components_in
from repl_pair.runtime.values.classes import is_of, module_of, real_class


def files_of(variant_id: str, root: Path) -> tuple[frozenset[Path], frozenset[Path]]:
    """Return a variant's own files below `root`, and those to which these lead by imports."""
    reached = plan_variant(variant_id).reached.values()
    own = {part.module for entry in reached if entry for part in components_in(entry.body)}
    found: set[str] = set()
    waiting = sorted(own)
    while waiting:
        module = sys.modules.get(waiting.pop())
        file = None if module is None else _file_of(module, root)
        if module is None or file is None:
            continue
        fresh = set(_named_in(module)) - found
        found |= fresh
        waiting.extend(fresh)
    return _files(own, root), _files(found - own, root)


def _files(names: Iterable[str], root: Path) -> frozenset[Path]:
    files = (_file_of(sys.modules[name], root) for name in names if name in sys.modules)
    return frozenset(file for file in files if file is not None)


def _named_in(module: ModuleType) -> Iterator[str]:
    """Return the modules that the names of a module lead to: those, and where values come from."""
    for value in list(vars(module).values()):
        if is_of(value, ModuleType):
            yield value.__name__
            continue
        yield module_of(real_class(value))
        if (target := unwrap(value)) is not None:
            yield home_of(target)


def _file_of(module: ModuleType, root: Path) -> Path | None:
    name = getattr(module, "__file__", None)
    if name is None or not Path(name).resolve().is_relative_to(root):
        return None
    return Path(name).resolve()
