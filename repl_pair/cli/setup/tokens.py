"""Commands about the tokens by which agents come over HTTP: add, list and remove them."""

import sys
import time
from collections.abc import Mapping
from typing import Any

import click

from repl_pair.bridge.kernel_info import check_name, known_only
from repl_pair.bridge.tokens import Token, Tokens
from repl_pair.cli.answers import answer, report_refusal
from repl_pair.cli.options import Choice, check_agent_name, make_policy, session_options
from repl_pair.cli.setup.hosts import TOKEN
from repl_pair.cli.tables import show_rows
from repl_pair.wire import error_reply, ok_reply


@click.group()
def token() -> None:
    """Make, list and remove the tokens by which agents come over HTTP (`repl-pair mcp --http`)."""


@token.command()
@click.argument("name")
@session_options(here=False, inject=False, exposes=False, several_kernels=True)
def add(name: str, choice: Choice) -> None:
    """Make a token for the agent NAME and print it, once: only its hash is kept.

    Without --kernel the agent may name every kernel that its server has.
    """
    with report_refusal(as_json=choice.as_json):
        policy = make_policy(choice)
        made = Tokens().add(
            check_agent_name(name, "NAME"),
            tier=policy.tier,
            allow=tuple(sorted(policy.allow)),
            ask=tuple(sorted(policy.ask)),
            toolsets=tuple(sorted(policy.toolsets)),
            kernels=tuple(map(check_name, choice.kernels)),
        )
        result = {"name": name, "token": made}
    sys.exit(answer(ok_reply(result), _show_made, as_json=choice.as_json))


@token.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the reply's whole envelope.")
def list_(as_json: bool) -> None:
    """List the tokens: who comes with each, and what it opens.

    A file that holds none is named after them, and the exit code is 1.
    """
    tokens = Tokens()
    items = [_describe(each) for each in tokens.list()]
    found = ok_reply({"items": items, "total": len(items)})
    codes = [answer(found, lambda _: show_rows(items), as_json=as_json)]
    codes += [answer(error_reply(fault), print, as_json=as_json) for fault in tokens.faults]
    sys.exit(max(codes))


@token.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print the reply's whole envelope.")
def remove(name: str, as_json: bool) -> None:
    """Remove the token of NAME: servers that run refuse it from now on, and end its streams."""
    with report_refusal(as_json=as_json):
        Tokens().remove(check_agent_name(name, "NAME"))
    reply = ok_reply({"removed": name})
    sys.exit(answer(reply, lambda _: click.echo(f"{name} is removed.", err=True), as_json=as_json))


def _describe(token: Token) -> Mapping[str, Any]:
    return known_only(
        {
            "name": token.name,
            "tier": token.tier,
            "allow": ",".join(token.allow) or None,
            "ask": ",".join(token.ask) or None,
            "toolsets": ",".join(token.toolsets) or None,
            "kernels": ", ".join(token.kernels) or None,
            "added": time.strftime("%Y-%m-%d %H:%M", time.localtime(token.added)),
        }
    )


def _show_made(result: Mapping[str, Any]) -> None:
    click.echo(result["token"])
    click.echo(
        f"It is shown only now. The agent's client sends it as `Authorization: Bearer …`; keep it "
        f"in a variable, as {TOKEN}, and out of files that others read.",
        err=True,
    )
