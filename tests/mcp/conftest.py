"""Real kernels with a person at them, and agents: real clients of the real server over stdio."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from queue import Queue

import pytest
from answers import find_faults, find_step_faults
from anyio.from_thread import start_blocking_portal
from bounds import BOUND_S
from jupyter_client.manager import KernelManager
from mcp import Client, MCPError, StdioServerParameters, types
from serving import PROGRAM, http_environment, serve_here
from waiting import wait_until

from repl_pair.bridge import manifest
from repl_pair.bridge.scratch_kernel import scratch_kernel
from repl_pair.mcp_server.web import serving as web

ROOT = Path(__file__).parents[2]
RECORDER = Path(__file__).with_name("recorder.py")


class Record:
    """What one server process wrote, to the byte."""

    def __init__(self, folder):
        self.folder = folder

    @property
    def out(self):
        return (self.folder / "stdout").read_bytes()

    @property
    def err(self):
        return (self.folder / "stderr").read_bytes()

    @property
    def pid(self):
        return int((self.folder / "pid").read_text())

    @property
    def frames(self):
        return [json.loads(line) for line in self.out.splitlines()]


READS = {op["name"]: op for op in manifest.load() if op["access"] in ("read", "inspect")}
del READS["use_kernel"]
REFUSALS = ("bad_arguments", "not_found", "unknown_op")
RUNS = ("run_variant", "run_variants", "preview_variant", "reset_variant")


class Agent:
    """A client with a plain, blocking interface; `record` keeps what the server sent it."""

    def __init__(self, portal, client, record):
        self.portal = portal
        self.client = client
        self.record = record
        self.taken = set()

    def start(self, tool, /, on_progress=None, **args):
        """Call a tool; gives a future of the result. Cancelling that cancels the call."""

        async def note(value, total, message):
            on_progress((value, total, message))

        seen = note if on_progress else None
        call = partial(self.client.call_tool, tool, args, progress_callback=seen)
        return self.portal.start_task_soon(call)

    def call(self, tool, /, **args):
        return self.start(tool, **args).result(timeout=3 * BOUND_S)

    def ask(self, tool, /, **args):
        """Call a tool; gives the envelope, whose result is of the type that the op names.

        A run is asked for in full, unless `detail` is given.
        """
        if tool in RUNS:
            args = {"detail": "full"} | args
        reply = self.call(tool, **args).structured_content
        op = args["op"] if tool in ("read_op", "run_op") else tool
        faults = find_faults(op, reply["result"]) if reply and reply["ok"] else []
        assert not faults, "\n".join(faults)
        self.take_steps(reply)
        return reply

    def take_steps(self, reply):
        """Check the next steps of a reply; take each that changes nothing once, as it stands."""
        assert not [*find_step_faults(reply)]
        for step in reply.get("next_steps", ()):
            key = json.dumps(step)
            if step["op"] in READS and key not in self.taken:
                self.taken.add(key)
                taken = self.call(step["op"], **without_waiting(step)).structured_content
                assert taken["ok"] or taken["error"]["code"] not in REFUSALS, (step, taken)

    def tools(self):
        return self.portal.call(self.client.list_tools).tools


def without_waiting(step):
    """Return the arguments of a step that reads, so that its call waits for nothing."""
    op, args = step["op"], step["args"]
    if op == "read_op":
        inner = {"op": args["op"], "args": args.get("args", {})}
        return args | {"args": without_waiting(inner)}
    waits = "wait_s" in READS[op]["input_schema"]["properties"]
    return args | ({"wait_s": 0} if waits else {})


class Followed:
    """What a client was notified of: URIs in their order, each with its time."""

    def __init__(self):
        self.arrived = []
        self.ended = False

    def note(self, uri):
        self.arrived.append((uri, time.monotonic()))

    @property
    def uris(self):
        return [uri for uri, _ in self.arrived]


class Reader:
    """An agent that reads and follows resources in one era."""

    def __init__(self, agent, mode, messages):
        self.agent, self.mode, self.messages = agent, mode, messages

    def do(self, fn, *args):
        return self.agent.portal.start_task_soon(fn, *args).result(timeout=BOUND_S)

    def ask(self, kind, params):
        self.do(self.agent.client.session.send_request, kind(params=params), types.EmptyResult)

    def read(self, uri):
        (content,) = self.do(self.agent.client.read_resource, uri).contents
        assert content.mime_type == "application/json"
        return json.loads(content.text)

    def refusal(self, uri):
        with pytest.raises(MCPError) as caught:
            self.read(uri)
        return caught.value.error

    @contextmanager
    def follow(self, *uris):
        followed = Followed()
        if self.mode == "legacy":
            self.messages.append(followed)
            for uri in uris:
                self.ask(types.SubscribeRequest, types.SubscribeRequestParams(uri=uri))
            try:
                yield followed
            finally:
                self.messages.remove(followed)
                for uri in uris:
                    self.ask(types.UnsubscribeRequest, types.UnsubscribeRequestParams(uri=uri))
            return

        async def collect(stream):
            async for event in stream:
                followed.note(event.uri)
            followed.ended = True

        listening = self.agent.client.listen(resource_subscriptions=uris)
        with self.agent.portal.wrap_async_context_manager(listening) as stream:
            task = self.agent.portal.start_task_soon(collect, stream)
            yield followed
            task.cancel()


class Wire:
    """A server spoken to in raw frames."""

    def __init__(self, process):
        self.process = process
        self.frames = Queue()
        self.out, self.err = [], []
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=lambda: self.err.extend(process.stderr), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.out.append(line)
            self.frames.put(json.loads(line))

    def send(self, method, params=None, id=None):
        frame = {"jsonrpc": "2.0", "method": method}
        frame |= {} if params is None else {"params": params}
        frame |= {} if id is None else {"id": id}
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params=None, id=1):
        """Send a request; gives its answer, past notifications."""
        self.send(method, params, id)
        while (frame := self.frames.get(timeout=BOUND_S)).get("id") != id:
            assert "method" in frame, frame
        return frame

    def hang_up(self):
        """Close stdin, as a client does that goes away; gives the exit code."""
        self.process.stdin.close()
        return self.process.wait(BOUND_S)

    def close(self):
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def command(arguments, program=PROGRAM):
    return [sys.executable, *program, *map(str, arguments)]


def environment(runtime):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "JUPYTER_RUNTIME_DIR": str(runtime), "PYTHONPATH": path}


@pytest.fixture(scope="session")
def until():
    """Waits for a condition with a bound: `until(condition, what, bound_s=…)`."""
    return wait_until


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """Jupyter's runtime dir of this module, and of all that it starts."""
    return tmp_path_factory.mktemp("runtime")


