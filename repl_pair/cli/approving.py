"""The person's word from the terminal: what waits for it, yes, no, and a pause; beside any cell."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from repl_pair.cli.answers import answer
from repl_pair.cli.desk import Desk, converse
from repl_pair.cli.options import Choice, session_options
from repl_pair.cli.tables import GAP, say_plainly


@click.command()
@session_options(here=False, gates=False)
def approvals(choice: Choice) -> None:
    """List the calls of agents that wait for your approval, and what each would do."""
    converse(choice, lambda desk: _command(desk, "list_approvals", {}, _show_approvals))


@click.command()
@click.argument("handle")
@click.option("--session", is_flag=True, help="Approve that op for as long as the agent stays.")
@session_options(here=False, gates=False)
def approve(choice: Choice, handle: str, session: bool) -> None:
    """Let a call that waits be made, once."""
    args = {"handle": handle, "answer": "session" if session else "once"}
    converse(choice, lambda desk: _command(desk, "answer_approval", args, _show_answered))


@click.command()
@click.argument("handle")
@click.option("--reason", default="", help="What to tell the agent.")
@session_options(here=False, gates=False)
def deny(choice: Choice, handle: str, reason: str) -> None:
    """Refuse a call that waits, or take an approval back that was given for a session."""
    args = {"handle": handle, "answer": "deny", "reason": reason}
    converse(choice, lambda desk: _command(desk, "answer_approval", args, _show_answered))


@click.command()
@click.argument("named", metavar="[KERNEL]", required=False)
@session_options(here=False, gates=False)
def pause(choice: Choice, named: str | None) -> None:
    """Refuse every request of agents in a kernel, until `resume`; runs under way go on."""
    _pause(choice, named, on=True)


@click.command()
@click.argument("named", metavar="[KERNEL]", required=False)
@session_options(here=False, gates=False)
def resume(choice: Choice, named: str | None) -> None:
    """Take requests of agents in a kernel up again."""
    _pause(choice, named, on=False)


def _pause(choice: Choice, named: str | None, *, on: bool) -> None:
    meant = replace(choice, kernel=named or choice.kernel)
    converse(meant, lambda desk: _command(desk, "pause_agents", {"on": on}, _show_paused))


async def _command(desk: Desk, op: str, args: Mapping[str, Any], show: Any) -> int:
    reply = await desk.session.command(op, args)
    return answer(reply, show, as_json=desk.as_json)


def _show_approvals(found: Mapping[str, Any]) -> None:
    if found.get("paused_s") is not None:
        click.echo("Agents are paused: `repl-pair resume` lets them go on.", err=True)
    for item in found["items"]:
        title = say_plainly(f"{item['title']} ({', '.join(item['access'])})")
        click.echo(f"{item['handle']}{GAP}{item['principal']}{GAP}{title}")
        click.echo(f"{GAP}asked {item['asked_s']:.0f} s ago; {item['expires_in_s']:.0f} s left")
        for line in _lines(item["text"]):
            click.echo(f"{GAP}{GAP}{say_plainly(line)}")
    for grant in found["grants"]:
        words = (grant["handle"], grant["principal"], grant["op"], "approved for its session")
        click.echo(GAP.join(words))
    if not found["items"] and not found["grants"]:
        click.echo("none", err=True)


def _lines(text: Any) -> list[str]:
    """Return the lines of a text; what was too long to be told whole comes as its marker."""
    return text.split("\n") if isinstance(text, str) else [json.dumps(text, ensure_ascii=False)]


def _show_answered(said: Mapping[str, Any]) -> None:
    click.echo(f"{said['handle']}{GAP}{said['op']}{GAP}{said['state']}")


def _show_paused(said: Mapping[str, Any]) -> None:
    click.echo("Agents are paused." if said["paused"] else "Agents go on.")
