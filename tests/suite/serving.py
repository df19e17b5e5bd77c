"""A real server over HTTP as a process of its own, with tokens of its own, and its clients."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import anyio
import httpx2
from anyio.from_thread import start_blocking_portal
from bounds import BOUND_S
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from repl_pair.bridge.tokens import Tokens
from repl_pair.mcp_server.web import serving as web

ROOT = Path(__file__).parents[2]
PROGRAM = ("-m", "repl_pair", "mcp")
HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
ERAS = ("legacy", STATELESS)
"""How the SDK's client is asked for each of the two protocol eras."""


def bounded(module, **bounds):
    """Return the program of a server in which bounds of a module are other ones."""
    lines = [f"import {module} as bounded", *(f"bounded.{n} = {b}" for n, b in bounds.items())]
    return ("-c", "\n".join([*lines, "from repl_pair.__main__ import main", "main()"]), "mcp")


class Answer:
    """One answer to a raw request: `status`, `headers` by their lower-case names, and `body`."""

    def __init__(self, raw):
        head, _, body = raw.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        self.raw = raw
        self.status = int(first.split()[1])
        self.headers = dict(line.decode().lower().split(": ", 1) for line in lines)
        self.body = body

    @property
    def frames(self):
        """The messages that came as events."""
        lines = self.body.replace(b"\r\n", b"\n").split(b"\n")
        return [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]

    @property
    def message(self):
        """The message that answers: the last event, or the body of what is refused."""
        return self.frames[-1] if self.frames else json.loads(self.body)


class Opened:
    """A client of the SDK with a plain, blocking interface."""

    def __init__(self, portal, client):
        self.portal, self.client = portal, client

    def start(self, tool, **args):
        return self.portal.start_task_soon(self.client.call_tool, tool, args)

    def call(self, tool, **args):
        return self.start(tool, **args).result(BOUND_S)

    def ask(self, tool, **args):
        return self.call(tool, **args).structured_content

    def tool_names(self):
        return [tool.name for tool in self.portal.call(self.client.list_tools).tools]


class Reached:
    """A server at a URL, and what its clients send."""

    def __init__(self, url):
        self.url = url
        self.port = int(url.rpartition(":")[2].partition("/")[0])
        self.host = url.split("/")[2].rpartition(":")[0]

    def headers(self, token, era=None, **more):
        """Headers of a request: `era` is the version of the protocol, None for none."""
        found = {"Host": f"{self.host}:{self.port}", "Content-Type": "application/json"}
        found |= {"Accept": "application/json, text/event-stream"}
        found |= {} if token is None else {"Authorization": f"Bearer {token}"}
        found |= {} if era is None else {"MCP-Protocol-Version": era}
        return found | more

    def dial(self):
        return socket.create_connection((self.host.strip("[]"), self.port), timeout=BOUND_S)

    def send(self, headers, body=b"", method="POST", path="/mcp"):
        """Send one raw request on a connection of its own; gives the answer."""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in headers.items())]
        lines += [f"Content-Length: {len(body)}", "Connection: close"]
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        with self.dial() as connection:
            try:
                connection.sendall(head + body)
            except (BrokenPipeError, ConnectionResetError):  # it was refused before its end
                pass
            return Answer(read_all(connection))

    def ask(self, token, method, params=None, **more):
        """Send a request of the 2026 era; gives the answer."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {**(params or {}), "_meta": meta}
        frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        names = [params[slot] for slot in ("name", "uri") if slot in params]
        named = {"Mcp-Name": names[0]} if names else {}
        headers = self.headers(token, STATELESS, **{"Mcp-Method": method}, **named, **more)
        return self.send(headers, frame)

    def open_session(self, token):
        """Open a session of the 2025 era; gives its id, or None, and the answer."""
        params = {"protocolVersion": HANDSHAKE, "capabilities": {}}
        params |= {"clientInfo": {"name": "test", "version": "1"}}
        frame = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        answer = self.send(self.headers(token), frame)
        return answer.headers.get("mcp-session-id"), answer

    @contextmanager
    def connect(self, token, mode="auto", on_message=None):
        """Open a client of the SDK."""
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=BOUND_S)
        transport = streamable_http_client(self.url, http_client=http)
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(http),
            portal.wrap_async_context_manager(
                Client(transport, mode=mode, message_handler=on_message)
            ) as client,
        ):
            yield Opened(portal, client)


class Served(Reached):
    """A server that runs; `err` is what it wrote to stderr, whole once it has ended."""

    def __init__(self, process, config, env):
        self.process, self.config, self.env = process, config, env
        self.lines = []
        self.is_up = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self.is_up.wait(BOUND_S), self.err
        assert self.lines, process.wait()
        super().__init__(next(w for w in self.lines[0].split() if w.startswith("http://")))

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.decode())
            self.is_up.set()
        self.is_up.set()

    @property
    def err(self):
        return "".join(self.lines)

    def end(self, number=signal.SIGINT):
        """Send a signal; gives the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        code = self.process.wait(BOUND_S)
        self._reader.join()
        return code

    def close(self):
        self.process.kill()
        self.wait()
        self.process.stderr.close()


def read_all(connection):
    """Read to the end of the answer."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def run_command(*words, env):
    """Run a command of repl-pair; gives what it printed."""
    command = [sys.executable, "-m", "repl_pair", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=BOUND_S, check=False, env=env
    )


def make_token(env, name, **opens):
    """Make a token, as `repl-pair token add` does; gives its text."""
    return Tokens(Path(env["REPL_PAIR_CONFIG_DIR"]) / "tokens").add(name, **opens)


@contextmanager
def serve(env, *options, place="127.0.0.1:0", cwd=None, program=PROGRAM):
    """Serve in an environment that has tokens; yields the server."""
    command = [sys.executable, *program, "--http", place, *map(str, options)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=env,
        cwd=cwd,
    )
    served = None
    try:
        served = Served(process, Path(env["REPL_PAIR_CONFIG_DIR"]), env)
        yield served
    finally:
        if served is None:
            process.kill()
            process.wait()
            process.stderr.close()
        else:
            served.close()


@contextmanager
def serve_here(folder, **defaults):
    """Serve in this process, on a thread; yields the server and its portal.

    `folder` is where the tokens stand.
    """
    listener = web.listen(web.Place("127.0.0.1", 0))
    serving = web.Serving(
        place=web.Place("127.0.0.1", 0),
        defaults=web.Defaults(**defaults),
        tokens=Tokens(folder / "tokens"),
    )
    with listener, start_blocking_portal() as portal:
        ending = portal.call(anyio.Event)
        serve = partial(web.serve, serving, listener, ending.wait)
        ended = portal.start_task_soon(serve)
        try:
            yield Reached(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"), portal
        finally:
            portal.call(ending.set)
            ended.result(BOUND_S)


def http_environment(env, folder):
    """Return the environment of a server whose settings stand in a folder."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**env, "REPL_PAIR_CONFIG_DIR": str(folder), "PYTHONPATH": path}