@contextmanager
def open_kernels(runtime, tmp_path_factory):
    """Yield what starts kernels: `start(cell, …, PYTHONPATH=…)`; a cell that fails is an error."""
    with ExitStack() as stack:

        def start(*cells, runtime=runtime, **variables):
            env = {**environment(runtime), **variables}
            folder = tmp_path_factory.mktemp("kernel")
            kernel = stack.enter_context(scratch_kernel(cwd=folder, environment=env))
            kernel.cell = partial(run_cell, kernel)
            kernel.id = kernel.path.stem.removeprefix("kernel-")
            for cell in cells:
                kernel.cell(cell)
            return kernel

        yield start


@pytest.fixture(scope="module")
def start_kernel(runtime, tmp_path_factory):
    """Start kernels that all tests of the module share."""
    with open_kernels(runtime, tmp_path_factory) as start:
        yield start


@pytest.fixture
def start_own_kernel(runtime, tmp_path_factory):
    """Start kernels that end with the test."""
    with open_kernels(runtime, tmp_path_factory) as start:
        yield start


def run_cell(kernel, code):
    """Run a cell to its end; gives what it printed."""
    ran = kernel.run(code)
    assert ran.error is None, ran.error
    return ran.printed


@pytest.fixture(scope="module")
def connect(runtime, tmp_path_factory):
    """Opens agents: `with connect("--kernel", path, mode="legacy") as agent:`.

    `program` may be one that is `bounded`.
    """

    @contextmanager
    def open_agent(
        *arguments, mode="auto", runtime=runtime, on_message=None, cwd=None, program=PROGRAM
    ):
        folder = tmp_path_factory.mktemp("server")
        target = StdioServerParameters(
            command=sys.executable,
            args=[str(RECORDER), str(folder), *command(arguments, program)],
            env=environment(runtime),
            cwd=cwd,
        )
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(
                Client(target, mode=mode, message_handler=on_message)
            ) as client,
        ):
            yield Agent(portal, client, Record(folder))

    return open_agent


