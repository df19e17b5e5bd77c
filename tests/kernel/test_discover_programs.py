"""Each kind of kernel that people have, started by the real program."""

import asyncio
import contextlib
import json
import os
import pty
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest
import zmq
from bounds import BOUND_S
from halting import halt
from ports import free_ports, write_connection_file
from waiting import wait_until

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.discovery import find_kernel, find_kernels, read_connection
from repl_pair.bridge.kernels.target import resolve
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.errors import KernelError
from repl_pair.wire import View

from .conftest import ROOT, WAITS, Person

pytestmark = pytest.mark.anyio

START_S = 60.0
"""For all programs together, which start at the same time."""
LOOKS = 5
LISTED_S = 3.0
"""One after the other they would take more."""
BIN = Path(sys.executable).parent
NAMES = (
    "server",
    "console",
    "papermill",
    "nbclient",
    "vscode",
    "old vscode",
    "manager",
    "curve",
    "ipc",
)
FRONT_ENDS = {
    "server": "jupyter-server",
    "console": "console",
    "papermill": "papermill",
    "nbclient": "nbclient",
    "vscode": "vscode",
    "old vscode": "vscode",
}
"""What list_kernels says of who started it; of the others it says nothing."""
NOTEBOOKS = {"server": "prices.ipynb", "papermill": "in.ipynb", "nbclient": "batch.ipynb"}
"""In the folder `work`; of the others no notebook is known, and none is guessed."""
RUNS = ("papermill", "nbclient")
"""Those that run a cell all the time."""


