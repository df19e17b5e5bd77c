"""A real kernel full of canaries, and real servers before it, each with gates of its own."""

import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from canaries import Leak, Search, texts_in
from places import plant

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import DEFAULT_TOOLSETS, GATED, Policy
from repl_pair.bridge.scratch_kernel import scratch_kernel
from repl_pair.runtime.realm.bindings import bind
from repl_pair.runtime.realm.membership import init_realm, join_realm
from repl_pair.runtime.realm.saving import Edition, save_contract

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BOUND_S = 60.0
"""How long an answer may take; no call asks for more than a part of it."""

TOOLSETS = sorted(
    {d["toolset"] for d in manifest.load() if not d.get("internal")} - DEFAULT_TOOLSETS
)
SETTINGS: Mapping[str, tuple[Policy, tuple[str, ...]]] = {
    "closed": (Policy(), ()),
    **{
        gate: (
            Policy(allow=frozenset({gate}), toolsets=frozenset(TOOLSETS[n :: len(GATED)])),
            ("--allow", gate, "--toolsets", ",".join(TOOLSETS[n :: len(GATED)])),
        )
        for n, gate in enumerate(GATED)
    },
    "asking": (Policy(ask=frozenset(GATED)), ("--ask", ",".join(GATED), "--ask-wait", "0.05")),
    "open": (
        Policy(allow=frozenset(GATED), toolsets=frozenset(TOOLSETS)),
        ("--allow", ",".join(GATED), "--toolsets", ",".join(TOOLSETS)),
    ),
}
"""The gates of each server: none open, each alone beside some toolsets, all by asking, all."""
ENVELOPE = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "attack", "version": "1"},
    }
}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "attack", "version": "1"},
}


