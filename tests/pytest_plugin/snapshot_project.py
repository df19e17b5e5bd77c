"""A folder with stories, and pytest run in it as its person runs it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lean_pytest import lean


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
        )
        return Ran(done.returncode, done.stdout + done.stderr)

    def python(self, *args):
        """Run Python in the folder and give what it prints."""
        return subprocess.run(
            [sys.executable, *args], cwd=self.path, capture_output=True, text=True,
            timeout=100, check=True,
        ).stdout  # fmt: skip

    def stored(self, pattern="*.txt"):
        """Name the stored files, without the hashes in their names."""
        folder = self.path / "__snapshots__"
        return sorted(_without_hash(path.relative_to(folder)) for path in folder.rglob(pattern))


def new_stories(path):
    (path / "pyproject.toml").write_text("", encoding="utf-8")
    return Stories(path)


def _without_hash(path):
    stem, _, *rest = path.name.split(".")
    return (path.parent / ".".join([stem, *rest])).as_posix()