@dataclass
class Desk:
    """One folder in which all the programs work."""

    root: Path
    runtime: Path
    gate: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    session_id: str = ""
    kernel_id: str = ""

    def start(self, name: str, *words: str, terminal: int | None = None) -> None:
        log = (self.root / f"{name}.log").open("wb")
        self.processes[name] = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=log if terminal is None else terminal,
            stderr=log if terminal is None else terminal,
            cwd=self.root,
            env={**os.environ, "TERM": "dumb", "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        log.close()

    def find(self, name: str):
        """Return the kernel that a program started or is; None if it is not there yet."""
        root = psutil.Process(self.processes[name].pid)
        ended = self.processes[name].poll()
        assert ended is None, (self.root / f"{name}.log").read_text()
        family = {root.pid, *(child.pid for child in root.children(recursive=True))}
        return next((k for k in find_kernels() if k.alive and k.pid in family), None)

    def write_notebook(self, name: str) -> None:
        cell = nbformat.v4.new_code_cell(WAITS.format(gate=str(self.gate)))
        notebook = nbformat.v4.new_notebook(cells=[cell], metadata=KERNELSPEC)
        nbformat.write(notebook, self.root / "work" / name)

    def server_file(self) -> dict:
        """Return what the server's runtime file holds; nothing until it is written to its end."""
        for file in self.runtime.glob("jpserver-*.json"):
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(file.read_text())
        return {}

    def rest(self, path: str, body: dict | None = None, method: str | None = None):
        server = self.server_file()
        request = urllib.request.Request(
            f"{server['url']}{path}?no_track_activity=1",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {server['token']}"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=BOUND_S) as reply:
            return json.loads(reply.read() or "null")


KERNELSPEC = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    root = tmp_path_factory.mktemp("desk").resolve()
    sockets = tmp_path_factory.mktemp("s")
    runtime = root / "runtime"
    runtime.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RUNTIME", "CONFIG", "DATA"):
            patch.setenv(f"JUPYTER_{name}_DIR", str(root / name.lower()))
        patch.setenv("IPYTHONDIR", str(root / "ipython"))
        patch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
        desk = Desk(root=root, runtime=runtime, gate=root / "gate")
        master, terminal = pty.openpty()
        threading.Thread(target=_drain, args=(master,), daemon=True).start()
        try:
            _start_all(desk, terminal, sockets)
            yield desk
        finally:
            _end_all(desk)
            os.close(terminal)


def _start_all(desk: Desk, terminal: int, sockets: Path) -> None:
    launcher = (sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher")
    (desk.root / "work").mkdir()
    desk.start(
        "server",
        str(BIN / "jupyter"),
        "server",
        "--no-browser",
        "--allow-root",
        f"--ServerApp.root_dir={desk.root}",
        "--ip=127.0.0.1",
        "--port=0",
    )
    desk.write_notebook("in.ipynb")
    desk.start("papermill", str(BIN / "papermill"), "work/in.ipynb", "out.ipynb")
    desk.write_notebook("batch.ipynb")
    desk.start("nbclient", str(BIN / "jupyter"), "execute", "work/batch.ipynb")
    desk.start("console", str(BIN / "jupyter"), "console", terminal=terminal)
    desk.start("manager", str(BIN / "jupyter"), "kernel", "--kernel=python3")
    new = _write_file(desk.runtime / f"kernel-v3{uuid.uuid4().hex}{uuid.uuid4().hex[:8]}.json")
    desk.start("vscode", *launcher, f"--f={new}")
    old = desk.runtime / "kernel-v2-27192UrKTfdUH3bE.json"
    desk.start("old vscode", *launcher, *_old_flags(), f"--f={old}")
    public, secret = zmq.curve_keypair()
    curve = _write_file(
        desk.runtime / "kernel-curve.json", curve_publickey=public, curve_secretkey=secret
    )
    desk.start("curve", *launcher, "-f", str(curve))
    ipc = _write_file(desk.runtime / "kernel-ipc.json", transport="ipc", ip=str(sockets / "s"))
    desk.start("ipc", *launcher, "-f", str(ipc))
    wait_until(desk.server_file, what="the server's runtime file", bound_s=START_S)
    session = {
        "path": "work/prices.ipynb",
        "name": "prices.ipynb",
        "type": "notebook",
        "kernel": {"name": "python3"},
    }
    opened = wait_until(lambda: _post(desk, session), what="a session", bound_s=START_S)
    desk.session_id, desk.kernel_id = opened["id"], opened["kernel"]["id"]
    for name in NAMES:
        wait_until(lambda name=name: desk.find(name), what=name, bound_s=START_S)
    # To the server a kernel is starting until it has answered some front end.
    Person(SimpleNamespace(path=desk.find("server").path)).close()


def _post(desk: Desk, session: dict):
    """Open a notebook; None while the server does not listen yet."""
    try:
        return desk.rest("api/sessions", session)
    except urllib.error.URLError:
        return None


def _write_file(path: Path, **options) -> Path:
    write_connection_file(str(path), key=b"key", **options)
    return path


def _old_flags() -> list[str]:
    names = ("stdin", "control", "hb", "shell", "iopub")
    ports = [f"--{name}={port}" for name, port in zip(names, free_ports(5), strict=True)]
    quoted = ['--Session.signature_scheme="hmac-sha256"', f'--Session.key=b"{uuid.uuid4()}"']
    return ["--ip=127.0.0.1", *ports[:3], *quoted, ports[3], '--transport="tcp"', ports[4]]


def _drain(master: int) -> None:
    try:
        while os.read(master, 4096):
            pass
    except OSError:
        os.close(master)  # the terminal was closed


def _end_all(desk: Desk) -> None:
    family: list[psutil.Process] = []
    for process in desk.processes.values():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
            family += psutil.Process(process.pid).children(recursive=True)
    for process in desk.processes.values():
        process.kill()
        process.wait()
    for child in family:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            pass  # it went with its parent
    psutil.wait_procs(family, timeout=BOUND_S)


async def ask(link: KernelLink, op: str, **args):
    return await link.request(op, args, view=View(principal="agent"), timeout_s=BOUND_S)


@pytest.fixture
async def link_to(desk):
    links: list[KernelLink] = []

    def link(name: str) -> KernelLink:
        links.append(KernelLink(desk.find(name)))
        return links[-1]

    yield link
    for each in links:
        await each.close()


@pytest.fixture
async def session(desk):
    session = Session(Policy())
    yield session
    await session.close()


async def listed(session: Session, desk: Desk, name: str) -> dict:
    """Return the row of list_kernels that is of a program, once its control thread answers.

    A row without `runtime` is of a kernel that did not answer within the time of one look.
    """
    pid = (await asyncio.to_thread(desk.find, name)).pid
    async with asyncio.timeout(60):
        while True:
            items = (await session.call("list_kernels"))["result"]["items"]
            (item,) = [item for item in items if item.get("pid") == pid]
            if "runtime" in item:
                return item


def sit(sit_at, kernel: KernelInfo):
    return asyncio.to_thread(sit_at, SimpleNamespace(path=kernel.path))


@pytest.mark.parametrize("name", NAMES)
async def test_a_kernel_of_each_kind_is_found_and_answers(desk, link_to, name):
    link = link_to(name)
    assert link.kernel.front_end == FRONT_ENDS.get(name)
    notebook = NOTEBOOKS.get(name)
    assert link.kernel.notebook == (notebook and str(desk.root / "work" / notebook))
    assert (await ask(link, "list_stories"))["ok"]


@pytest.mark.parametrize("name", NAMES)
async def test_a_kernel_of_each_kind_answers_while_a_cell_runs(
    desk, link_to, sit_at, tmp_path, name
):
    link = link_to(name)
    gate = tmp_path / "gate"
    if name not in RUNS:
        person = await sit(sit_at, link.kernel)
        cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    assert (await ask(link, "list_stories"))["ok"]
    assert (await ask(link, "ping"))["result"]["busy"] is True
    gate.touch()
    if name not in RUNS:
        await asyncio.to_thread(person.finish, cell)


async def test_all_of_them_are_reported_in_one_short_time(desk, session):
    launcher = (sys.executable, "-m", "ipykernel_launcher", "-f")
    for name in ("halted", "dead"):
        desk.start(name, *launcher, str(desk.runtime / f"kernel-{name}.json"))
        wait_until(lambda name=name: desk.find(name), what=name)
    halted, dead = (desk.processes[name] for name in ("halted", "dead"))
    dead.kill()
    dead.wait()
    halt(halted.pid)
    took = []
    until = time.monotonic() + START_S
    expected = [(True, "busy")] * 2 + [(True, "idle")] * 7
    while len(took) < LOOKS:
        before = time.perf_counter()
        items = (await session.call("list_kernels", {"dead": True}))["result"]["items"]
        states = {item["id"]: (item["alive"], item.get("state")) for item in items}
        assert (states.pop("dead"), states.pop("halted")) == ((False, None), (False, "unknown"))
        # On a busy machine a kernel may answer later than one look waits.
        if sorted(states.values()) == expected:
            took.append(time.perf_counter() - before)
        assert time.monotonic() < until, states
    shown = ", ".join(f"{seconds * 1000:.0f}" for seconds in took)
    print(f"{len(NAMES) + 2} kernels, of them 2 busy, 1 stopped, 1 dead: {shown} ms")
    assert min(took) < LISTED_S
    halted.kill()
    halted.wait()
    for name in ("halted", "dead"):
        (desk.runtime / f"kernel-{name}.json").unlink()
        del desk.processes[name]


# --- Jupyter Server


async def test_the_server_states_since_when_its_kernel_is_idle_and_that_it_is_busy(
    desk, session, sit_at, tmp_path
):
    await asyncio.to_thread(wait_until, lambda: state(desk) == "idle", what="an idle kernel")
    item = await listed(session, desk, "server")
    assert item["since_s"] == item["last_activity_s"] < 60
    assert (item["state"], item["runtime"]) == ("idle", False)
    gate = tmp_path / "gate"
    person = await sit(sit_at, desk.find("server"))
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    await asyncio.to_thread(wait_until, lambda: state(desk) == "busy", what="the server's word")
    item = await listed(session, desk, "server")
    assert item["state"] == "busy"
    assert "since_s" not in item
    gate.touch()
    await asyncio.to_thread(person.finish, cell)


async def test_looking_changes_nothing_that_the_server_reports_its_front_ends(
    desk, session, sit_at, tmp_path
):
    await asyncio.to_thread(wait_until, lambda: state(desk) == "idle", what="an idle kernel")
    before = desk.rest(f"api/kernels/{desk.kernel_id}")
    seen = desk.rest("api/status")["last_activity"]
    for _ in range(LOOKS):
        await session.call("list_kernels")
    assert desk.rest(f"api/kernels/{desk.kernel_id}") == before
    assert desk.rest("api/status")["last_activity"] == seen
    gate = tmp_path / "gate"
    person = await sit(sit_at, desk.find("server"))
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    await asyncio.to_thread(wait_until, lambda: state(desk) == "busy", what="the server's word")
    for _ in range(LOOKS):
        await session.call("list_kernels")
        assert state(desk) == "busy"
    gate.touch()
    await asyncio.to_thread(person.finish, cell)


async def test_the_server_takes_a_running_cell_for_busy_whatever_agents_do_meanwhile(
    desk, session, link_to, sit_at, tmp_path
):
    link, gate = link_to("server"), tmp_path / "gate"
    person = await sit(sit_at, link.kernel)
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    await asyncio.to_thread(wait_until, lambda: state(desk) == "busy", what="the server's word")
    for _ in range(LOOKS):
        assert (await ask(link, "list_stories"))["ok"]
        await session.call("list_kernels")
        assert state(desk) == "busy"
    await link.close()
    for _ in range(LOOKS):
        await session.call("list_kernels")
        assert state(desk) == "busy"
    gate.touch()
    await asyncio.to_thread(person.finish, cell)
    await asyncio.to_thread(wait_until, lambda: state(desk) == "idle", what="the server's word")


async def test_a_renamed_notebook_is_known_by_its_new_name(desk):
    def rename(name):
        desk.rest(f"api/sessions/{desk.session_id}", {"path": f"work/{name}"}, "PATCH")

    rename("costs.ipynb")
    kernels = await asyncio.to_thread(find_kernels)
    found = resolve("costs.ipynb", kernels)
    assert (found.id, found.notebook) == (desk.kernel_id, str(desk.root / "work/costs.ipynb"))
    assert resolve("work/costs.ipynb", kernels) == found
    assert read_connection(found.path)["jupyter_session"].endswith("prices.ipynb")
    rename("prices.ipynb")
    assert resolve("prices.ipynb", await asyncio.to_thread(find_kernels)).id == desk.kernel_id


async def test_two_kernels_of_one_notebook_are_refused_unless_one_is_named(desk):
    body = {
        "path": "copy/prices.ipynb",
        "name": "prices.ipynb",
        "type": "notebook",
        "kernel": {"name": "python3"},
    }
    (desk.root / "copy").mkdir()
    other = await asyncio.to_thread(desk.rest, "api/sessions", body)
    path = str(desk.runtime / f"kernel-{other['kernel']['id']}.json")
    await asyncio.to_thread(wait_until, lambda: is_alive(path), what="the other kernel")
    kernels = await asyncio.to_thread(find_kernels)
    with pytest.raises(KernelError) as caught:
        resolve("prices.ipynb", kernels)
    assert caught.value.code == "ambiguous_kernel"
    assert resolve("copy/prices.ipynb", kernels).id == other["kernel"]["id"]
    await asyncio.to_thread(desk.rest, f"api/sessions/{other['id']}", None, "DELETE")


async def test_a_restart_by_the_server_keeps_the_ports_and_the_name(desk, session, link_to):
    link = link_to("server")
    assert (await ask(link, "list_stories"))["ok"]
    before = desk.find("server")
    info = read_connection(before.path)
    await asyncio.to_thread(desk.rest, f"api/kernels/{desk.kernel_id}/restart", {}, "POST")
    after = await asyncio.to_thread(wait_until, lambda: desk.find("server"), what="the kernel")
    assert read_connection(after.path) == info
    assert (after.id, after.notebook) == (before.id, before.notebook)
    assert after.pid != before.pid
    assert (await ask(link, "list_stories"))["notifications"][0].startswith("The kernel was rest")


async def test_a_token_goes_nowhere_but_to_its_server(desk, session, caplog):
    caplog.set_level("DEBUG")
    token = desk.server_file()["token"]
    replies = [
        await session.call("list_kernels"),
        await session.call("use_kernel", {"kernel": "x"}),
    ]
    assert len(token) > 20
    assert token not in json.dumps(replies) + caplog.text
    assert desk.server_file()["token"] == token


async def test_without_its_server_a_notebook_goes_by_the_name_of_its_file(desk, monkeypatch):
    (file,) = desk.runtime.glob("jpserver-*.json")
    hidden = file.rename(file.with_suffix(".hidden"))
    try:
        found = await asyncio.to_thread(desk.find, "server")
    finally:
        hidden.rename(file)
    assert found.notebook == str(desk.root / "work/prices.ipynb")
    assert found.front_end == "jupyter-server"


def state(desk: Desk) -> str:
    return desk.rest(f"api/kernels/{desk.kernel_id}")["execution_state"]


def is_alive(path: str) -> bool:
    found = find_kernel(path)
    return found is not None and found.alive