class Server:
    """A server process, spoken to in frames; every byte that it writes is searched."""

    def __init__(self, name: str, kernel: Path, search: Search, *, old: bool) -> None:
        self.policy, options = SETTINGS[name]
        self.search, self.envelope = search, {} if old else ENVELOPE
        self.leaks: set[Leak] = set()
        self._count = 0
        self._lines: queue.Queue[bytes] = queue.Queue()
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", "repl_pair", "mcp", "--kernel", str(kernel), *options]
        env = {**os.environ, "JUPYTER_RUNTIME_DIR": str(kernel.parent), "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env)
        self._errors: list[bytes] = []
        out, err = self.process.stdout, self.process.stderr
        assert out is not None
        assert err is not None
        self._readers = [
            threading.Thread(target=lambda: [self._lines.put(line) for line in out], daemon=True),
            threading.Thread(target=lambda: self._errors.extend(err), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def open(self) -> None:
        """Shake hands as the old era does, or discover as the new one, and list the tools."""
        if not self.envelope:
            self.request("initialize", HELLO)
            self._send({"method": "notifications/initialized"})
        self.request("tools/list", {})

    def call(self, op: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool, or request what is none; gives the whole answering frame."""
        if "/" in op:
            return self.request(op, args)
        return self.request("tools/call", {"name": op, "arguments": args})

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; gives its answer, past notifications."""
        self._count += 1
        whole = {**params, **self.envelope}
        whole = whole | {"_meta": {**whole.get("_meta", {}), "progressToken": self._count}}
        self._send({"id": self._count, "method": method, "params": whole})
        until = time.monotonic() + BOUND_S
        while True:
            frame = self._next(max(until - time.monotonic(), 0.01))
            if frame.get("id") == self._count and "method" not in frame:
                return frame

    def close(self) -> None:
        """End the process as a client does that goes away, and search what it still wrote."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(BOUND_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for reader in self._readers:
            reader.join()
        while not self._lines.empty():
            self._look(self._lines.get())
        self.look_at_errors()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def look_at_errors(self) -> None:
        """Search what came on stderr since."""
        lines, self._errors[:] = list(self._errors), []
        self.leaks |= self.search.find(b"".join(lines))

    def _send(self, frame: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
        self.process.stdin.flush()

    def _next(self, bound_s: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=bound_s)
        except queue.Empty:
            raise TimeoutError(f"no answer within {BOUND_S:g} s") from None
        return self._look(line)

    def _look(self, line: bytes) -> dict[str, Any]:
        frame = json.loads(line)
        self.leaks |= self.search.find(line)
        inner = "\n".join(texts_in(frame)).encode("utf-8", "surrogatepass")
        self.leaks |= self.search.find(inner)
        return frame


STUMBLE = """
def stumble(held):
    password = held[0]
    print(password, held)
    raise ValueError(password, *held)
stumble([value() for value in VALUES.values()])
"""
"""A cell that ends with an error whose text, variables and output hold secrets."""


def place_realm(folder: Path, secrets: Sequence[str]) -> None:
    """Make the kernel's folder a repo of git and of a realm, whose one contract holds secrets."""
    init_realm("attack", folder / "realm")
    home = join_realm(folder, folder / "realm", "here")
    value = {"plain": "plain-value", "texts": [f"before {text} after" for text in secrets]}
    schema = {"type": "object", "description": " ".join(secrets)}
    edition = Edition(version="1.0.0", schema=schema, value=value, changes=" ".join(secrets))
    save_contract(home, "attack", "show", edition)
    bind(home, "attack", exports=["show"], imports=["show >=2"])
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "Begin")):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, timeout=BOUND_S)


class Stand:
    """A person's kernel with its servers, made of a seed."""

    def __init__(self, kernel: Any, folder: Path, seed: int) -> None:
        self.kernel = kernel
        self.canaries, planting, rows = plant(Random(f"places {seed}"))
        self.search = Search(self.canaries)
        self.cell((HERE / "person_classes.py").read_text())
        values = {place.name: place.value for place in rows if place.known}
        standing = [place.value for place in rows if not place.known]
        hidden = folder / "planting.py"
        hidden.write_text(
            f"{planting}\nCANARY = {self.canaries!r}\nSTANDING = {standing!r}\n"
            + "VALUES = {"
            + "".join(f"{name!r}: lambda: {value},\n" for name, value in values.items())
            + f"}}\nSTATE_AT = {str(folder / 'state')!r}\n"
        )
        self.cell(f"exec(open({str(hidden)!r}).read())")
        hidden.unlink()
        self.cell((HERE / "person_stories.py").read_text())
        self.cell((HERE / "person_state.py").read_text())
        place_realm(folder, [self.canaries[name] for name in values])
        self.kernel.run(STUMBLE)
        self._state = socket.socket(socket.AF_UNIX)
        self._state.connect(str(folder / "state"))
        self._states = self._state.makefile("rwb")
        self.servers: dict[str, Server] = {}

    def open(self) -> None:
        """Start the servers, all at once."""
        for n, name in enumerate(SETTINGS):
            self.servers[name] = Server(name, self.kernel.path, self.search, old=bool(n % 2))
        for server in self.servers.values():
            server.open()

    def state(self) -> dict[str, str]:
        """Return what of the kernel a refused call may not have changed."""
        self._states.write(b"?\n")
        self._states.flush()
        return json.loads(self._states.readline())

    def begin(self) -> None:
        """Let the person take out what agents left, once no call goes on."""
        until = time.monotonic() + BOUND_S
        while going_on := json.loads(self.cell("print(json.dumps(unended()))")):
            assert time.monotonic() < until, f"calls do not end: {going_on}"
        self.cell("begin()")

    def ids(self) -> dict[str, list[str]]:
        """Return the ids of entries that a person may have named to an agent; none that is kept."""
        return json.loads(self.cell("print(json.dumps(ids()))"))

    def leaks(self) -> set[Leak]:
        """Return what leaked since the last time."""
        found: set[Leak] = set()
        for server in self.servers.values():
            server.look_at_errors()
            found |= server.leaks
            server.leaks = set()
        return found

    def close(self) -> None:
        """End the servers."""
        self._states.close()
        self._state.close()
        for server in self.servers.values():
            server.close()

    def cell(self, code: str) -> str:
        """Let the person run a cell; gives what it printed."""
        ran = self.kernel.run(code)
        assert ran.error is None, ran.error
        return ran.printed


@contextmanager
def open_stand(seed: int) -> Iterator[Stand]:
    """Start the kernel and the servers of a seed, and end them after the block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attack-")))
        env = {"PYTHONPATH": str(ROOT)}
        kernel = stack.enter_context(scratch_kernel(cwd=folder, environment=env))
        stand = Stand(kernel, folder, seed)
        stack.callback(stand.close)
        stand.open()
        yield stand
