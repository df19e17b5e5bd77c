"""`repl-pair`: the terminal's commands, and those that start the other faces."""

import sys

from repl_pair.cli import main as program
from repl_pair.cli.answers import answer
from repl_pair.cli.options import Choice, open_session, session_options
from repl_pair.errors import ReplPairError
from repl_pair.wire import error_reply


@program.command()
@session_options(as_json=False)
def mcp(choice: Choice) -> None:
    """Serve an MCP client over stdin and stdout."""
    from repl_pair.mcp_server import stdio  # 0.4 s of SDK that no other command needs

    try:
        session = open_session(choice, principal="agent")
    except ReplPairError as error:
        sys.exit(answer(error_reply(error), print, as_json=False))
    stdio.run(session)


@program.command()
def demo() -> None:
    """Show the whole path once, on a kernel of its own; every step is checked."""
    from repl_pair.demo import show  # the SDK, as in mcp

    sys.exit(show())


def main() -> None:
    """Run the command that the command line names."""
    program(prog_name="repl-pair")


if __name__ == "__main__":
    main()
