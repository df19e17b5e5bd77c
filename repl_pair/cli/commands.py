"""The commands; each calls ops of the session and prints their answers."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from repl_pair.bridge.kernel_info import known_only
from repl_pair.cli.callers import Caller, session_command
from repl_pair.cli.choosing import MODE, OVERRIDE, find_op, how_to_run
from repl_pair.cli.options import parse_map, parse_pairs
from repl_pair.cli.tables import show_kernels, show_page, show_record, show_rows, show_slots
from repl_pair.version import VERSION
from repl_pair.wire import ok_reply

EXITS = "Exit code: 0 pass, 1 fail, error or cannot_run, 2 usage, 3 no kernel."
LATE = {
    **{name: name for name in ("accept", "expose", "lint", "realm", "reviews", "run", "watch")},
    **{name: f"setup.{name}" for name in ("doctor", "init", "skill")},
    "token": "setup.tokens",
    **dict.fromkeys(("approvals", "approve", "deny", "pause", "resume"), "approving"),
}
"""Commands by their modules, which are imported when needed: the server starts faster."""


class _CommandGroup(click.Group):
    """A group that imports the commands of `LATE` when they are first asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *LATE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in LATE and cmd_name not in self.commands:
            module = import_module(f"repl_pair.cli.{LATE[cmd_name]}")
            self.add_command(getattr(module, cmd_name))
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=_CommandGroup, epilog=EXITS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(VERSION, prog_name="repl-pair")
def main() -> None:
    """Work beside an AI agent in a live Python kernel."""


@main.command()
@session_command()
async def kernels(caller: Caller) -> int:
    """List the kernels of this machine: busy or idle, since when, and of which front end.

    `runtime`: repl_pair is in it. A kernel is named by the beginning of its id, its pid or
    its notebook. Attaches to none.
    """
    return await caller.show("list_kernels", {"dead": True}, show_kernels)


@main.command()
@session_command()
async def ops(caller: Caller) -> int:
    """List the ops that an MCP server with the same options would list."""
    policy = caller.session.policy
    listed = [d for d in caller.session.descriptors() if policy.lists(d)]
    shown = [{**d, "input_schema": policy.visible_parameters(d)} for d in listed]
    return caller.print(ok_reply({"items": shown, "total": len(shown)}), _show_ops)


@main.command()
@click.argument("name")
@click.option("--json", "args", metavar="ARGS", default="{}", help="The op's arguments, as JSON.")
@session_command(as_json=False)
async def op(caller: Caller, name: str, args: str) -> int:
    """Call one op and print its whole envelope, always as JSON."""
    example = """--json '{"code": "1 + 1"}'"""
    return await caller.show(name, parse_map(args, "--json", example), show_record)


@main.command("list")
@click.argument("kind")
@click.option("--arg", "-a", "args", multiple=True, metavar="NAME=JSON", help="Argument of the op.")
@click.option("--limit", type=int, help="How many to list.")
@click.option("--cursor", help="Where the last page ended.")
@session_command()
async def list_(
    caller: Caller, kind: str, args: tuple[str, ...], limit: int | None, cursor: str | None
) -> int:
    """List what there is of a KIND: stories, variants, modes, tags, kernels, …"""
    listing = find_op(caller.session.descriptors(), "list_", kind)
    given = {**parse_pairs(args, "--arg"), **known_only({"limit": limit, "cursor": cursor})}
    return await caller.show(listing["name"], given, show_page)


@main.command()
@click.argument("kind")
@click.argument("id")
@session_command()
async def get(caller: Caller, kind: str, id: str) -> int:
    """Read one entry: a story, a variant, …"""
    every = caller.session.descriptors()
    reading = find_op((d for d in every if d["input_schema"].get("required")), "get_", kind)
    name_of_id = reading["input_schema"]["required"][0]
    return await caller.show(reading["name"], {name_of_id: id}, show_record)


@main.command()
@click.argument("variant")
@MODE
@OVERRIDE
@session_command()
async def identity(caller: Caller, variant: str, **how: Any) -> int:
    """Return a variant's snapshot identity; nothing runs."""
    args = {"variant_id": variant, **how_to_run(**how)}
    return await caller.show("snapshot_identity", args, show_slots)


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
