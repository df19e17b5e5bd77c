"""The pytest plugin: variants of stories files are items beside the test functions.

Every pytest run loads this module where the package is installed. It imports the rest once there is
a file that may have stories, or an option or setting of this package.
"""

import re
import sys
from collections.abc import Generator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

import pytest

from repl_pair.pytest_plugin.options import INI, KEPT, OPTIONS, SNAPSHOTS, start_of


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line and of the ini file."""
    group = parser.getgroup("repl_pair", "variants of repl_pair")
    for flag, how in OPTIONS.items():
        group.addoption(flag, **how)
    for name, how in INI.items():
        parser.addini(name, **how)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Let an id be registered once from here on, also in a kernel that has registered it before."""
    if (module := sys.modules.get(_REGISTRY)) is not None:
        module.REGISTRY.begin_load()


def pytest_configure(config: pytest.Config) -> None:
    """Load the hooks where an option or a setting asks for them."""
    options = {flag.strip("-").replace("-", "_"): how for flag, how in OPTIONS.items()}
    if (
        any(
            config.getoption(n) not in (None, how.get("default", False))
            for n, how in options.items()
        )
        or any(config.getoption(name, False) for name in ("nbval", "nbval_lax"))
        or any(config.getini(name) != how["default"] for name, how in INI.items())
        or any(map(_names_stories, (config.invocation_params.dir, start_of(config))))
    ):
        _load_hooks(config)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect nothing of stored snapshots, and note where there are some."""
    if collection_path.name != SNAPSHOTS:
        return None
    _load_hooks(config).snapshot_use.note_folder(config, collection_path)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect files with stories, whatever they are called, in place of modules of tests."""
    found = yield
    has_name = file_path.name.startswith("stories_") and file_path.suffix == ".py"
    if not has_name and not parent.config.pluginmanager.has_plugin(_HOOKS):
        return found
    from repl_pair.pytest_plugin.files import project_of  # only who may have stories

    if file_path.suffix != ".py" or not project_of(parent.config).holds(file_path):
        return found
    _load_hooks(parent.config)
    from repl_pair.pytest_plugin.collecting import collector_of  # only who has stories

    others = (one for one in found if type(one) is not pytest.Module)
    return [*others, collector_of(parent, file_path)]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive what a worker of xdist kept, at its end."""
    if KEPT in getattr(node, "workeroutput", {}):
        _load_hooks(node.config).workers.receive_kept(node)


def _names_stories(start: Path) -> bool:
    """Return whether a pyproject.toml above may name stories: its TOML is read by the hooks."""
    files = [folder / "pyproject.toml" for folder in (start, *start.parents)]
    return any(_NAME.search(file.read_bytes()) for file in files if file.is_file())


def _load_hooks(config: pytest.Config) -> Any:
    if not config.pluginmanager.has_plugin(_HOOKS):
        sys.meta_path = [_AsWritten, *sys.meta_path]
        config.add_cleanup(lambda: sys.meta_path.remove(_AsWritten))
        from repl_pair.pytest_plugin import hooks  # most suites have none of this

        config.pluginmanager.register(hooks, _HOOKS)
    return config.pluginmanager.get_plugin(_HOOKS)


class _AsWritten(PathFinder):
    """Finds the modules of this package, so that pytest rewrites no asserts in them.

    It would do so for every plugin; where it can't store what it made, at each run, for seconds.
    """

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module of this package, None for any other."""
        of_package = fullname.startswith("repl_pair.")
        return super().find_spec(fullname, path, target) if of_package else None


_HOOKS = "repl_pair_hooks"
_NAME = re.compile(rb"repl[_-]?pair", re.IGNORECASE)
"""The name of the table of this package, also misspelt."""
_REGISTRY = "repl_pair.runtime.registry.registry"
