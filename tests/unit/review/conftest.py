"""A project in a folder of its own, with its database, and who asks."""

from pathlib import Path

import pytest

from repl_pair.runtime.project.database import Database
from repl_pair.wire import View

ME = View()
CLAUDE = View(principal="claude")
CODEX = View(principal="codex")

README = """# Shop

What it sells.

## Install

Run `pip install shop` in a *fresh* folder.

## Usage

Quote one item.

## Usage

Quote many items.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of a project with one page."""
    (tmp_path / "README.md").write_text(README)
    return tmp_path


@pytest.fixture
def database(project: Path):
    opened = Database(project)
    yield opened
    opened.close()
