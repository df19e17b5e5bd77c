"""`repl-pair`: the commands of the terminal, and those that start the server and the demo."""

import sys
from contextlib import redirect_stdout

import click

from repl_pair.cli.answers import print_json, report_refusal
from repl_pair.cli.commands import main as program
from repl_pair.cli.options import Choice, agent_name, open_session, session_options
from repl_pair.wire import ok_reply

EXPOSES_ALL = (
    "repl-pair: --expose-all is for development. Agents see every member and function of the app "
    "that no tier keeps from them, exposed or not; only names that begin with _ or repl_pair are "
    "hidden."
)


@program.command()
@session_options(approvals=True, named=True)
def mcp(choice: Choice) -> None:
    """Serve an MCP client over stdin and stdout; --json is for what is refused before that."""
    from repl_pair.mcp_server import stdio  # 0.4 s of SDK that no other command needs

    with report_refusal(as_json=choice.as_json):
        session = open_session(choice, principal=agent_name(choice))
    if choice.expose_all:
        click.echo(EXPOSES_ALL, err=True)
    stdio.run(session)


@program.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print the steps on stderr, and the verdict as JSON."
)
def demo(as_json: bool) -> None:
    """Show the whole path once, on a kernel of its own; every step is checked."""
    from repl_pair.demo.program import TOTAL, show  # the SDK, as in mcp

    if not as_json:
        sys.exit(show())
    with redirect_stdout(sys.stderr):
        failed = show()
    print_json(ok_reply({"status": "fail" if failed else "pass", "total": TOTAL}))
    sys.exit(failed)


def main() -> None:
    """Run the command that the command line names."""
    program(prog_name="repl-pair")


if __name__ == "__main__":
    main()
