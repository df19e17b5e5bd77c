"""Commands about agents' calls: list, approve and deny them, and pause agents."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import click

from repl_pair.cli.answers import answer
from repl_pair.cli.caller import Caller, session_command
from repl_pair.cli.tables import GAP, escape


@click.command()
@session_command(here=False, gates=False)
async def approvals(caller: Caller) -> int:
    """List the calls of agents that wait for your approval, and what each would do."""
    return await _command(caller, "list_approvals", {}, _show_approvals)


@click.command()
@click.argument("handle")
@click.option("--session", is_flag=True, help="Approve that op for as long as the agent stays.")
@session_command(here=False, gates=False)
async def approve(caller: Caller, handle: str, session: bool) -> int:
    """Approve a call that waits, once."""
    args = {"handle": handle, "answer": "session" if session else "once"}
    return await _command(caller, "answer_approval", args, _show_answered)


@click.command()
@click.argument("handle")
@click.option("--reason", default="", help="What to tell the agent.")
@session_command(here=False, gates=False)
async def deny(caller: Caller, handle: str, reason: str) -> int:
    """Deny a call that waits, or take back an approval that was given for a session."""
    args = {"handle": handle, "answer": "deny", "reason": reason}
    return await _command(caller, "answer_approval", args, _show_answered)


@click.command()
@click.argument("kernel_id", metavar="[KERNEL]", required=False)
@session_command(here=False, gates=False)
async def pause(caller: Caller, kernel_id: str | None) -> int:
    """Refuse every request of agents in a kernel until `resume`; running calls finish."""
    return await _command(caller, "pause_agents", {"on": True}, _show_paused, kernel_id)


@click.command()
@click.argument("kernel_id", metavar="[KERNEL]", required=False)
@session_command(here=False, gates=False)
async def resume(caller: Caller, kernel_id: str | None) -> int:
    """Accept requests of agents in a kernel again."""
    return await _command(caller, "pause_agents", {"on": False}, _show_paused, kernel_id)


async def _command(
    caller: Caller,
    op: str,
    args: Mapping[str, Any],
    show: Callable[[Any], None],
    kernel: str | None = None,
) -> int:
    reply = await caller.session.command(op, args, kernel)
    return answer(reply, show, as_json=caller.choice.as_json)


def _show_approvals(page: Mapping[str, Any]) -> None:
    if page.get("paused_s") is not None:
        click.echo("Agents are paused: `repl-pair resume` resumes them.", err=True)
    for item in page["items"]:
        title = escape(f"{item['title']} ({', '.join(item['access'])})")
        click.echo(f"{item['handle']}{GAP}{item['principal']}{GAP}{title}")
        click.echo(f"{GAP}asked {item['asked_s']:.0f} s ago; {item['expires_in_s']:.0f} s left")
        # A text that was too long comes as its marker.
        text = item["text"] if isinstance(item["text"], str) else json.dumps(item["text"])
        for line in text.split("\n"):
            click.echo(f"{GAP}{GAP}{escape(line)}")
    for grant in page["grants"]:
        words = (grant["handle"], grant["principal"], grant["op"], "approved for its session")
        click.echo(GAP.join(words))
    if not page["items"] and not page["grants"]:
        click.echo("none", err=True)


def _show_answered(answered: Mapping[str, Any]) -> None:
    click.echo(f"{answered['handle']}{GAP}{answered['op']}{GAP}{answered['state']}")


def _show_paused(answered: Mapping[str, Any]) -> None:
    click.echo("Agents are paused." if answered["paused"] else "Agents go on.")
