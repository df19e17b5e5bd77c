"""Which fixtures of pytest's there are, as pytest lists them, and which variants name others."""

import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import click

from repl_pair.errors import did_you_mean
from repl_pair.runtime.authoring.agent_loaders import held_data
from repl_pair.runtime.authoring.fixtures import fixtures_in
from repl_pair.runtime.linting.faults import Fault, entries_of, fault_of
from repl_pair.runtime.registry.origin import file_of

_LISTED = re.compile(r"^(\w+)(?: \[\w+ scope\])? -- ", re.MULTILINE)
LISTING_S = 120


def fixture_faults() -> Iterator[Fault]:
    """Report fixtures that pytest does not know; nothing where pytest is not installed."""
    named = [(entry, fixtures_in(held_data(entry))) for entry in entries_of("story", "variant")]
    used = [(entry, names) for entry, names in named if names]
    files = {file for entry, _ in used if (file := file_of(entry.origin)) is not None}
    if not files or find_spec("pytest") is None or not (known := _list_fixtures(files)):
        return
    for entry, names in used:
        for name in sorted(set(names) - {*known, "request"}):
            what = f"there is no fixture {name!r}.{did_you_mean(name, known)}"
            remedy = "Name one that `pytest --fixtures` lists, or define it."
            yield fault_of(entry, "unknown-fixture", what, remedy)


def _list_fixtures(files: Iterable[str]) -> Collection[str]:
    words = ("pytest", "--fixtures", "-v", "-q", "-p", "no:cacheprovider", *sorted(files))
    listed = subprocess.run(
        [sys.executable, "-m", *words],
        capture_output=True,
        text=True,
        timeout=LISTING_S,
        stdin=subprocess.DEVNULL,
        check=False,
        cwd=Path.cwd(),
    )
    found = set(_LISTED.findall(listed.stdout))
    if not found:
        click.echo(f"fixtures were not checked: {listed.stdout}{listed.stderr}", err=True)
    return found
