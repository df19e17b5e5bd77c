"""A folder with stories, and pytest run in it as its person runs it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bad_paths import obey_permissions
from lean_pytest import lean

from repl_pair.runtime.snapshots.store import SnapshotStore


def outside_ci():
    """Return the environment without what makes pytest's summary have longer lines."""
    return {name: value for name, value in os.environ.items() if name != "CI"}


@dataclass
class Ran:
    """One run: its exit code and what it printed."""

    code: int
    out: str


@dataclass
class Stories:
    """A folder that pytest runs in."""

    path: Path

    def write(self, name, text):
        (self.path / name).write_text(text, encoding="utf-8")

    def pytest(self, *args, **environment):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *lean(args), "-p", "no:cacheprovider", "-q", *args],
            cwd=self.path,
            capture_output=True,
            text=True,
            timeout=100,
            env={**outside_ci(), "PWD": str(self.path), **environment},
            check=False,
            preexec_fn=obey_permissions,
        )
        return Ran(done.returncode, done.stdout + done.stderr)

    def command(self, *args, **environment):
        """Run a command of repl-pair in the folder."""
        done = subprocess.run(
            [sys.executable, "-m", "repl_pair", *args],
            cwd=self.path, capture_output=True, text=True, timeout=100, check=False,
            env={**os.environ, **environment}, preexec_fn=obey_permissions,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout + done.stderr)

    def stored(self):
        """Name the stored outputs, a label each."""
        folders = self.path.rglob("__repl_pair__/*")
        stores = [SnapshotStore(folder) for folder in folders if folder.is_dir()]
        return sorted(key.label for store in stores for key in store.listed())


def new_stories(path):
    (path / "pyproject.toml").write_text("", encoding="utf-8")
    return Stories(path)
