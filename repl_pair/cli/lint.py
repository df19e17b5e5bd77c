"""Whether what a project registers fits together: the `lint` command."""

import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from warnings import catch_warnings

import click

from repl_pair.cli.answers import FAIL, PASS, answer, report_refusal
from repl_pair.cli.expectations import marks_of
from repl_pair.cli.project_code import describe_error, line_in, own_stdout
from repl_pair.cli.tables import escape
from repl_pair.errors import did_you_mean
from repl_pair.records import to_dict
from repl_pair.runtime.authoring.agent_data import held_data
from repl_pair.runtime.authoring.fixtures import fixtures_in
from repl_pair.runtime.linting.checks import find_faults
from repl_pair.runtime.linting.faults import Fault, entries_of, fault_of
from repl_pair.runtime.loading.load import DuplicateIds, UnfitPattern, load_stories, place_of
from repl_pair.runtime.loading.project import find_files, read_project
from repl_pair.runtime.loading.pytest_settings import read_settings
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import file_of
from repl_pair.wire import ok_reply


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the faults as one envelope.")
def lint(as_json: bool) -> None:
    """Find what does not fit together in this project's stories; no variant is run.

    Unknown names, dead extends, panels that nothing reaches, ids of two files, contracts, patterns
    that fit no file. A line each: file, line, code. Exit code: 0 for nothing found, 1 for
    something, 2 for no stories.
    """
    faults: list[Fault] = []
    with report_refusal(as_json=as_json), own_stdout(), redirect_stdout(sys.stderr):
        with catch_warnings(action="ignore", category=UnfitPattern):
            files = load_stories(on_error=lambda file, error: faults.extend(_describe(file, error)))
        faults += _pattern_faults()
    # What did not load leaves others without what it registers.
    if not any(fault.code == "does-not-load" for fault in faults):
        faults += [*find_faults(), *fixture_faults()]
    found = sorted(set(faults), key=lambda fault: (fault.file, fault.line, fault.code))
    reply = ok_reply({"items": [to_dict(fault) for fault in found], "total": len(found)})
    answer(reply, lambda _: _show(files, found), as_json=as_json)
    sys.exit(FAIL if found else PASS)


def _describe(file: Path, error: Exception) -> Iterator[Fault]:
    if isinstance(error, DuplicateIds):
        for first, again in error.pairs:
            yield Fault(
                code="duplicate-id",
                what=f"{again.kind} {again.id!r} is registered at {place_of(first)} too",
                remedy="Give one of the two another id.",
                file=file_of(again.origin) or str(file),
                line=again.origin.line,
            )
        return
    yield Fault(
        code="does-not-load",
        what=describe_error(error),
        remedy="Fix the file; the others were checked for this alone.",
        file=str(file),
        line=line_in(file, error),
    )


def _pattern_faults() -> Iterator[Fault]:
    project, settings = read_project(here := Path.cwd().resolve()), read_settings(here)
    file = project.named_in or settings.file or here
    for pattern, what in project.unfit(find_files(project)).items():
        lines = file.read_text(encoding="utf-8-sig").splitlines()
        line = next((n for n, text in enumerate(lines, 1) if pattern in text), 1)
        remedy = "Change it to what the files are called, or remove it."
        yield Fault(code="unfit-pattern", what=what, remedy=remedy, file=str(file), line=line)


def _show(files: Sequence[Path], found: Sequence[Fault]) -> None:
    for fault in found:
        path = Path(fault.file)
        here = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        click.echo(f"{here}:{fault.line}: {fault.code}: {escape(fault.what)}")
        click.echo(f"    {escape(fault.remedy)}")
    summary = f"{len(found)} found" if found else "nothing found"
    click.echo(f"{summary} in {len(files)} file{'s' * (len(files) != 1)}", err=True)


_LISTED = re.compile(r"^(\w+)(?: \[\w+ scope\])? -- (.*):\d+$", re.MULTILINE)
LISTING_S = 120


def fixture_faults() -> Iterator[Fault]:
    """Report fixtures that pytest does not know; nothing where pytest is not installed."""
    named = [(entry, fixtures_in(held_data(entry))) for entry in entries_of("story", "variant")]
    used = [(entry, names) for entry, names in named if names]
    files = {Path(file) for entry, _ in used if (file := file_of(entry.origin)) is not None}
    if not files or find_spec("pytest") is None:
        return
    listed, why = _list_fixtures(files)
    if why:
        yield Fault(
            code="unchecked-fixtures",
            what=f"pytest does not list the fixtures: {why}",
            remedy="Mend what `pytest --fixtures` reports; no fixture was checked.",
            file=str(min(files)),
            line=1,
        )
        return
    visible = {
        file: {name for name, at in listed if _is_visible(at, file, files)}
        for file in {Path(), *files}
    }
    given = [(file_of(entry.origin), _parametrized(entry)) for entry in entries_of("variant")]
    for entry, names in used:
        file = file_of(entry.origin)
        known = {"request", *visible[Path(file or "")]}.union(*(n for at, n in given if at == file))
        for name in sorted(set(names) - known):
            what = f"there is no fixture {name!r} for this file.{did_you_mean(name, known)}"
            remedy = "Name one that `pytest --fixtures` lists, or define it."
            yield fault_of(entry, "unknown-fixture", what, remedy)


def _parametrized(entry: Entry) -> set[str]:
    """Return the names that the `parametrize` marks of a variant and its module give."""
    lists: list[Any] = [
        args[0] if args else kwargs.get("argnames", ())
        for mark, args, kwargs in marks_of(entry)
        if mark == "parametrize"
    ]
    names = (one.split(",") if isinstance(one, str) else one for one in lists)
    return {str(name).strip() for some in names for name in some}


def _is_visible(at: Path, file: Path, files: Collection[Path]) -> bool:
    """Return whether a fixture that is defined `at` a file can be used in another one."""
    if at.name == "conftest.py":
        return file.is_relative_to(at.parent)
    return at == file or at not in files


def _list_fixtures(files: Collection[Path]) -> tuple[list[tuple[str, Path]], str]:
    """Return the names of the fixtures with the files that define them, or why there are none."""
    options = ("--fixtures", "-vv", "--color=no", "-p", "no:cacheprovider")
    try:
        listed = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *sorted(map(str, files))],
            capture_output=True,
            text=True,
            timeout=LISTING_S,
            stdin=subprocess.DEVNULL,
            check=False,
            cwd=Path.cwd(),
        )
    except subprocess.TimeoutExpired:
        return [], f"it did not end in {LISTING_S} s"
    found = [(name, Path(at).resolve()) for name, at in _LISTED.findall(listed.stdout)]
    return found, "" if found else (listed.stderr or listed.stdout).strip()[-400:] or "no output"
