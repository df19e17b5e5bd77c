"""The server over stdin and stdout, for one client, until stdin ends."""

import atexit
import os
import signal
import sys
from contextlib import redirect_stdout

import anyio
from anyio.abc import TaskStatus
from mcp.server.stdio import stdio_server

from repl_pair.bridge.session import Session
from repl_pair.mcp_server import stderr_gate
from repl_pair.mcp_server.byte_gate import GatedSink
from repl_pair.mcp_server.eras import DiscoverFirst
from repl_pair.mcp_server.server import build

CLOSING_S = 2.0
ENDING = (signal.SIGTERM, signal.SIGINT)


def run(session: Session) -> None:
    """Serve until stdin ends or a signal comes; stderr is scrubbed to the end of the process."""
    # Nothing interrupts a read of stdin: Python's own handler would leave the process waiting.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    atexit.register(stderr_gate.install())
    anyio.run(serve, session)


async def serve(session: Session) -> None:
    """Serve the session until stdin ends, then close it; prints go to the scrubbed stderr.

    Takes stdin and stdout. Calls that run at the end of stdin are cancelled.
    """
    undo = stderr_gate.install()
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_leave_on_signal, session)
            server = build(session)
            async with stdio_server() as (source, sink):
                gate = GatedSink(sink)
                requests = DiscoverFirst(source, gate, server)
                with redirect_stdout(sys.stderr):
                    await server.run(requests, gate, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    finally:
        await _close(session)
        undo()


async def _close(session: Session) -> None:
    with anyio.move_on_after(CLOSING_S, shield=True):
        await session.close()


async def _leave_on_signal(
    session: Session, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Close the session at the first signal, then end by that signal; not on Windows."""
    if sys.platform == "win32":
        task_status.started()
        return
    with anyio.open_signal_receiver(*ENDING) as signals:
        task_status.started()
        async for number in signals:
            await _close(session)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
