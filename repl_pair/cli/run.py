"""The `run` command: chosen variants run, in a kernel or in this process."""

from pathlib import Path
from typing import Any

import click

from repl_pair.cli.caller import Caller, session_command
from repl_pair.cli.choosing import MODE, OVERRIDE, TAGS, VARIANTS, choose, how_to_run
from repl_pair.cli.running import run_all
from repl_pair.errors import RequestError
from repl_pair.runtime.loading.pytest_settings import read_settings
from repl_pair.runtime.snapshots.review import Rules, rules_of

_ACCEPT = "`repl-pair run --here --update` stores what this run gave."


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
    help="Write the results as a JUnit file too.",
)
@session_command()
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
    tolerance = read_settings(Path.cwd()).image_tolerance if caller.choice.here else 0.0
    asked = "--update" if update else ""
    with rules_of(Rules(update=asked, accept=_ACCEPT, tolerance=tolerance)):
        return await run_all(caller, ids, shared, combined, junit)
