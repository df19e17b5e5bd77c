"""One link to test against: to this process, or to a real kernel, beside or between its cells."""

import asyncio
import linecache
import os
import shutil
import subprocess
import sys
import types
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from answers import find_faults, find_step_faults
from bounds import BOUND_S, GRACE, PATIENT
from jupyter_client.manager import KernelManager
from jupyter_core.utils import ensure_event_loop
from missing import miss
from reconnecting import reconnecting

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.link.link import Link
from repl_pair.bridge.scratch_kernel import ScratchKernel, scratch_kernel
from repl_pair.runtime.kernel import deadlines
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last_results import RESULTS
from repl_pair.runtime.store import STORE
from repl_pair.wire import REPLY, REQUEST, Request, View

ROOT = Path(__file__).parents[2]
AGENT = View(principal="agent")

MARK = """
import repl_pair, sys, types
sys.modules["_before"] = types.ModuleType("_before")
sys.modules["_before"].undo = repl_pair.registry.checkpoint()
sys.modules["_before"].names = set(globals())
del repl_pair, sys, types
"""
RESET = """
import sys
sys.modules["_before"].undo()
from repl_pair.runtime.results.last_results import RESULTS
from repl_pair.runtime.store import STORE
STORE.reset(RESULTS.name, {})
STORE.set("global_args", {})
from repl_pair.runtime.project.database import project
if project().file.exists():
    from repl_pair.runtime.notices.deferred_writes import LATER
    LATER.flush()
    with project().writing() as connection:
        connection.execute("PRAGMA defer_foreign_keys = ON")
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (name,) in tables.fetchall():
            connection.execute(f"DELETE FROM {name}")
for name in set(globals()) - sys.modules["_before"].names - {"name", "sys"}:
    if not name.startswith("_"):
        del globals()[name]
del name, sys
"""
OLD = "ipykernel==6.29.5"
BESIDE_CELLS = {"direct": "", "kernel": "shared_kernel"}
"""The links that answer at any time, and the kernels that they lead to."""
BETWEEN_CELLS = {"xeus": "xeus_kernel", "no lock": "kernel_without_lock", "old": "old_kernel"}
LATER = dict.fromkeys(("no lock", "old"), pytest.mark.full)
"""Of the links whose requests wait between cells one is in the first part of the suite."""
"""Those that do not answer while the main thread runs something."""
LINKS = BESIDE_CELLS | BETWEEN_CELLS
ASKED_MEANWHILE = {
    "test_a_run_that_cannot_be_stopped_is_answered_and_its_late_record_dropped",
    "test_a_cancelled_call_stops_its_run",
    "test_a_call_that_waits_for_its_turn_is_reported_and_given_up",
    "test_a_waiting_call_that_is_cancelled_never_runs",
    "test_a_notice_in_the_late_reply_to_a_cancelled_call_is_shown_with_the_next",
}
"""The bodies that ask while a run holds the main thread."""


STOPPED = {
    "test_a_run_is_stopped_at_its_deadline",
    "test_no_component_can_end_more_than_its_own_run",
}
"""Those whose many cases are shown over one slow link too."""


class Desk(ThreadPoolExecutor):
    """The one thread in which the person's blocking client works, with its own event loop."""

    def __init__(self) -> None:
        super().__init__(max_workers=1)

    def __exit__(self, *error: object) -> None:
        self.submit(lambda: ensure_event_loop().close()).result()
        super().__exit__(*error)


REFUSALS = ("bad_arguments", "not_found", "unknown_op")
RUNS = ("run_variant", "run_variants", "preview_variant", "reset_variant")


