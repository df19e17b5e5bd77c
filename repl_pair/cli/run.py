"""The `run` command: chosen variants run one after the other, in a kernel or in this process."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from repl_pair.cli.answers import FAIL, NO_KERNEL, PASS, exit_code, print_json
from repl_pair.cli.callers import Caller, session_command
from repl_pair.cli.choosing import MODE, OVERRIDE, TAGS, VARIANTS, choose, how_to_run
from repl_pair.cli.expectations import judge_row, read_expectation
from repl_pair.cli.junit import write_junit
from repl_pair.cli.project_code import traceback_of
from repl_pair.cli.verdicts import FAILING, show_totals, show_verdicts
from repl_pair.errors import RequestError
from repl_pair.runtime.capture.capture import RunListener, listen_to_runs
from repl_pair.runtime.loading.load import place_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.snapshots.review import current_rules, rules_of
from repl_pair.wire import Args, Reply, error_reply, ok_reply


def _begin(_context: click.Context, _option: click.Parameter, junit: Path | None) -> Path | None:
    """Let no older report stand, whatever ends the process before a variant runs.

    The path is absolute from then on: stories may change the working directory.
    """
    junit = None if junit is None else junit.absolute()
    with suppress(OSError):
        _note_refusal(error_reply(_UNFINISHED), junit=junit)
    return junit


def _note_refusal(reply: Reply, *, junit: Path | None, **_given: Any) -> None:
    if junit is not None:
        write_junit(junit, (), {"repl-pair run": reply})


_UNFINISHED = RequestError("cannot_run", "It was not run to its end.")


@click.command()
@VARIANTS
@TAGS
@MODE
@click.option(
    "--modes",
    "combined",
    type=click.Choice(["all", "each"]),
    help="Run each in the modes that it declares: all combinations, or one at a time.",
)
@OVERRIDE
@click.option("--play", "plays", multiple=True, help="A play to run, not those that run alone.")
@click.option("--timeout", "timeout_s", type=float, help="Seconds that one run may take.")
@click.option("--wait", "wait_s", type=float, help="Seconds to wait for the running cell.")
@click.option("--update", is_flag=True, help="With --here, store snapshots as they come.")
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=_begin,
    help="Write the results as a JUnit file too.",
)
@session_command(_note_refusal)
async def run(
    caller: Caller,
    variants: tuple[str, ...],
    tags: str | None,
    combined: str | None,
    update: bool,
    junit: Path | None,
    **how: Any,
) -> int:
    """Run variants, by id, by pattern ('pricing.*') or by tags, and print why any failed.

    With --here alone, all of this project's. A word that names no variant refuses all of them
    before anything runs, and so do words and tags that choose none.
    """
    if not variants and tags is None and not caller.choice.here:
        raise RequestError(
            "bad_arguments",
            "Name variants, by id, pattern or --tags; `run --here` runs all of this project's.",
        )
    shared = how_to_run(**how)
    if combined is not None and shared:
        raise RequestError(
            "bad_arguments",
            "--modes runs each variant in the modes that it declares, with nothing else: leave out "
            "--mode, --override, --play, --timeout and --wait. Nothing was run.",
        )
    if update and not caller.choice.here:
        raise RequestError("bad_arguments", "--update stores what --here runs: give both.")
    ids = await choose(caller, variants, tags)
    with rules_of(replace(current_rules(), update="--update" if update else "")):
        return await run_all(caller, ids, shared, combined, junit)


WRITTEN_S = 2.0
"""How old a JUnit file becomes while variants run; it is what is left if one ends the process."""
MAX_MODES = 200
"""How many runs of one variant, in its modes, one command does."""
RUN_S, SWEEP_S = 30.0, 300.0
"""How long one run, and the runs of one variant in its modes, may take: an agent's take less."""


async def run_all(
    caller: Caller, ids: Sequence[str], shared: Args, combined: str | None, junit: Path | None
) -> int:
    """Run one after the other and print the results; a lost kernel ends it.

    Whatever ends it, the results so far are printed and written. Each is run with the `shared`
    arguments, or `combined` in the modes that it declares.
    """
    verdicts: list[Mapping[str, Any]] = []
    refused: dict[str, Reply] = {}
    left = dict.fromkeys(ids, error_reply(_UNFINISHED))
    codes = [PASS]
    written_at = -WRITTEN_S
    here = caller.choice.here
    try:
        for id in ids:
            expected = read_expectation(id) if here else None
            if expected is not None and not expected.runs:
                why = {"status": expected.kind, "reason": expected.reason}
                verdicts.append({**_NO_RUN, "variant_id": id, **why})
                del left[id]
                if caller.choice.as_json:
                    print_json(ok_reply(verdicts[-1]))
                continue
            if junit is not None and time.monotonic() - written_at >= WRITTEN_S:
                write_junit(junit, verdicts, refused | left)
                written_at = time.monotonic()
            with listen_to_runs() as listener:
                reply = await _run(caller, id, shared, combined)
            del left[id]
            if caller.choice.as_json:
                print_json(reply)
            if reply["ok"]:
                rows = [
                    judge_row(expected, row, listener.raised_by(id, row["modes"]))
                    for row in _verdicts(id, reply["result"], listener)
                ]
                codes.append(FAIL if any(row["status"] in FAILING for row in rows) else PASS)
                verdicts += rows
                continue
            codes.append(exit_code(reply))
            refused[id] = reply
            if codes[-1] == NO_KERNEL:
                break
    finally:
        if not caller.choice.as_json:
            show_verdicts(verdicts)
            for reply in refused.values():
                caller.print(reply, print)
            if len(ids) > 1:
                show_totals(verdicts, refused=len(refused), left=len(left))
        if junit is not None:
            write_junit(junit, verdicts, refused | left)
    return max(codes)


async def _run(caller: Caller, id: str, shared: Args, combined: str | None) -> Reply:
    if combined is None:
        return await caller.call(
            "run_variant", {"variant_id": id, "timeout_s": RUN_S, "detail": "full", **shared}
        )
    wanted = {"ids": [id], "matrix": combined, "limit": MAX_MODES, "timeout_s": SWEEP_S}
    wanted["detail"] = "full"
    reply = await caller.call("run_variants", wanted)
    if not reply["ok"] or "more" not in reply["result"]:
        return reply
    what = f"{id} has over {MAX_MODES} combinations of modes: run it with --modes each, or with "
    return error_reply(RequestError("bad_arguments", f"{what}repl_pair.run_variants."))


def _verdicts(id: str, result: Mapping[str, Any], listener: RunListener) -> list[Mapping[str, Any]]:
    """Return the rows of one reply, with what the process knows of them where it runs them."""
    entry = REGISTRY.find("variant", id)
    known: dict[str, Any] = {} if entry is None else {"place": place_of(entry)}
    if "items" not in result:
        modes = result.get("active_modes", ())
        raised = listener.raised_by(id, modes)
        traceback = {"traceback": traceback_of(raised[0])} if raised else {}
        return [{"variant_id": id, "modes": modes, **known, **traceback, **result}]
    rows: list[Mapping[str, Any]] = [{**_NO_RUN, **known, **row} for row in result["items"]]
    return sorted(rows, key=lambda row: (len(row["modes"]), row["modes"]))


_NO_RUN: Mapping[str, Any] = {"modes": [], "total": 0, "elapsed_ms": 0.0, "assertions": []}
"""The slots of a verdict where nothing was run."""
