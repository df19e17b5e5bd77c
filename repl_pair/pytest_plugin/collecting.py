"""A file with stories as pytest collects it: its test functions and its variants."""

import glob
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from repl_pair.errors import ReplPairError
from repl_pair.pytest_plugin.choices import choices_of
from repl_pair.pytest_plugin.files import story_files
from repl_pair.pytest_plugin.items import items_of
from repl_pair.pytest_plugin.selecting import note_collected
from repl_pair.pytest_plugin.snapshots import note_file
from repl_pair.runtime.authoring.load import put_on_path
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY


def collector_of(parent: pytest.Collector, path: Path) -> "StoriesFile":
    """Return the collector of a file; its assertions are rewritten as those of tests are."""
    exact = glob.escape(str(path))
    if exact not in parent.config.getini("python_files"):
        parent.config.addinivalue_line("python_files", exact)
    kind: Any = StoriesFile
    return kind.from_parent(parent, path=path)


class StoriesFile(pytest.Module):
    """A module whose import registers variants."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Return the test functions of the file, then its variants as they were registered."""
        for folder in (story_files(self.config).root, self.path.parent):
            put_on_path(folder)
        before = REGISTRY.revision
        module: str = self.obj.__name__
        functions = list(super().collect())
        try:
            choices = list(choices_of(self._own(module, before), self.config))
        except ReplPairError as error:
            raise self.CollectError(error.message) from error
        items = list(items_of(self, choices))
        note_collected(self, choices, [item.name for item in (*functions, *items)])
        note_file(self, choices, items)
        return [*functions, *items]

    def _own(self, module: str, before: int) -> Sequence[Entry]:
        """Return the variants that are the file's: its own, and what helpers registered for it."""
        owners = self.config.stash.setdefault(_OWNERS, {})
        own = [
            entry
            for entry in REGISTRY.snapshot("variant").values()
            if entry.origin.key == f"module:{module}"
            or owners.get(entry.id) == self.path
            or (entry.revision > before and not self._is_others(entry))
        ]
        for entry in own:
            if owners.setdefault(entry.id, self.path) != self.path:
                raise self.CollectError(
                    f"The variant {entry.id!r} was registered by {owners[entry.id]} and is now "
                    f"replaced by {self.path}: give it another id."
                )
        return sorted(own, key=lambda entry: entry.revision)

    def _is_others(self, entry: Entry) -> bool:
        """Return whether an entry comes from another file with stories, which this one imports."""
        place, _, module = entry.origin.key.partition(":")
        file = getattr(sys.modules.get(module), "__file__", None)
        return place == "module" and file is not None and story_files(self.config).holds(Path(file))


_OWNERS = pytest.StashKey[dict[str, Path]]()
"""Which file each variant was collected from."""