@dataclass
class Ends:
    """A link, and the process behind it as its person sees it."""

    link: Link
    run_source: Callable[[str], Any]
    desk: Desk
    progress: list[Mapping[str, Any]] = field(default_factory=list)

    async def define(self, source: str) -> None:
        """Run source text in the process behind the link, as its person would."""
        await asyncio.get_running_loop().run_in_executor(self.desk, self.run_source, source)

    async def ask(self, op: str, *, view: View = AGENT, **args: Any) -> dict[str, Any]:
        """Return the whole reply, error or not; a result is of the type that the op names.

        A run is asked for in full, unless `detail` is given.
        """
        if op in RUNS:
            args = {"detail": "full"} | args
        reply = await self.link.request(
            op, args, view=view, timeout_s=BOUND_S, on_progress=self.progress.append
        )
        faults = find_faults(op, reply["result"]) if reply["ok"] else []
        assert not faults, "\n".join(faults)
        await self.take_steps(reply, view)
        return reply

    async def take_steps(self, reply: Mapping[str, Any], view: View) -> None:
        """Check the next steps of a reply; in this process, take those that change nothing."""
        assert not [*find_step_faults(reply)]
        for step in reply.get("next_steps", ()) if isinstance(self.link, DirectLink) else ():
            op, args = TABLE.get(step["op"]), {**step["args"]}
            if op and op.access in ("read", "inspect"):
                args.pop("wait_s", None)
                taken = await self.link.request(op.name, args, view=view, timeout_s=BOUND_S)
                assert taken["ok"] or taken["error"]["code"] not in REFUSALS, (step, taken)

    async def get(self, op: str, *, view: View = AGENT, **args: Any) -> Any:
        """Return the result; a refusal fails the test."""
        reply = await self.ask(op, view=view, **args)
        assert reply["ok"], str(reply)
        return reply["result"]

    async def refusal(self, op: str, *, view: View = AGENT, **args: Any) -> dict[str, Any]:
        """Return the error; an answer fails the test."""
        reply = await self.ask(op, view=view, **args)
        assert not reply["ok"], reply
        return reply["error"]

    async def run(self, variant_id: str, **args: Any) -> dict[str, Any]:
        """Run one variant and give its answer."""
        return await self.get("run_variant", variant_id=variant_id, **args)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def desk() -> Iterator[Desk]:
    with Desk() as desk:
        desk.submit(int).result()  # its thread stands from now on
        yield desk


@pytest.fixture(scope="session")
def shared_kernel(desk: Desk) -> Iterator[ScratchKernel]:
    """One kernel for all tests, each of which finds it as it was started."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with scratch_kernel(environment={"PYTHONPATH": path}) as kernel:
        assert desk.submit(kernel.run, MARK).result().error is None
        yield kernel


@pytest.fixture(scope="session")
def kernel_without_lock(desk: Desk, tmp_path_factory: Any) -> Iterator[ScratchKernel]:
    """An ipykernel that hides from us one of the names that our handlers lean on."""
    folder = tmp_path_factory.mktemp("ipython")
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "kernel" / "hide_lock.py", startup)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with scratch_kernel(environment={"PYTHONPATH": path, "IPYTHONDIR": str(folder)}) as kernel:
        assert desk.submit(kernel.run, MARK).result().error is None
        yield kernel


@pytest.fixture(scope="session")
def old_kernel(desk: Desk, tmp_path_factory: Any) -> Iterator[ScratchKernel]:
    """An ipykernel of the release before the one that we know."""
    folder = tmp_path_factory.mktemp("old")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    installed = subprocess.run([*pip, OLD], capture_output=True, text=True, timeout=BOUND_S)
    if installed.returncode:
        miss(f"pip has no index to install {OLD} from: {installed.stderr.strip()[-200:]}")
    path = os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
    with scratch_kernel(environment={"PYTHONPATH": path.rstrip(os.pathsep)}) as kernel:
        assert desk.submit(kernel.run, MARK).result().error is None
        yield kernel


@pytest.fixture(scope="session")
def xeus_kernel(desk: Desk, tmp_path_factory: Any) -> Iterator[ScratchKernel]:
    """A xeus-python kernel, started by its kernelspec."""
    folder = tmp_path_factory.mktemp("xeus")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    manager = KernelManager(kernel_name="xpython", connection_file=str(folder / "kernel-x.json"))
    with (folder / "log").open("wb") as log:
        environment = {**os.environ, "PYTHONPATH": path, "IPYTHONDIR": str(folder)}
        manager.start_kernel(stdout=log, stderr=log, env=environment, cwd=folder)
    process = manager.provisioner.process
    kernel = ScratchKernel(process, Path(manager.connection_file), folder / "log")
    try:
        kernel.open()
        with reconnecting(kernel.path):
            assert desk.submit(kernel.run, MARK).result().error is None
            yield kernel
    finally:
        kernel.close()
        manager.cleanup_resources()


@asynccontextmanager
async def to_this_process(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> AsyncIterator[Ends]:
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    undo, sources = REGISTRY.checkpoint(), []
    link = DirectLink()

    def run_source(source: str) -> None:
        name = f"<cell {len(sources)}>"
        sources.append(name)
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), main.__dict__)

    try:
        yield Ends(link=link, run_source=run_source, desk=desk)
    finally:
        await link.close()
        undo()
        STORE.reset(RESULTS.name, {})
        STORE.set("global_args", {})
        for name in sources:
            linecache.cache.pop(name, None)


@asynccontextmanager
async def to_a_kernel(kernel: ScratchKernel, desk: Desk) -> AsyncIterator[Ends]:
    info = find_kernel(str(kernel.path))
    assert info is not None
    link = KernelLink(info)

    def run_source(source: str) -> None:
        ran = kernel.run(source)
        assert ran.error is None, ran.error

    try:
        yield Ends(link=link, run_source=run_source, desk=desk)
    finally:
        await link.close()
        desk.submit(run_source, RESET).result()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a body over each link that can have it; what has many cases not over the slow ones."""
    if "link" not in metafunc.fixturenames:
        return
    name = metafunc.function.__name__
    has_cases = metafunc.definition.get_closest_marker("parametrize") is not None
    if name in STOPPED:
        slow = ["xeus"]
    else:
        slow = [] if has_cases or name in ASKED_MEANWHILE else list(BETWEEN_CELLS)
    params = [pytest.param(link, marks=LATER.get(link, ())) for link in (*BESIDE_CELLS, *slow)]
    metafunc.parametrize("link", params, indirect=True)


