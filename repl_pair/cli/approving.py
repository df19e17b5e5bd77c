"""Commands about agents' calls: list, approve and deny them, and pause agents."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from repl_pair.cli.answers import FAIL
from repl_pair.cli.callers import Caller, session_command
from repl_pair.cli.tables import GAP, escape


@click.command()
@session_command(here=False, gates=False)
async def approvals(caller: Caller) -> int:
    """List the calls of agents that wait for your approval, and what each would do."""
    return caller.print(await caller.session.command("list_approvals", {}), _show_approvals)


@click.command()
@click.argument("handle")
@click.option("--session", is_flag=True, help="Approve that op for as long as the agent stays.")
@session_command(here=False, gates=False)
async def approve(caller: Caller, handle: str, session: bool) -> int:
    """Approve a call that waits, once; a terminal shows it whole and asks before that."""
    args = {"handle": handle, "answer": "session" if session else "once"}
    if sys.stdin.isatty() and sys.stdout.isatty() and not caller.choice.as_json:
        waiting = await caller.session.command("list_approvals", {})
        items: list[Any] = waiting["result"]["items"] if waiting["ok"] else []
        for item in (item for item in items if item["handle"] == handle):
            _print_pages([*_describe(item)])
            if not click.confirm(f"Approve {item['op']}?", err=True):
                click.echo("It still waits.", err=True)
                return FAIL
            args["mark"] = item["mark"]
    return caller.print(await caller.session.command("answer_approval", args), _show_answered)


@click.command()
@click.argument("handle")
@click.option("--reason", default="", help="What to tell the agent.")
@session_command(here=False, gates=False)
async def deny(caller: Caller, handle: str, reason: str) -> int:
    """Deny a call that waits, or take back an approval that was given for a session."""
    args = {"handle": handle, "answer": "deny", "reason": reason}
    return caller.print(await caller.session.command("answer_approval", args), _show_answered)


@click.command()
@click.argument("kernel_id", metavar="[KERNEL]", required=False)
@session_command(here=False, gates=False)
async def pause(caller: Caller, kernel_id: str | None) -> int:
    """Refuse every request of agents in a kernel until `resume`; running calls finish."""
    reply = await caller.session.command("pause_agents", {"on": True}, kernel_id)
    return caller.print(reply, _show_paused)


@click.command()
@click.argument("kernel_id", metavar="[KERNEL]", required=False)
@session_command(here=False, gates=False)
async def resume(caller: Caller, kernel_id: str | None) -> int:
    """Accept requests of agents in a kernel again."""
    reply = await caller.session.command("pause_agents", {"on": False}, kernel_id)
    return caller.print(reply, _show_paused)


def _show_approvals(page: Mapping[str, Any]) -> None:
    if page.get("paused_s") is not None:
        click.echo("Agents are paused: `repl-pair resume` resumes them.", err=True)
    lines = [line for item in page["items"] for line in _describe(item)]
    lines += [
        GAP.join((grant["handle"], grant["principal"], grant["covers"], "approved for its session"))
        for grant in page["grants"]
    ]
    _print_pages(lines)
    if not lines:
        click.echo("none", err=True)


def _describe(item: Mapping[str, Any]) -> Iterator[str]:
    title = escape(f"{item['title']} ({', '.join(item['access'])})")
    yield f"{item['handle']}{GAP}{item['principal']}{GAP}{title}"
    yield f"{GAP}asked {item['asked_s']:.0f} s ago; {item['expires_in_s']:.0f} s left"
    yield from (f"{GAP}{GAP}{escape(line)}" for line in item["text"].split("\n"))


def _print_pages(lines: Sequence[str]) -> None:
    """Print lines, page by page where a terminal has no room for all of them."""
    columns, rows = shutil.get_terminal_size()
    # A character takes two columns at most.
    needed = sum(1 + 2 * len(line) // columns for line in lines)
    if sys.stdout.isatty() and needed >= rows:
        click.echo_via_pager("\n".join(lines))
    else:
        click.echo("\n".join(lines), nl=bool(lines))


def _show_answered(answered: Mapping[str, Any]) -> None:
    click.echo(f"{answered['handle']}{GAP}{answered['op']}{GAP}{answered['state']}")


def _show_paused(answered: Mapping[str, Any]) -> None:
    click.echo("Agents are paused." if answered["paused"] else "Agents go on.")
