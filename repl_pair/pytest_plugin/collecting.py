"""A file with stories as pytest collects it: its test functions and its variants."""

import glob
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from repl_pair.errors import ReplPairError
from repl_pair.pytest_plugin.async_fixtures import AsyncFixtureHooks
from repl_pair.pytest_plugin.choices import choices_of
from repl_pair.pytest_plugin.failing import scrub_shown
from repl_pair.pytest_plugin.files import project_of
from repl_pair.pytest_plugin.items import items_of
from repl_pair.pytest_plugin.replaced import note_entries
from repl_pair.pytest_plugin.selecting import note_collected
from repl_pair.pytest_plugin.snapshot_use import note_left_out
from repl_pair.pytest_plugin.snapshots import note_file
from repl_pair.runtime.loading.imported_files import files_behind
from repl_pair.runtime.loading.load import DuplicateIds, load_file
from repl_pair.runtime.loading.modules import put_on_path
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import file_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.raised import knowing


def collector_of(parent: pytest.Collector, path: Path) -> "StoriesFile":
    """Return the collector of a file; its assertions are rewritten as those of tests are."""
    plugins = parent.config.pluginmanager
    if not plugins.has_plugin(_ASYNC_FIXTURES):
        plugins.register(AsyncFixtureHooks(), _ASYNC_FIXTURES)
    exact = glob.escape(str(path))
    if exact not in parent.config.getini("python_files"):
        parent.config.addinivalue_line("python_files", exact)
    kind: Any = StoriesFile
    return kind.from_parent(parent, path=path)


class StoriesFile(pytest.Module):
    """A module whose import registers variants."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Return the test functions of the file, then its variants as they were registered."""
        try:
            return self._collect()
        except BaseException:  # it does not load, or is skipped as a whole
            note_left_out(self.config)
            raise

    def _collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        before = REGISTRY.revision
        module: str = self.obj.__name__
        note_entries(self.config, before)
        functions = list(super().collect())
        try:
            self._refuse_doubled()
            choices = list(choices_of(self._own(module, before), self.config))
        except ReplPairError as error:
            raise self.CollectError(error.message) from error
        items = list(items_of(self, choices))
        note_collected(self, choices, [item.name for item in (*functions, *items)])
        note_file(self, choices, items)
        return [*functions, *items]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """Return what pytest shows of a file that does not load, its secrets hidden."""
        with knowing(excinfo.value):
            return scrub_shown(super().repr_failure(excinfo))

    def _getobj(self) -> ModuleType:
        """Load the file as the commands and a kernel do; pytest asks for it once."""
        project = project_of(self.config)
        for folder in (project.base, project.root):
            put_on_path(folder, project.import_mode)
        try:
            module = load_file(self.path, project, set())
        except ReplPairError as error:
            raise self.CollectError(error.message) from error
        except SyntaxError as error:
            info: Any = pytest.ExceptionInfo
            raise self.CollectError(info.from_exception(error).getrepr(style="short")) from error
        self.config.pluginmanager.consider_module(module)
        return module

    def _refuse_doubled(self) -> None:
        """Refuse an id that this file, or what it takes in, shares with what was loaded before.

        A file that others import under a second name is one, of which pytest warns.
        """
        doubled = [(pair, [file_of(entry.origin) for entry in pair]) for pair in REGISTRY.doubled()]
        helpers = {str(path) for path in self._helpers()} if doubled else set[str]()
        if pairs := [
            (first, last)
            for (first, last), files in doubled
            if not helpers.isdisjoint(files)
            and (files[0] != files[1] or first.origin.key == last.origin.key)
        ]:
            raise DuplicateIds(pairs)

    def _own(self, module: str, before: int) -> Sequence[Entry]:
        """Return the variants that are the file's: its own, and what helpers registered for it."""
        owners = self.config.stash.setdefault(_OWNERS, {})
        variants = REGISTRY.snapshot("variant").values()
        # What was imported before, by a test or conftest.py, registered its variants then.
        is_any_left = any(e.revision <= before and e.id not in owners for e in variants)
        helpers = set(self._helpers()) if is_any_left else ()
        own = [
            entry
            for entry in variants
            if entry.origin.key == f"module:{module}"
            or owners.get(entry.id) == self.path
            or (entry.revision > before and not self._is_others(entry))
            or (entry.id not in owners and self._is_of(entry, helpers))
        ]
        owners.update((entry.id, self.path) for entry in own)
        return sorted(own, key=lambda entry: entry.revision)

    def _helpers(self) -> Iterator[Path]:
        """Yield this file, each `conftest.py` that pytest loads for it, and what they import."""
        project = project_of(self.config)
        for file in (self.path, *project.conftests(self.path)):
            yield from (one.resolve() for one in files_behind(file, project.root))

    def _is_of(self, entry: Entry, helpers: Collection[Path]) -> bool:
        is_helpers = Path(file_of(entry.origin) or "").resolve() in helpers
        return is_helpers and not self._is_others(entry)

    def _is_others(self, entry: Entry) -> bool:
        """Return whether an entry comes from another file with stories, which this one imports."""
        file = file_of(entry.origin)
        return file is not None and project_of(self.config).holds(Path(file))


_ASYNC_FIXTURES = "repl_pair_async_fixtures"
_OWNERS = pytest.StashKey[dict[str, Path]]()
"""Which file each variant was collected from."""
