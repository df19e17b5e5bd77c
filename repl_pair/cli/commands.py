"""The commands; each calls ops of the session and prints their answers."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from repl_pair.cli import approving
from repl_pair.cli.answers import answer
from repl_pair.cli.caller import Caller, run_command
from repl_pair.cli.choosing import choose, find_get, find_list, name_first
from repl_pair.cli.options import (
    Choice,
    parse_json,
    parse_pairs,
    session_options,
)
from repl_pair.cli.running import RunOptions, run_all
from repl_pair.cli.tables import (
    show_kernels,
    show_page,
    show_record,
    show_rows,
    show_slots,
)
from repl_pair.errors import RequestError
from repl_pair.version import VERSION
from repl_pair.wire import ok_reply

EXITS = "Exit code: 0 pass, 1 fail, error or cannot_run, 2 usage, 3 no kernel."
LATE = ("init", "lint", "watch")
"""Commands of modules of their own, which are imported when needed: the server starts faster."""


class CommandGroup(click.Group):
    """A group that imports the commands of `LATE` when they are first asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*self.commands, *LATE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is none of that name."""
        if cmd_name in LATE and cmd_name not in self.commands:
            self.add_command(getattr(import_module(f"repl_pair.cli.{cmd_name}"), cmd_name))
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=CommandGroup, epilog=EXITS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(VERSION, prog_name="repl-pair")
def main() -> None:
    """Work beside an AI agent in a live Python kernel."""


for _command in (
    approving.approvals,
    approving.approve,
    approving.deny,
    approving.pause,
    approving.resume,
):
    main.add_command(_command)


@main.command()
@session_options()
def kernels(choice: Choice) -> None:
    """List the kernels of this machine: busy or idle, since when, and of which front end.

    `ours` says that repl_pair is in it. A kernel is named by the beginning of its id, its pid or
    its notebook. Attaches to none.
    """
    run_command(choice, lambda caller: caller.show("list_kernels", {}, show_kernels))


@main.command()
@session_options()
def ops(choice: Choice) -> None:
    """List the ops that an MCP server with the same options would list."""

    async def ask(caller: Caller) -> int:
        policy = caller.session.policy
        listed = [d for d in caller.descriptors() if policy.lists(d)]
        shown = [{**d, "input_schema": policy.visible_parameters(d)} for d in listed]
        reply = ok_reply({"items": shown, "total": len(shown)})
        return answer(reply, _show_ops, as_json=caller.as_json)

    run_command(choice, ask)


@main.command()
@click.argument("name")
@click.option("--json", "args", metavar="ARGS", default="{}", help="The op's arguments, as JSON.")
@session_options(as_json=False)
def op(choice: Choice, name: str, args: str) -> None:
    """Call one op and print its whole envelope, always as JSON."""

    async def ask(caller: Caller) -> int:
        return await caller.show(name, parse_json(args, "--json"), show_record)

    run_command(replace(choice, as_json=True), ask)


@main.command("list")
@click.argument("kind")
@click.option("--arg", "-a", "args", multiple=True, metavar="NAME=JSON", help="Argument of the op.")
@click.option("--limit", type=int, help="How many to list.")
@click.option("--cursor", help="Where the last page ended.")
@session_options()
def list_(
    choice: Choice, kind: str, args: tuple[str, ...], limit: int | None, cursor: str | None
) -> None:
    """List what there is of a KIND: stories, variants, modes, tags, kernels, …"""

    async def ask(caller: Caller) -> int:
        paging = {"limit": limit, "cursor": cursor}
        given = {name: value for name, value in paging.items() if value is not None}
        descriptor = find_list(caller.descriptors(), kind)
        return await caller.show(
            descriptor["name"], {**parse_pairs(args, "--arg"), **given}, show_page
        )

    run_command(choice, ask)


@main.command()
@click.argument("kind")
@click.argument("id")
@session_options()
def get(choice: Choice, kind: str, id: str) -> None:
    """Read one entry: a story, a variant, …"""

    async def ask(caller: Caller) -> int:
        descriptor = find_get(caller.descriptors(), kind)
        return await caller.show(descriptor["name"], {name_first(descriptor): id}, show_record)

    run_command(choice, ask)


@main.command()
@click.argument("variants", nargs=-1, metavar="[VARIANT...]")
@click.option("--tags", metavar="EXPR", help="Those whose tags fit: 'test and not slow'.")
@click.option("--mode", "modes", multiple=True, help="A mode to activate; repeatable.")
@click.option(
    "--modes",
    "combined",
    type=click.Choice(["all", "each"]),
    help="Run each in the modes that it declares: all combinations, or one at a time.",
)
@click.option("--override", "overrides", multiple=True, metavar="NAME=JSON", help="Replace an arg.")
@click.option("--play", "plays", multiple=True, help="A play to run, not those that run alone.")
@click.option("--timeout", "timeout_s", type=float, help="Seconds that one run may take.")
@click.option("--wait", "wait_s", type=float, help="Seconds to wait for the running cell.")
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the results as a JUnit file too.",
)
@session_options()
def run(
    choice: Choice,
    variants: tuple[str, ...],
    tags: str | None,
    combined: str | None,
    junit: Path | None,
    **how: Any,
) -> None:
    """Run variants, by id, by pattern ('pricing.*') or by tags, and print why any failed.

    With --here alone, all of this project's. A word that names no variant refuses all of them
    before anything runs, and so do words and tags that choose none.
    """

    async def ask(caller: Caller) -> int:
        if not variants and tags is None and not choice.here:
            raise RequestError(
                "bad_arguments",
                "Name variants, by id, pattern or --tags; `run --here` runs all of this project's.",
            )
        options = RunOptions(shared=_how_to_run(**how), combined=combined, junit=junit)
        options.check()
        return await run_all(caller, await choose(caller, variants, tags), options)

    run_command(choice, ask)


@main.command()
@click.argument("variant")
@click.option("--mode", "modes", multiple=True, help="A mode to activate; repeatable.")
@click.option("--override", "overrides", multiple=True, metavar="NAME=JSON", help="Replace an arg.")
@session_options()
def identity(choice: Choice, variant: str, **how: Any) -> None:
    """Return a variant's snapshot identity; nothing runs."""

    async def ask(caller: Caller) -> int:
        args = {"variant_id": variant, **_how_to_run(**how)}
        return await caller.show("snapshot_identity", args, show_slots)

    run_command(choice, ask)


@main.command()
@session_options()
def doctor(choice: Choice) -> None:
    """Check this Python, its packages and the kernels, and print what to do."""
    from repl_pair.cli.doctor import examine  # the bridge's sockets, as in open_session

    run_command(choice, examine)


def _how_to_run(
    *,
    modes: tuple[str, ...],
    overrides: tuple[str, ...],
    plays: tuple[str, ...] = (),
    timeout_s: float | None = None,
    wait_s: float | None = None,
) -> dict[str, Any]:
    given = {
        "modes": list(modes),
        "overrides": dict(parse_pairs(overrides, "--override")),
        "plays": list(plays),
        "timeout_s": timeout_s,
        "wait_s": wait_s,
    }
    return {name: value for name, value in given.items() if value not in (None, [], {})}


def _show_ops(page: Mapping[str, Any]) -> None:
    rows = [
        {
            "op": d["name"],
            "access": d["access"],
            "toolset": d["toolset"],
            "takes": ", ".join(d["input_schema"]["properties"]),
            "doc": d["doc"].partition("\n")[0],
        }
        for d in page["items"]
    ]
    show_rows(rows)
