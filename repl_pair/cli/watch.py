"""The `watch` command: changed variants run again whenever a file of the project changes.

Each round is a process of its own, so that it imports what stands in the files then.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repl_pair.cli.answers import FAIL, PASS, report_refusal
from repl_pair.cli.callers import Caller, run_session
from repl_pair.cli.choosing import TAGS, VARIANTS, choose
from repl_pair.cli.expectations import judge_row, read_expectation
from repl_pair.cli.options import Choice
from repl_pair.cli.project_code import describe_error
from repl_pair.cli.run import RUN_S
from repl_pair.cli.tables import COLOURS, escape, format_cell
from repl_pair.cli.verdicts import FAILING
from repl_pair.errors import ReplPairError
from repl_pair.runtime.capture.capture import listen_to_runs
from repl_pair.runtime.loading.imported_files import files_behind
from repl_pair.runtime.loading.project import Project, read_project
from repl_pair.runtime.planning.module_reach import files_of
from repl_pair.runtime.registry.origin import file_of
from repl_pair.runtime.registry.outcomes import HASHES
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.wire import raise_for_error

if TYPE_CHECKING:
    from repl_pair.cli.changed_files import ChangedFiles


@click.command()
@VARIANTS
@TAGS
def watch(variants: tuple[str, ...], tags: str | None) -> None:
    """Run this project's variants, then again what drifted whenever a file changes; Ctrl-C ends it.

    What drifted is of another content or code, imports what changed, failed last or is new; where
    data changed, all. A line each: PASS, FAIL, or what `skip` and `xfail` make of it. Exit code: 0
    if none failed last, else 1.
    """
    from repl_pair.cli.changed_files import ChangedFiles, watch_folder  # 20 ms, not in a round

    with report_refusal(as_json=False, here=True):
        root = read_project(Path.cwd()).root
    asked: dict[str, Any] = {
        "words": variants,
        "tags": tags,
        "known": {},
        "changed": [],
        "began": 0,
    }
    asked["code"], files = PASS, ChangedFiles()
    stopped = threading.Event()

    def stop(*_: object) -> None:
        stopped.set()
        raise KeyboardInterrupt

    # Python drops what is raised while it frees an object; the event stays.
    signal.signal(signal.SIGINT, stop)
    changes = watch_folder(root, stopped)
    try:
        # The files are watched by the time of the first yield: no change is lost to a round.
        next(changes)
        _watch_round(asked, files)
        for changed in changes:
            if paths := files.choose(changed):
                asked["changed"] += paths
                _watch_round(asked, files)
            for path in sorted(files.taken):
                what = "the variants write it, so that it asks for no further round while they run"
                click.echo(f"{escape(os.path.relpath(path))}: {what}", err=True)
    except KeyboardInterrupt:
        click.echo("", err=True)
    sys.exit(asked["code"])


def _watch_round(asked: dict[str, Any], files: "ChangedFiles") -> None:
    """Run one round and print the results; leave in `asked` the exit code and what is next.

    The files that changed before a round that does not come to its end are asked for again. An
    interrupt may come as soon as the last line is printed.
    """
    files.begin()
    with subprocess.Popen(
        [sys.executable, "-c", ROUND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A file may change twice in a second, of which bytecode on disk would know nothing.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(asked))
        child.stdin.close()
        lines = list(_show(map(json.loads, child.stdout)))
    files.end()
    if child.returncode:
        if child.returncode < 0:
            name = signal.Signals(-child.returncode).name
            click.echo(f"the round was ended by {name}; watching", err=True)
        asked["code"] = FAIL
        return
    files.imported.update(lines.pop()["imported"])
    asked.update(known={line["id"]: line for line in lines}, changed=[], began=files.began)
    ran = sum(line["ran"] and line["status"] != "skip" for line in lines)
    failing = sum(line["status"] in FAILING for line in lines)
    asked["code"] = FAIL if failing else PASS
    click.echo(f"{ran} ran, {failing} of {len(lines)} failing; watching", err=True)


def run_round() -> None:
    """Read the last results on stdin, run what changed, and print a JSON line for each variant.

    One more has the files that the round imported.
    """
    asked: Any = json.load(sys.stdin)
    # What the project's code writes to stdout, be it at the end of the process, is no line.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    async def run_changed(caller: Caller) -> None:
        changed = {path.resolve(): _saved_at(path) for path in map(Path, asked["changed"])}
        late = {path for path, saved_at in changed.items() if saved_at >= asked["began"]}
        for id in await choose(caller, asked["words"], asked["tags"]):
            line = await _run_if_drifted(caller, id, asked["known"].get(id), changed.keys(), late)
            print(json.dumps(line), file=out, flush=True)
        modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        print(json.dumps({"imported": [file for file in modules if file]}), file=out, flush=True)

    try:
        run_session(Choice(here=True), run_changed)
    except ReplPairError as error:
        sys.exit(f"{error.code}: {error.message}")
    except KeyboardInterrupt:
        sys.exit(1)  # Ctrl-C goes to the round too, and the watcher reports it
    except Exception as error:  # noqa: BLE001  the files of the project are the person's code
        sys.exit(describe_error(error))


def _saved_at(path: Path) -> int:
    """Return when a file was saved, in ns; 0 where it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