@pytest.fixture
async def link(request, monkeypatch, desk, anyio_backend) -> AsyncIterator[Ends]:
    """The ends of a link."""
    if request.param == "direct":
        ends = to_this_process(monkeypatch, desk)
    else:
        ends = to_a_kernel(request.getfixturevalue(LINKS[request.param]), desk)
    async with ends as opened:
        yield opened


@pytest.fixture
async def patient(link: Ends) -> AsyncIterator[None]:
    """Let a run that was stopped take its time to end, in the process behind the link."""
    usual_s = deadlines.GRACE_S
    await link.define(PATIENT)
    yield
    await link.define(GRACE.format(usual_s))


@pytest.fixture
async def both(shared_kernel, monkeypatch, desk, anyio_backend) -> AsyncIterator[list[Ends]]:
    """Both ends at once."""
    here, there = to_this_process(monkeypatch, desk), to_a_kernel(shared_kernel, desk)
    async with here as near, there as far:
        yield [near, far]


@pytest.fixture
def send(link: Ends) -> Callable[..., Any]:
    """Sends one request as it stands: `await send(op, args, call=, boot=, protocol=, without=)`."""

    async def send(op: str, args: dict[str, Any], **slots: Any) -> dict[str, Any]:
        await link.get("ping")
        hole = slots.pop("without", None)
        request = Request(op=op, args=args, call=uuid.uuid4().hex, boot=link.link.boot, view=AGENT)
        content = {n: v for n, v in (request.to_wire() | slots).items() if n != hole}
        if isinstance(link.link, KernelLink):
            line, attachment = await link.link.attached()
            if attachment.channel == "shell":
                return (await attachment.carrier._ask({"do": "take", "request": content}))["reply"]
            return await line.ask(REQUEST, content, answer=REPLY)
        loop, answer = asyncio.get_running_loop(), asyncio.Future()
        host = link.link._host
        host.submit(content, lambda r: loop.call_soon_threadsafe(answer.set_result, r), print)
        return await answer

    return send