@pytest.fixture(scope="module")
def kernel(start_kernel, request):
    """A kernel in which the module's SETUP has run."""
    return start_kernel(request.module.SETUP)


@pytest.fixture(scope="module")
def agent(kernel, connect):
    """An agent at that kernel that sees the story tools too."""
    with connect("--kernel", kernel.path, "--toolsets", "story") as agent:
        yield agent


@pytest.fixture(scope="module")
def dial(runtime):
    """Opens raw connections: `with dial("--kernel", path) as wire:`."""

    @contextmanager
    def open_wire(*arguments, runtime=runtime):
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command(arguments), stdin=pipe, stdout=pipe, stderr=pipe, env=environment(runtime)
        )
        wire = Wire(process)
        try:
            yield wire
        finally:
            wire.close()

    return open_wire


@pytest.fixture
def alone(tmp_path_factory):
    """A runtime dir for one test."""
    return tmp_path_factory.mktemp("alone")


@pytest.fixture
def managed(alone, monkeypatch):
    """A kernel under a manager, as front ends have it, that keeps its file over restarts."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(alone))
    monkeypatch.setenv("IPYTHONDIR", str(alone / "ipython"))
    manager = KernelManager(connection_file=str(alone / "kernel-managed-1.json"))
    manager.start_kernel(extra_arguments=["--HistoryManager.enabled=False"])
    manager.cell = partial(run_managed_cell, manager)
    yield manager
    manager.shutdown_kernel(now=True)


def run_managed_cell(manager, code):
    client = manager.blocking_client()
    client.start_channels(hb=False)
    try:
        client.wait_for_ready(timeout=30)
        reply = client.execute_interactive(code, timeout=30, output_hook=lambda message: None)
        assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        client.stop_channels()


@pytest.fixture(scope="module")
def open_reader(connect):
    """Opens agents that read and follow resources: `with open_reader("legacy", …) as reader:`."""

    @contextmanager
    def open_one(mode, *arguments, **options):
        messages = []

        async def keep(message):
            if isinstance(message, types.ResourceUpdatedNotification):
                for followed in messages:
                    followed.note(str(message.params.uri))

        with connect(*arguments, mode=mode, on_message=keep, **options) as agent:
            yield Reader(agent, mode, messages)

    return open_one


@pytest.fixture(scope="module")
def http_env(runtime, tmp_path_factory):
    """The environment of this module's servers over HTTP, whose tokens stand in a folder of it."""
    return http_environment(environment(runtime), tmp_path_factory.mktemp("config"))


@pytest.fixture
def own_env(runtime, tmp_path):
    """The same of one test."""
    return http_environment(environment(runtime), tmp_path / "config")


@pytest.fixture
def here(own_env, runtime, tmp_path, kernel, monkeypatch):
    """Serves the module's kernel over HTTP in this process, with other bounds of a module.

    `with here(principal, IDLE_S=1.0) as (server, portal):`
    """
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(runtime))
    monkeypatch.setattr(web, "CHECK_S", 0.05)

    @contextmanager
    def open_server(module=None, *, audit=None, **bounds):
        for name, bound in bounds.items():
            monkeypatch.setattr(module, name, bound)
        options = {"kernels": [kernel.id], "audit": audit}
        with serve_here(tmp_path / "config", **options) as (server, portal):
            yield server, portal

    return open_server


@pytest.fixture(scope="session")
def open_over_http():
    """Opens agents over HTTP: `with open_over_http(server, token) as agent:`."""

    @contextmanager
    def open_one(server, token, mode="auto"):
        with server.connect(token, mode) as opened:
            yield Agent(opened.portal, opened.client, None)

    return open_one


@pytest.fixture
def read_over_http():
    """Opens readers over HTTP: `with read_over_http(server, token, "legacy") as reader:`."""

    @contextmanager
    def open_one(server, token, mode):
        messages = []

        async def keep(message):
            if isinstance(message, types.ResourceUpdatedNotification):
                for followed in messages:
                    followed.note(str(message.params.uri))

        with server.connect(token, mode, keep) as opened:
            yield Reader(opened, mode, messages)

    return open_one
