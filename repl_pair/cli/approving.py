"""Commands about agents' calls: list, approve and deny them, and pause agents."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from repl_pair.cli.answers import answer
from repl_pair.cli.caller import Caller, run_command
from repl_pair.cli.options import Choice, session_options
from repl_pair.cli.tables import GAP, escape


@click.command()
@session_options(here=False, gates=False)
def approvals(choice: Choice) -> None:
    """List the calls of agents that wait for your approval, and what each would do."""
    run_command(choice, lambda caller: _command(caller, "list_approvals", {}, _show_approvals))


@click.command()
@click.argument("handle")
@click.option("--session", is_flag=True, help="Approve that op for as long as the agent stays.")
@session_options(here=False, gates=False)
def approve(choice: Choice, handle: str, session: bool) -> None:
    """Approve a call that waits, once."""
    args = {"handle": handle, "answer": "session" if session else "once"}
    run_command(choice, lambda caller: _command(caller, "answer_approval", args, _show_answered))


@click.command()
@click.argument("handle")
@click.option("--reason", default="", help="What to tell the agent.")
@session_options(here=False, gates=False)
def deny(choice: Choice, handle: str, reason: str) -> None:
    """Deny a call that waits, or take back an approval that was given for a session."""
    args = {"handle": handle, "answer": "deny", "reason": reason}
    run_command(choice, lambda caller: _command(caller, "answer_approval", args, _show_answered))


@click.command()
@click.argument("named", metavar="[KERNEL]", required=False)
@session_options(here=False, gates=False)
def pause(choice: Choice, named: str | None) -> None:
    """Refuse every request of agents in a kernel until `resume`; running calls finish."""
    _pause(choice, named, on=True)


@click.command()
@click.argument("named", metavar="[KERNEL]", required=False)
@session_options(here=False, gates=False)
def resume(choice: Choice, named: str | None) -> None:
    """Accept requests of agents in a kernel again."""
    _pause(choice, named, on=False)


def _pause(choice: Choice, named: str | None, *, on: bool) -> None:
    meant = replace(choice, kernel=named or choice.kernel)
    run_command(meant, lambda caller: _command(caller, "pause_agents", {"on": on}, _show_paused))


async def _command(caller: Caller, op: str, args: Mapping[str, Any], show: Any) -> int:
    reply = await caller.session.command(op, args)
    return answer(reply, show, as_json=caller.as_json)


def _show_approvals(page: Mapping[str, Any]) -> None:
    if page.get("paused_s") is not None:
        click.echo("Agents are paused: `repl-pair resume` resumes them.", err=True)
    for item in page["items"]:
        title = escape(f"{item['title']} ({', '.join(item['access'])})")
        click.echo(f"{item['handle']}{GAP}{item['principal']}{GAP}{title}")
        click.echo(f"{GAP}asked {item['asked_s']:.0f} s ago; {item['expires_in_s']:.0f} s left")
        for line in _lines(item["text"]):
            click.echo(f"{GAP}{GAP}{escape(line)}")
    for grant in page["grants"]:
        words = (grant["handle"], grant["principal"], grant["op"], "approved for its session")
        click.echo(GAP.join(words))
    if not page["items"] and not page["grants"]:
        click.echo("none", err=True)


def _lines(text: Any) -> list[str]:
    """Return the lines of a text; a text that was too long comes as its marker."""
    return text.split("\n") if isinstance(text, str) else [json.dumps(text, ensure_ascii=False)]


def _show_answered(answered: Mapping[str, Any]) -> None:
    click.echo(f"{answered['handle']}{GAP}{answered['op']}{GAP}{answered['state']}")


def _show_paused(answered: Mapping[str, Any]) -> None:
    click.echo("Agents are paused." if answered["paused"] else "Agents go on.")