async def _run_if_drifted(
    caller: Caller,
    id: str,
    before: Mapping[str, Any] | None,
    changed: Set[Path],
    late: Set[Path],
) -> Mapping[str, Any]:
    reply = await caller.call("snapshot_identity", {"variant_id": id})
    hashes = [reply["result"][n] for n in HASHES] if reply["ok"] else None
    expected = read_expectation(id)
    why = None if expected is None else f"{expected.kind}: {expected.reason}"
    line: dict[str, Any] = {"id": id, "hashes": hashes, "expected": why, "ran": True}
    last: Mapping[str, Any] = before or {"expected": "not known"}
    is_same = last["expected"] == why
    is_settled = is_same and last["hashes"] == hashes and last["status"] not in FAILING
    if expected is not None and not expected.runs:
        return {**line, "ran": not is_same, "status": expected.kind, "reason": expected.reason}
    if is_settled and not _depends_on_changed(id, changed, late):
        return {**last, "ran": False}
    with listen_to_runs() as listener:
        verdict = raise_for_error(
            await caller.call("run_variant", {"variant_id": id, "timeout_s": RUN_S})
        )
    row = {name: verdict.get(name, "") for name in ("status", "reason")}
    return {**line, **judge_row(expected, row, listener.raised_by(id, ()))}


def _depends_on_changed(id: str, changed: Set[Path], late: Set[Path]) -> bool:
    """Return whether a file changed that the hashes do not follow: data, or what is imported.

    A constant that is imported from a module does not lead to it, its `import` does; a conftest.py
    is loaded first.

    Nor do they follow what was saved `late`, after the last round began: that one may have imported
    the file before, and hashed it after.
    """
    if any(path.suffix != ".py" for path in changed):
        return True
    project = _project()
    own, behind = files_of(id, project.root.resolve())
    entry = REGISTRY.find("variant", id)
    file = None if entry is None else file_of(entry.origin)
    first = () if file is None else project.conftests(Path(file))
    imported = {one for path in (*own, *first) for one in _imported_by(path)}
    return not (own.isdisjoint(late) and (behind | imported - own).isdisjoint(changed))


@cache
def _project() -> Project:
    return read_project(Path.cwd())  # once: each round is a process of its own


@cache
def _imported_by(file: Path) -> frozenset[Path]:
    return frozenset(one.resolve() for one in files_behind(file, _project().root))


def _show(lines: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        if line.get("ran"):
            status, reason = line["status"], line["reason"]
            word = click.style("FAIL" if status in FAILING else status.upper(), fg=COLOURS[status])
            why = f" - {format_cell(reason)}" if reason and status != "pass" else ""
            click.echo(f"{word} {line['id']}{why}")
        yield line


ROUND = f"from {run_round.__module__} import {run_round.__name__} as run; run()"
