"""Serves agents over HTTP until a signal comes; then streams end, links close, and it exits 0."""

import atexit
import gc
import logging
import os
import re
import socket
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import NamedTuple

import anyio
import uvicorn

from repl_pair.bridge.tokens import Tokens
from repl_pair.errors import ReplPairError, RequestError
from repl_pair.mcp_server.ending import list_ending_signals
from repl_pair.mcp_server.gate.gated_stderr import gate_stderr, log_details
from repl_pair.mcp_server.web.app import PATH, App
from repl_pair.mcp_server.web.connections import Connection
from repl_pair.mcp_server.web.principal import Defaults
from repl_pair.mcp_server.web.principals import Principals

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
CHECK_S = 1.0
"""How often it is looked for tokens that were removed, and for agents that are not in use."""
GRACE_S = 3
"""How long responses may take to end once the server does."""

_log = logging.getLogger(__name__)


class Place(NamedTuple):
    """Where the server listens; port 0 is a free one."""

    host: str
    port: int


@dataclass(frozen=True, kw_only=True)
class Serving:
    """What one server serves, and to whom.

    `hosts` and `origins` are accepted in addition to the loopback ones.
    """

    place: Place
    defaults: Defaults
    tokens: Tokens
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    debug: bool = False


def parse_place(text: str) -> Place:
    """Read HOST:PORT, HOST or PORT; `bad_arguments`."""
    found = re.fullmatch(r"(?:(\[[0-9a-fA-F:.]+\]|[^\[\]:/@\s]+)(?::|$))?(\d{1,5})?", text)
    if found is None or not text or int(found[2] or 0) > 65535:
        raise RequestError("bad_arguments", f"--http takes HOST:PORT, not {text!r}.")
    host = (found[1] or "127.0.0.1").strip("[]")
    return Place(host, 7331 if found[2] is None else int(found[2]))


def read_tokens() -> Tokens:
    """Return the tokens of this machine; `bad_arguments` where there is none."""
    tokens = Tokens()
    if not tokens.list():
        raise next(iter(tokens.faults), None) or RequestError(
            "bad_arguments",
            "There is no token, so no client could connect: nothing was started.",
            hints=["repl-pair token add NAME"],
        )
    return tokens


def listen(place: Place) -> socket.socket:
    """Return a socket that listens there; `cannot_run` where it cannot."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    # asyncio sends small answers at once only on a socket that names its protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ReplPairError(
            "cannot_run",
            f"Cannot listen on {place.host}:{place.port}: {error.strerror or error}.",
            hints=["Choose another port: --http 127.0.0.1:7332"],
        ) from error
    return listener


def run(serving: Serving) -> None:
    """Serve until a signal comes; stderr is scrubbed to the end of the process."""
    with listen(serving.place) as listener:
        atexit.register(gate_stderr())
        if serving.debug:
            log_details()
        # What is imported stays: the collector need not walk it again and again under load.
        gc.freeze()
        anyio.run(serve, serving, listener)


async def wait_for_signal() -> None:
    """Return at the first signal that ends a server; a second one ends the process at once."""
    with anyio.open_signal_receiver(*list_ending_signals()) as signals:
        async for _number in signals:
            return


def list_sites(host: str, port: int) -> Sequence[str]:
    """Return what clients name a server by that listens there; the last one is for its URL."""
    hosts = (*LOOPBACK, f"[{host}]" if ":" in host else host)
    # Clients leave out the port of their scheme.
    return [*(hosts if port == 80 else ()), *(f"{each}:{port}" for each in hosts)]


async def serve(
    serving: Serving,
    listener: socket.socket,
    ending: Callable[[], Awaitable[None]] = wait_for_signal,
) -> None:
    """Serve at a socket until `ending` returns; prints go to stderr."""
    sites = list_sites(serving.place.host, listener.getsockname()[1])
    with redirect_stdout(sys.stderr):
        async with anyio.create_task_group() as tasks:
            principals = Principals(serving.defaults, tasks)
            app = App(
                hosts=frozenset(site.lower() for site in (*sites, *serving.hosts)),
                origins=frozenset(
                    [*(f"http://{site}" for site in sites), *map(str.lower, serving.origins)]
                ),
                tokens=serving.tokens,
                principals=principals,
            )
            server = _Server(_config(app))
            tasks.start_soon(_end, app, server, ending)
            tasks.start_soon(_check, app)
            names = ", ".join(token.name for token in serving.tokens.list())
            sys.stderr.write(f"repl-pair: http://{sites[-1]}{PATH} for {names}\n")
            await server.serve(sockets=[listener])
            principals.end_all()
            tasks.cancel_scope.cancel()


def _config(app: App) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        lifespan="off",
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )


class _Server(uvicorn.Server):
    """A server that leaves signals to `wait_for_signal`."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Take no signal."""
        yield


async def _end(app: App, server: uvicorn.Server, ending: Callable[[], Awaitable[None]]) -> None:
    await ending()
    app.is_ending = True
    app.principals.end_all()
    server.should_exit = True


async def _check(app: App) -> None:
    """End, from time to time, the agents that may not come any more or are not in use."""
    reported = set[str]()
    while True:
        valid = app.tokens.list()
        faults = {f"{each} {' '.join(each.hints)}" for each in app.tokens.faults}
        for fault in sorted(faults - reported):
            _log.error("%s", fault)
        reported = faults
        app.principals.end_unused(valid)
        await anyio.sleep(CHECK_S)
