"""What a run puts out is in its record, and nothing of it anywhere that is the person's."""

import ast
import asyncio
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from bounds import BOUND_S

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.scratch_kernel import scratch_kernel
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")
EVAL = View(principal="agent", access=frozenset({"read", "run", "eval"}))
SHOWN = (
    *("display_data", "update_display_data", "execute_result", "clear_output", "error"),
    *("comm_open", "comm_msg", "comm_close"),
)
SLOTS = ("status", "outputs", "stdout", "stderr", "unattributed", "warnings", "logs")
LANES = ("main", "worker", "the person's own", "eval")
CALL = """
_plan = __import__("repl_pair.runtime.planning.planner", fromlist=["*"]).plan_variant({id!r})
_given = _plan.component(**{{**_plan.args, **{overrides!r}}})
await _given if hasattr(_given, "__await__") else _given
"""

STORIES = """
import asyncio, json, logging, os, subprocess, sys, threading, time, warnings
from pathlib import Path
import repl_pair, repl_pair.runtime.results.last_results
from IPython import get_ipython
from IPython.display import HTML, clear_output, display, update_display

def wait_for(path):
    until = time.monotonic() + 60
    while not Path(path).exists():
        assert time.monotonic() < until
        time.sleep(0.005)
"""
END = "import os as _os\nfor _n in (1, 2): _os.write(_n, b'<end>')"


@dataclass
class Desk:
    """A person at a kernel, an agent beside them, and all that their front end shows."""

    person: Any
    screen: Any
    link: KernelLink

    async def cell(self, code: str) -> Any:
        """Run a cell of the person's."""
        return await asyncio.to_thread(self.person.run, code)

    async def value(self, code: str) -> Any:
        """Return the value of an expression, asked where it leaves no trace."""
        content = {"code": "", "silent": True, "user_expressions": {"it": f"repr({code})"}}
        person = self.person
        sent = person._session.send(person._shell, "execute_request", content)
        reply = await asyncio.to_thread(person._next, person._shell, sent["header"]["msg_id"])
        it = reply["content"]["user_expressions"]["it"]
        assert it["status"] == "ok", it
        return ast.literal_eval(ast.literal_eval(it["data"]["text/plain"]))

    async def run(self, variant_id: str, lane: str = "main", **overrides: Any) -> dict[str, Any]:
        """Run a variant as an agent or, on the third lane, as the person; give what it put out.

        On the fourth, code that an agent sends calls its component.
        """
        if lane == "eval":
            return await self.eval(CALL.format(id=variant_id, overrides=overrides))
        if lane == "the person's own":
            await self.cell(f"repl_pair.run({variant_id!r}, overrides={overrides!r});")
        else:
            answer = await self.answer(variant_id, lane=lane, overrides=overrides or None)
            assert answer["status"] == "pass", answer
        return await self.record(variant_id)

    async def eval(self, code: str, **args: Any) -> dict[str, Any]:
        """Let an agent run code; give what it put out, without empty slots."""
        args = {"code": code, "wait_s": BOUND_S, **args}
        reply = await self.link.request("eval_code", args, view=EVAL, timeout_s=BOUND_S)
        assert reply["ok"], str(reply)
        assert reply["result"]["status"] in ("ok", "error"), reply
        return {n: v for n, v in reply["result"].items() if n in SLOTS and n != "status"}

    async def record(self, variant_id: str) -> dict[str, Any]:
        """Return what the last run of a variant put out; empty slots are left out."""
        slots = f"{{slot: getattr(record, slot) for slot in {SLOTS!r}}}"
        module = "__import__('repl_pair.runtime.results.last_results').runtime.results.last_results"
        last = f"{module}.last_result({variant_id!r})"
        given = await self.value(f"(lambda record: {slots})({last})")
        assert given["status"] == "pass"
        return {
            slot: list(value) if isinstance(value, tuple) else value
            for slot, value in given.items()
            if value and slot != "status"
        }

    async def answer(self, variant_id: str, **args: Any) -> dict[str, Any]:
        """Run a variant as an agent, and give the answer."""
        args = {"variant_id": variant_id, "wait_s": BOUND_S, "detail": "full", **args}
        reply = await self.link.request("run_variant", args, view=AGENT, timeout_s=BOUND_S)
        assert reply["ok"], str(reply)
        return reply["result"]

    async def shown(self) -> list[tuple[str, str]]:
        """Return all that the front end has shown since it was last asked, by any cell or none."""
        await self.cell(END)
        return await asyncio.to_thread(self._read)

    def _read(self) -> list[tuple[str, str]]:
        shown: list[tuple[str, str]] = []
        ends = {"stdout", "stderr"}
        while ends:
            assert self.screen._iopub.poll(BOUND_S * 1000)
            _, message = self.screen._session.recv(self.screen._iopub)
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                before = shown.pop()[1] if shown and shown[-1][0] == content["name"] else ""
                text = before + content["text"]
                if text.endswith("<end>"):
                    ends.discard(content["name"])
                    text = text.removesuffix("<end>")
                shown += [(content["name"], text)] if text else []
            elif kind in SHOWN:
                data = content.get("data") or content
                shown.append((kind, data.get("text/html") or data.get("text/plain") or str(data)))
        return shown


@contextmanager
def started_kernel():
    """Start a kernel as a front end does: it reads its descriptors, which none does in a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)
        patch.delenv("PYTHONUNBUFFERED", raising=False)
        patch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        with scratch_kernel() as kernel:
            yield kernel


@asynccontextmanager
async def at_desk(kernel, sit_at, *, attached=True):
    link = KernelLink(find_kernel(str(kernel.path)))
    desk = Desk(person=sit_at(kernel), screen=sit_at(kernel), link=link)
    try:
        if attached:
            await link.request("ping", {}, view=AGENT, timeout_s=BOUND_S)
        await desk.cell(STORIES)
        await desk.shown()
        yield desk
    finally:
        await link.close()


@pytest.fixture(scope="module")
def kernel():
    """One kernel for most of these tests."""
    with started_kernel() as kernel:
        yield kernel


@pytest.fixture
async def desk(kernel, sit_at):
    async with at_desk(kernel, sit_at) as desk:
        yield desk


# --- what is printed and shown

LOUD = """
def say():
    print("printed")
    sys.stdout.writelines(["line\\n", "by line\\n"])
    print("to the first stdout", file=sys.__stdout__)
    print("to stderr", file=sys.stderr)
    logging.getLogger("shop").warning("logged %d", 1)
    logging.getLogger("shop").debug("not logged")
    thread = threading.Thread(target=print, args=["in a thread"])
    thread.start(); thread.join()

def show():
    display(HTML("cleared"))
    clear_output()
    display(HTML("first"), display_id="one")
    display(HTML("second"))
    update_display(HTML("changed"), display_id="one")
    sys.displayhook("hooked")
    sys.displayhook(None)

@repl_pair.story("loud", thread_safe=True)
def loud():
    say()
    show()
    warnings.warn("warned")
    return {"rich": HTML("result"), "plain": 1}
repl_pair.variant("loud/It");
logging.basicConfig(force=True, format="%(message)s")
"""
HTML = {"text/plain": "<IPython.core.display.HTML object>"}
LOUD_RECORD = {
    "outputs": [
        HTML | {"text/html": "changed"},
        HTML | {"text/html": "second"},
        {"text/plain": "'hooked'"},
        {"text/html": "result"},
    ],
    "stdout": "printed\nline\nby line\nto the first stdout\n",
    "stderr": "to stderr\nlogged 1\n",
    "unattributed": "in a thread\n",
    "warnings": ["UserWarning: warned"],
    "logs": ["WARNING shop: logged 1"],
}
HISTORY = """
(lambda shell: [
    sorted(
        (n, o.output_type, str(o.bundle))
        for n, made in shell.history_manager.outputs.items() for o in made
    ),
    [shell.user_ns[n] for n in ("_", "__", "___")], dict(shell.user_ns["Out"]),
    shell.user_ns["In"], shell.execution_count, sorted(vars(__import__("builtins"))),
])(__import__("IPython").get_ipython())
"""


async def test_an_agent_is_answered_what_a_run_printed_and_showed(desk):
    await desk.cell(LOUD)
    answer = await desk.answer("loud/It")
    assert {n: answer[n] for n in LOUD_RECORD} == LOUD_RECORD
    await desk.cell("@repl_pair.story('quiet')\ndef quiet(): pass\nrepl_pair.variant('quiet/It');")
    assert not (await desk.answer("quiet/It")).keys() & {*SLOTS} - {"status", "outputs"}


@pytest.mark.parametrize("lane", LANES)
async def test_what_a_run_prints_and_shows_is_in_its_record_and_nowhere_else(desk, lane):
    await desk.cell(LOUD)
    await desk.cell("print('mine'); 'my value'")
    before = await desk.value(HISTORY)
    record = await desk.run("loud/It", lane)
    after = await desk.value(HISTORY)
    if lane != "the person's own":
        assert after == before
    else:
        outputs, names, out, cells, count, built_in = before
        cells = [*cells, "repl_pair.run('loud/It', overrides={});"]
        assert after == [outputs, names, out, cells, count + 1, built_in]
    warned = record.pop("stderr").removeprefix("to stderr\nlogged 1\n")
    if lane == "worker":
        assert warned.endswith('UserWarning: warned\n  warnings.warn("warned")\n')
        assert record == {n: LOUD_RECORD[n] for n in ("outputs", "stdout", "unattributed", "logs")}
    else:
        assert (warned, record) == ("", {n: v for n, v in LOUD_RECORD.items() if n != "stderr"})
    assert await desk.shown() == [("stdout", "mine\n"), ("execute_result", "'my value'")]


BROKEN = """
@repl_pair.story("broken")
def broken():
    try:
        1 / 0
    except ZeroDivisionError:
        get_ipython().showtraceback()
    logging.getLogger("shop").warning("%d", "no number")
    clear_output(wait=True)
    known.update(HTML("theirs"))
repl_pair.variant("broken/It");
known = display(HTML("mine"), display_id=True)
"""


async def test_tracebacks_and_updates_of_a_run_do_not_reach_what_the_person_sees(desk):
    await desk.cell(BROKEN)
    record = await desk.run("broken/It")
    assert "ZeroDivisionError" in record["stderr"]
    assert "--- Logging error ---" in record["stderr"]
    assert record["logs"] == ["WARNING shop: %d"]
    assert record["outputs"] == [HTML | {"text/html": "theirs"}]
    assert await desk.shown() == [("display_data", "mine")]


MEANWHILE = """
@repl_pair.story("meanwhile", thread_safe=True)
async def meanwhile(rounds: int = 40):
    for n in range(rounds):
        print("of the run")
        print("of the run", file=sys.stderr)
        display(HTML("of the run"))
        sys.displayhook("of the run")
        logging.getLogger("shop").warning("of the run")
        await asyncio.sleep(0.001)
repl_pair.variant("meanwhile/It");
"""
CELL = """
_n, _until = 0, time.monotonic() + 60
while not os.path.exists({gate!r}):
    assert time.monotonic() < _until
    print("mine"); print("mine", file=sys.stderr); display(HTML("mine"))
    _n += 1; time.sleep(0.002)
_n
"""


async def test_the_functions_by_which_ipython_displays_stay_as_they_are_in_a_kernel(desk):
    await desk.cell(LOUD)
    assert (await desk.answer("loud/It"))["outputs"]
    files = "{f.__code__.co_filename.split('/')[-1] for f in (display, clear_output)}"
    assert await desk.value(files) == {"display_functions.py"}


async def test_a_cell_and_a_worker_that_put_out_at_once_each_keep_their_own(desk, tmp_path):
    await desk.cell(MEANWHILE)
    gate = tmp_path / "gate"
    cell = await asyncio.to_thread(desk.person.start, CELL.format(gate=str(gate)))
    assert (await desk.answer("meanwhile/It", lane="worker"))["status"] == "pass"
    gate.touch()
    rounds = int((await asyncio.to_thread(desk.person.finish, cell)).value)
    assert rounds > 1
    record = await desk.record("meanwhile/It")
    html = [HTML | {"text/html": "of the run"}, {"text/plain": "'of the run'"}]
    assert record == {
        "stdout": "of the run\n" * 40,
        "stderr": "of the run\n" * 80,
        "outputs": html * 40,
        "logs": ["WARNING shop: of the run"] * 40,
    }
    shown = await desk.shown()
    for kind in ("stdout", "stderr"):
        assert "".join(text for k, text in shown if k == kind) == "mine\n" * rounds
    displayed = [one for one in shown if one[0] not in ("stdout", "stderr")]
    assert displayed == [("display_data", "mine")] * rounds + [("execute_result", str(rounds))]
    outputs = await desk.value(HISTORY + "[0]")
    assert "of the run" not in str(outputs)


async def test_a_run_sees_what_it_sets_as_write_and_the_person_does_not(desk, tmp_path):
    await desk.cell("""
@repl_pair.story("setting", thread_safe=True)
def setting(started: str, gate: str):
    own = sys.stdout.write
    sys.stdout.write = lambda text: own(text.upper())
    print("changed")
    get_ipython().run_cell("print('in a cell of its own')", silent=True)
    Path(started).touch()
    wait_for(gate)
    sys.stdout.write = own
    print("again")
repl_pair.variant("setting/It");
""")
    started, gate = tmp_path / "started", tmp_path / "gate"
    paths = {"started": str(started), "gate": str(gate)}
    running = asyncio.create_task(desk.run("setting/It", "worker", **paths))
    async with asyncio.timeout(BOUND_S):
        while not started.exists():
            await asyncio.sleep(0.005)
    await desk.cell("print('mine')")
    gate.touch()
    assert await running == {"stdout": "CHANGED\nIN A CELL OF ITS OWN\nagain\n"}
    assert await desk.shown() == [("stdout", "mine\n")]


async def test_whoever_keeps_a_streams_write_writes_for_whoever_calls_it(desk):
    await desk.cell("""
mine = sys.stdout.write
@repl_pair.story("keeping")
def keeping():
    global theirs
    theirs = sys.stdout.write
    mine("run\\n")
    theirs("run\\n")
repl_pair.variant("keeping/It");
""")
    assert await desk.run("keeping/It") == {"stdout": "run\n" * 2}
    await desk.cell("mine('person\\n'); theirs('person\\n');")
    assert await desk.shown() == [("stdout", "person\n" * 2)]


async def test_a_cell_whose_person_captures_it_captures_nothing_of_a_run(desk, tmp_path):
    gate, started = tmp_path / "gate", tmp_path / "started"
    await desk.cell(f"""
@repl_pair.story("captured", thread_safe=True)
def captured():
    Path({str(started)!r}).touch()
    wait_for({str(gate)!r})
    display(HTML("run")); sys.displayhook("run")
repl_pair.variant("captured/It");
""")
    running = asyncio.create_task(desk.answer("captured/It", lane="worker"))
    await desk.cell(f"""%%capture outer
wait_for({str(started)!r})
print("mine"); display(HTML("mine"))
Path({str(gate)!r}).touch()
until = time.monotonic() + 20
last = repl_pair.runtime.results.last_results
while last.last_result("captured/It") is None and time.monotonic() < until:
    time.sleep(0.005)
""")
    assert (await running)["status"] == "pass"
    html = [HTML | {"text/html": "run"}, {"text/plain": "'run'"}]
    assert await desk.record("captured/It") == {"outputs": html}
    shown = await desk.value("[outer.stdout, [o.data['text/html'] for o in outer.outputs]]")
    assert shown == ["mine\n", ["mine"]]
    assert await desk.shown() == []


async def test_a_run_in_a_cell_that_redirects_its_output_keeps_its_own(desk):
    await desk.cell("""
import contextlib, io
@repl_pair.story("plain")
def plain():
    print("run")
    with contextlib.redirect_stdout(io.StringIO()) as inner:
        print("inner")
    return inner.getvalue()
repl_pair.variant("plain/It");
with contextlib.redirect_stdout(io.StringIO()) as outer:
    print("mine")
    record = repl_pair.run("plain/It")
    print("mine")
""")
    assert await desk.value("[outer.getvalue(), record.stdout, record.result]") == [
        "mine\nmine\n",
        "run\n",
        "inner\n",
    ]


# --- processes

CHILDREN = """
import ctypes, multiprocessing
def fork_and_say():
    print("forked")
    display("shown")
    os.write(2, b"forked too\\n")

def start_all():
    echo = ["sh", "-c", "echo $0; echo $0 err >&2"]
    assert subprocess.run([*echo, "run"]).returncode == 0
    assert subprocess.run([*echo, "one"], stderr=subprocess.PIPE).stderr == b"one err\\n"
    assert subprocess.run([*echo, "both"], stderr=subprocess.STDOUT).stdout is None
    assert subprocess.check_output([*echo, "kept"], stderr=2) == b"kept\\n"
    process = subprocess.Popen([*echo, "popen"], stdin=subprocess.PIPE)
    assert process.stdout is process.stderr is None
    assert process.communicate(b"") == (None, None)
    subprocess.run([*echo, "stream"], stdout=sys.stdout, stderr=1)
    assert os.system("echo system; exit 3") == 3 << 8
    assert os.system("kill -9 $$") == 9
    with os.popen("echo back; echo popened >&2") as back:
        assert back.read() == "back\\n"
    fork = multiprocessing.get_context("fork").Process(target=fork_and_say)
    fork.start(); fork.join()
    assert fork.exitcode == 0

async def start_later():
    process = await asyncio.create_subprocess_exec("echo", "exec")
    assert await process.wait() == 0 and process.stdout is None
    process = await asyncio.create_subprocess_shell("echo shell >&2")
    assert await process.communicate() == (None, None)

@repl_pair.story("parent", thread_safe=True)
async def parent():
    print("printed")
    start_all()
    await start_later()
repl_pair.variant("parent/It");
"""
PRINTED_BY_CHILDREN = """run
run err
one
both
both err
kept err
popen
popen err
stream
stream err
system
popened
forked
'shown'
forked too
exec
shell
"""
PIPES = """
[sorted(link for fd in os.listdir("/proc/self/fd")
    if os.path.lexists(it := f"/proc/self/fd/{fd}") and (link := os.readlink(it))[:4] == "pipe"),
 sum(thread.name == "repl_pair pipe" for thread in threading.enumerate())]
"""


@pytest.mark.parametrize("lane", LANES)
async def test_what_processes_of_a_run_print_is_in_its_record_and_nowhere_else(desk, lane):
    await desk.cell(CHILDREN)
    # The first one on the main thread opens what later ones use again.
    await desk.run("parent/It")
    opened = await desk.value(PIPES)
    record = await desk.run("parent/It", lane)
    record.pop("warnings", None)  # later Pythons warn of forks
    assert record == {"stdout": "printed\n", "unattributed": PRINTED_BY_CHILDREN}
    assert await desk.value(PIPES) == opened
    assert await desk.shown() == []
    await desk.cell("start_all()")
    # What is displayed ends with no line of its own, and comes at any place, also before a line.
    shown = [text for kind, text in await desk.shown() if kind != "execute_result"]
    stated = [text.replace("'shown'", "").splitlines() for text in shown]
    assert {"run", "run err", "system", "forked"} <= {line for lines in stated for line in lines}


RAW = """
libc = ctypes.CDLL(None)
@repl_pair.story("raw")
def raw(size: int = 0):
    os.write(1, b"written\\n")
    libc.printf(b"from C\\n")
    os.write(2, b"w" * size)
    subprocess.run(["sh", "-c", "echo child"])
repl_pair.variant("raw/It");
libc.printf(b"the person's own, held back by C\\n");
"""


@pytest.mark.parametrize("lane", ["main", "the person's own"])
async def test_what_c_code_of_a_run_writes_is_in_its_record_and_nowhere_else(desk, lane):
    await desk.cell(CHILDREN + RAW)
    record = await desk.run("raw/It", lane)
    lines = record.pop("unattributed").splitlines()
    assert sorted(lines) == ["child", "from C", "written"]
    assert record == {}
    assert await desk.shown() == [("stdout", "the person's own, held back by C\n")]
    much = await desk.run("raw/It", lane, size=300_000)
    assert much["unattributed"].count("w") == 300_001
    assert await desk.shown() == []


INTERRUPTS = """
import signal
from repl_pair.runtime.capture.capture import capture
class Interrupted(BaseException): pass
def interrupt(*_): raise Interrupted
def interrupt_all(rounds):
    with capture(exclusive=True):
        pass  # starts a thread, and Python itself does not stand an interrupt of that
    handler, hits = signal.signal(signal.SIGALRM, interrupt), 0
    for number in range(rounds):
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-6 + 1e-7 * number)
            with capture(exclusive=True):
                print("run"); os.write(1, b"run")
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupted:
            hits += 1
    signal.signal(signal.SIGALRM, handler)
    return hits
"""


async def test_an_interrupt_at_any_moment_leaves_the_persons_output_as_it_was(desk):
    await desk.cell(INTERRUPTS)
    await desk.cell("hits = interrupt_all(2_000); print('mine')")
    hits = await desk.value("hits")
    print(f"2000 runs, {hits} interrupted")
    assert hits > 100
    assert await desk.shown() == [("stdout", "mine\n")]
    await desk.cell("print('mine'); os.write(1, b'mine\\n'); os.system('echo mine');")
    assert await desk.shown() == [("stdout", "mine\n" * 3)]


async def test_a_process_of_the_persons_that_writes_during_a_run_writes_to_the_person(
    desk, tmp_path
):
    gate, done = tmp_path / "gate", tmp_path / "done"
    await desk.cell(f"""
def speak():
    wait_for({str(gate)!r})
    os.system("echo from a thread of the person")
    Path({str(done)!r}).touch()
script = "while ! [ -e {gate} ]; do sleep 0.01; done; echo from the person"
before = subprocess.Popen(["sh", "-c", script])
thread = threading.Thread(target=speak); thread.start()
@repl_pair.story("raw.gated")
def gated():
    os.write(1, b"from the run\\n")
    Path({str(gate)!r}).touch()
    wait_for({str(done)!r})
    before.wait(); thread.join()
repl_pair.variant("raw.gated/It");
""")
    assert await desk.run("raw.gated/It") == {"unattributed": "from the run\n"}
    shown = await desk.shown()
    assert sorted(shown[0][1].splitlines()) == ["from a thread of the person", "from the person"]
    assert shown[1:] == []


async def test_a_process_that_outlives_its_run_holds_nothing_up_and_is_not_captured_again(
    desk, tmp_path
):
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    await desk.cell(f"""
script = "echo begun; touch {begun}; while ! [ -e {gate} ]; do sleep 0.01; done; "
script += "yes | head -c 300000; exit 7"
@repl_pair.story("leaving", thread_safe=True)
def leaving():
    global child
    child = subprocess.Popen(["sh", "-c", script])
    wait_for({str(begun)!r})
repl_pair.variant("leaving/It");
""")
    answer = await desk.answer("leaving/It", lane="worker")
    assert (answer["status"], answer["elapsed_ms"] < BOUND_S * 1000 / 2) == ("pass", True)
    gate.touch()
    assert await desk.value("child.wait(20)") == 7
    assert (await desk.record("leaving/It")) == {"unattributed": "begun\n"}
    assert await desk.shown() == []


# --- threads

THREADS = """
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
import contextvars, decimal
THEIRS = ThreadPoolExecutor(1)
THEIRS.submit(print, "started by the person").result()
OURS = ThreadPoolExecutor(1)

def fail():
    raise ValueError("failed in a thread")

@repl_pair.story("threads", thread_safe=True)
async def threads():
    print("run")
    thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
    assert "run" not in vars(thread)
    thread = threading.Thread(target=fail); thread.start(); thread.join()
    timer = threading.Timer(0, display, ["timer"]); timer.start(); timer.join()
    decimal.getcontext().prec = 7
    for pool in (THEIRS, OURS):
        assert pool.submit(lambda: decimal.getcontext().prec).result() != 7
        pool.submit(print, "item").result()
        list(pool.map(logging.getLogger("shop").warning, ["logged"]))
        future = pool.submit(time.sleep, 0.01)
        future.add_done_callback(lambda _: print("done"))
        pool.submit(int).result()
    with ThreadPool(1) as pool:
        pool.apply(print, ["pool"])
    await asyncio.to_thread(print, "to_thread")
    await asyncio.get_running_loop().run_in_executor(None, print, "in executor")
repl_pair.variant("threads/It");
"""


@pytest.mark.parametrize("lane", LANES)
async def test_what_threads_of_a_run_put_out_is_in_its_record_and_nowhere_else(desk, lane):
    await desk.cell(THREADS)
    await desk.shown()
    record = await desk.run("threads/It", lane)
    stated = record.pop("unattributed")
    assert "ValueError" in stated
    assert "failed in a thread" in stated
    lines = [line for line in stated.splitlines() if line in THREAD_LINES]
    assert lines == THREAD_LINES
    assert record == {
        "stdout": "run\nto_thread\n",
        "outputs": [{"text/plain": "'timer'"}],
        "logs": ["WARNING shop: logged"] * 2,
    }
    await desk.cell("for pool in (THEIRS, OURS): pool.submit(print, 'mine').result()")
    assert await desk.shown() == [("stdout", "mine\n" * 2)]


THREAD_LINES = ["thread", *["item", "logged", "done"] * 2, "pool", "in executor"]


async def test_a_pool_that_a_run_has_started_serves_the_person_even_while_the_run_goes_on(
    desk, tmp_path
):
    gate, started = tmp_path / "gate", tmp_path / "started"
    await desk.cell(f"""
from concurrent.futures import ThreadPoolExecutor
@repl_pair.story("shared", thread_safe=True)
def shared():
    global SHARED
    SHARED = ThreadPoolExecutor(1)
    SHARED.submit(print, "run").result()
    Path({str(started)!r}).touch()
    wait_for({str(gate)!r})
    SHARED.submit(print, "run").result()
repl_pair.variant("shared/It");
""")
    running = asyncio.create_task(desk.answer("shared/It", lane="worker"))
    await desk.cell(f"""
wait_for({str(started)!r})
SHARED.submit(print, "mine").result()
Path({str(gate)!r}).touch()
""")
    assert (await running)["status"] == "pass"
    assert await desk.record("shared/It") == {"unattributed": "run\n" * 2}
    assert await desk.shown() == [("stdout", "mine\n")]


async def test_a_thread_that_outlives_its_run_is_not_captured_and_pools_serve_the_person(
    desk, tmp_path
):
    gate, done = tmp_path / "gate", tmp_path / "done"
    await desk.cell(
        THREADS
        + f"""
def late():
    wait_for({str(gate)!r})
    print("late"); display("late"); sys.displayhook("late"); os.system("echo late")
    Path({str(done)!r}).touch()

@repl_pair.story("late", thread_safe=True)
def starts():
    global POOL, MADE
    MADE = ThreadPoolExecutor(1)
    MADE.submit(print, "early").result()
    POOL = ThreadPool(1)
    POOL.apply(print, ["early"])
    threading.Thread(target=late).start()
repl_pair.variant("late/It");
"""
    )
    await desk.shown()
    assert await desk.run("late/It", "worker") == {"unattributed": "early\n" * 2}
    gate.touch()
    await desk.cell(f"wait_for({str(done)!r}); MADE.submit(print, 'mine').result()")
    await desk.cell("POOL.apply(print, ['mine']); POOL.terminate(); POOL.join()")
    assert await desk.shown() == [("stdout", "mine\n" * 2)]


# --- widgets

WIDGETS = """
import comm, ipywidgets, tqdm.notebook
from ipywidgets.widgets.widget import _instances
mine = ipywidgets.IntSlider(description="mine")

class Odd(ipywidgets.IntText):
    def close(self):
        raise ValueError("as it closes")

@repl_pair.story("widgets", thread_safe=True)
def widgets(how: str):
    global kept, late
    if how == "bar":
        for _ in tqdm.notebook.tqdm(range(3)):
            pass
    elif how == "brief bar":
        list(tqdm.notebook.tqdm(range(3), leave=False))
    elif how == "changed":
        kept = ipywidgets.IntSlider(value=1)
        display(kept)
        kept.value = 5
    elif how == "box":
        return ipywidgets.HBox([ipywidgets.IntText(value=n) for n in (11, 22)])
    elif how == "odd":
        display(Odd(value=3))
    elif how == "printing":
        with (out := ipywidgets.Output()):
            print("inside")
        out.append_stdout("appended")
        return out
    elif how == "closed":
        kept.close()
        return kept
    elif how == "secret":
        return ipywidgets.VBox([ipywidgets.Text(value="swordfish-9", description="API key:")])
    elif how == "bare":
        comm.create_comm(target_name="bare", data={"of": "the run"}).send({"more": 1})
    elif how == "late":
        late = threading.Thread(target=lambda: [gate.wait(60), ipywidgets.IntText()])
        late.start()

HOW = ["bar", "brief bar", "changed", "box", "odd", "printing", "closed", "secret", "bare", "late"]
for how in HOW:
    repl_pair.variant(f"widgets/{how.title().replace(' ', '_')}", args={"how": how})
"""
LIVE = "[len(_instances), len(comm.get_comm_manager().comms)]"


@pytest.mark.parametrize("lane", LANES)
async def test_widgets_of_a_run_send_nothing_end_with_it_and_their_last_state_is_its_output(
    desk, lane
):
    await desk.cell(WIDGETS)
    before = await desk.value(LIVE)
    await desk.shown()
    bars = [await desk.run("widgets/Bar", lane) for _ in range(10)]
    assert await desk.value(LIVE) == before
    assert await desk.shown() == []
    texts = [output["text/plain"] for bar in bars for output in bar["outputs"]]
    # A bar that was collected meanwhile has the text that ipywidgets gives it.
    assert ["3/3" in text for text in texts] == [True] * 10
    texts = {
        "Changed": "IntSlider(value=5)",
        "Box": "HBox(children=(IntText(value=11), IntText(value=22)))",
        "Odd": "Odd(value=3)",
    }
    for how, text in texts.items():
        record = await desk.run(f"widgets/{how}", lane)
        assert [output["text/plain"] for output in record["outputs"]] == [text]
    assert (await desk.run("widgets/Brief_Bar", lane))["outputs"]
    odd = await desk.run("widgets/Odd", lane)
    assert odd["stderr"].startswith("close() of a widget: ValueError: as it closes\n")
    printed = await desk.run("widgets/Printing", lane)
    assert printed["stdout"] == "inside\n"
    assert "appended" in printed["outputs"][0]["text/plain"]
    for how in ("Closed", "Bare"):
        assert await desk.run(f"widgets/{how}", lane) == {}
    assert await desk.value(LIVE) == before
    assert await desk.shown() == []
    await desk.cell("kept.value = 6; mine.value = 6")
    kind, sent = (await desk.shown()).pop()
    assert (kind, "'value': 6" in sent) == ("comm_msg", True)


async def test_what_a_thread_opens_after_its_run_ends_with_the_thread(desk):
    await desk.cell(f"{WIDGETS}\ngate = threading.Event()")
    before = await desk.value(LIVE)
    await desk.shown()
    assert await desk.run("widgets/Late", "worker") == {}
    await desk.cell("gate.set(); late.join()")
    assert await desk.value(LIVE) == before
    assert await desk.shown() == []


async def test_what_a_widget_holds_under_the_label_of_a_secret_does_not_leave(desk):
    await desk.cell(WIDGETS)
    answer = await desk.answer("widgets/Secret")
    assert "swordfish" not in str(answer)
    assert "API key" in answer["outputs"][0]["text/plain"]


# --- figures

FIGURES = """
import matplotlib, matplotlib.pyplot as plt
from matplotlib._pylab_helpers import Gcf
from matplotlib_inline import backend_inline
from matplotlib_inline.config import InlineBackend
InlineBackend.instance().close_figures = True
plt.close("all")
plt.ion()
plt.rcParams["figure.dpi"] = 50
drawn = []

@repl_pair.story("plot", thread_safe=True)
def plot(how: str):
    if how == "drawn on":
        plt.title("of the run")
        assert plt.get_fignums() == [1] and plt.gcf() is not mine
        assert backend_inline.show._draw_called and len(backend_inline.show._to_draw) == 1
        return None
    fig, ax = plt.subplots(figsize=(200_000, 2) if how == "too large" else (2, 2))
    if how == "raised":
        raise ValueError("with a figure open")
    if how == "undrawable":
        ax.set_title("$\\\\broken{$")
    own = fig.savefig
    fig.savefig = lambda *args, **kwargs: [drawn.append(how), own(*args, **kwargs)]
    if how == "displayed":
        display(fig)
    if how == "shown":
        plt.title("shown")
        plt.show()
    if how == "shown and changed":
        plt.show()
        plt.title("changed")
    if how == "closed":
        plt.close("all")
    if how == "object":
        plt.close(fig)
        matplotlib.figure.Figure()
    if how == "own axes":
        plt.close(fig)
        return matplotlib.figure.Figure(figsize=(1, 1)).subplots()
    if how == "theirs":
        plt.figure(mine)
        plt.gca().set_xlabel("set by the run")
    return {"result": fig, "in a list": [fig, "text"], "axes": ax, "both": (fig, ax)}.get(how)

@repl_pair.assertion("plots")
def plots(settled):
    plt.figure()
    return True

PLAYS = {"raised": [["raises", "ValueError"]], "judged": [["plots"]]}
HOW = ["drawn on", "left open", "raised", "displayed", "undrawable", "too large", "shown",
       "shown and changed", "closed", "object", "theirs", "result", "in a list", "axes", "own axes",
       "both", "judged"]
for how in HOW:
    given = {"how": "closed" if how == "judged" else how}
    name = how.title().replace(" ", "_")
    repl_pair.variant(f"plot/{name}", args=given, play=PLAYS.get(how, []))
"""
# It stays open, undrawn: the inline backend shows and closes it once it has to draw.
MINE = "plt.ioff(); mine = plt.figure(figsize=(3, 1)); plt.title('mine'); plt.ion();"
FIGURES_NOW = """
[list(Gcf.figs), [m.canvas.figure is mine for m in Gcf.figs.values()], mine.axes[0].get_title(),
 len(mine.axes), backend_inline.show._draw_called, len(backend_inline.show._to_draw)]
"""
IMAGES = {
    "Drawn_On": 1,
    "Left_Open": 1,
    "Raised": 1,
    "Displayed": 1,
    "Shown": 1,
    "Shown_And_Changed": 2,
    "Closed": 0,
    "Object": 0,
    "Result": 1,
    "In_A_List": 1,
    "Axes": 1,
    "Own_Axes": 1,
    "Both": 1,
    "Judged": 1,
    "Theirs": 1,
}


def images(record):
    """Return how many images there are, and all other outputs."""
    bundles = record.get("outputs", [])
    found = [b for b in bundles if b.get("image/png", "").startswith("iVBOR")]
    return len(found), [b for b in bundles if b not in found]


@pytest.mark.parametrize("lane", LANES)
async def test_figures_of_a_run_are_in_its_record_and_closed_and_the_persons_are_as_they_were(
    desk, lane
):
    await desk.cell(FIGURES)
    await desk.cell(MINE)
    before = await desk.value(FIGURES_NOW)
    assert before == [[1], [True], "mine", 1, False, 0]
    await desk.shown()
    for how, count in IMAGES.items():
        if (how, lane) == ("Judged", "eval"):
            continue  # it has no play, which draws that
        assert (how, images(await desk.run(f"plot/{how}", lane))) == (how, (count, []))
        assert await desk.value(FIGURES_NOW) == before
    once = "[drawn.count(how) for how in ('left open', 'result', 'in a list')]"
    assert await desk.value(once) == [1, 1, 1]
    _, broken = images(await desk.run("plot/Undrawable", lane))
    assert broken[0]["text/plain"].startswith("[figure could not be drawn: ValueError: ")
    _, large = images(await desk.run("plot/Too_Large", lane))
    sentence = "[figure of 10000000 x 100 pixels is over the limit of 25000000]"
    assert large == [{"text/plain": sentence}]
    assert await desk.shown() == []
    await desk.cell("plt.figure(figsize=(1, 1));")
    shown = ["<Figure size 150x50 with 1 Axes>", "<Figure size 50x50 with 0 Axes>"]
    assert await desk.shown() == [("display_data", figure) for figure in shown]


async def test_a_figure_that_is_returned_is_an_image_and_a_word_and_no_dump(desk):
    await desk.cell(FIGURES)
    words = {
        "Result": "<Figure>",
        "Axes": "<Axes>",
        "Own_Axes": "<Axes>",
        "In_A_List": ["<Figure>", "text"],
        "Both": ["<Figure>", "<Axes>"],
    }
    for how, word in words.items():
        answer = await desk.answer(f"plot/{how}")
        assert (answer["result"], images(answer)) == (word, (1, [])), how


async def test_a_cell_that_plots_while_a_worker_plots_shows_its_own_figure_alone(desk, tmp_path):
    gate, started = tmp_path / "gate", tmp_path / "started"
    await desk.cell(f"""{FIGURES}
@repl_pair.story("plot.beside", thread_safe=True)
def beside():
    plt.figure(); plt.title("of the run")
    Path({str(started)!r}).touch()
    wait_for({str(gate)!r})
    plt.title("still of the run")
    plt.show(); plt.figure(); plt.close("all"); plt.figure()
repl_pair.variant("plot.beside/It");
""")
    running = asyncio.create_task(desk.answer("plot.beside/It", lane="worker"))
    cell = f"""
plt.figure(figsize=(3, 1)); plt.title("mine")
wait_for({str(started)!r})
plt.ylabel("mine too"); Path({str(gate)!r}).touch()
from repl_pair.runtime.results.last_results import last_result
while last_result("plot.beside/It") is None: time.sleep(0.005)
plt.gca().get_title(), plt.gca().get_ylabel(), plt.get_fignums()
"""
    await desk.cell(cell)
    assert (await running)["status"] == "pass"
    count, rest = images(await desk.record("plot.beside/It"))
    assert (count, rest) == (2, [])
    assert await desk.shown() == [
        ("execute_result", "('mine', 'mine too', [1])"),
        ("display_data", "<Figure size 150x50 with 1 Axes>"),
    ]
    assert await desk.value("list(Gcf.figs)") == []


STOPPED = """
from repl_pair.runtime.capture.capture import capture
class Stopped(BaseException): pass
destroyed = []
try:
    with capture(exclusive=True) as out:
        plt.figure().canvas.manager.destroy = lambda: destroyed.append("the run's")
        raise Stopped
except Stopped:
    pass
"""


async def test_the_figures_of_a_run_that_is_stopped_are_closed(desk):
    await desk.cell(FIGURES)
    await desk.cell(STOPPED)
    assert await desk.value("[destroyed, list(Gcf.figs), out.bundles()]") == [["the run's"], [], ()]
    assert await desk.shown() == []


FIRST = """
@repl_pair.story("plot.first", thread_safe=True)
def first():
    import matplotlib.pyplot as plt
    plt.figure(figsize=(1, 1))
    from concurrent.futures import ThreadPoolExecutor
    ThreadPoolExecutor(1).submit(print, "item").result()
repl_pair.variant("plot.first/It");
"""


@pytest.mark.parametrize("lane", LANES)
async def test_a_run_that_is_the_first_to_load_pyplot_has_its_figures_to_itself(sit_at, lane):
    with started_kernel() as kernel:
        async with at_desk(kernel, sit_at) as desk:
            await desk.cell(FIRST)
            assert await desk.value("'matplotlib' in sys.modules") is False
            before = await desk.value("[str(finder) for finder in sys.meta_path]")
            record = await desk.run("plot.first/It", lane)
            assert record.pop("unattributed") == "item\n"
            assert images(record) == (1, [])
            await desk.cell("import matplotlib.pyplot as plt; plt.get_fignums()")
            assert await desk.shown() == [("execute_result", "[]")]
            assert await desk.value("[str(finder) for finder in sys.meta_path][:3]") == before[:3]


# --- coming out

WRAPPED = """
import asyncio.base_events, comm, concurrent.futures.thread, logging, os
import matplotlib._pylab_helpers
import subprocess, sys, threading
from IPython.core import displayhook, displaypub
from matplotlib_inline import backend_inline
def wrapped():
    shell = get_ipython()
    owners = {
        "comm": comm.base_comm.BaseComm, "stdout": type(sys.stdout),
        "stderr": type(sys.stderr), "first": sys.__stdout__,
        "logger": logging.Logger, "thread": threading.Thread,
        "future": concurrent.futures.Future, "popen": subprocess.Popen, "os": os,
        "pool": concurrent.futures.thread.ThreadPoolExecutor,
        "pub": type(shell.display_pub), "pub.captured": displaypub.CapturingDisplayPublisher,
        "hook": type(shell.displayhook), "hook.captured": displayhook.CapturingDisplayHook,
        "hook.between": type(shell.display_trap.old_hook), "shell": shell,
        "figures": matplotlib._pylab_helpers.Gcf, "inline": backend_inline,
    }
    names = {
        "write", "writelines", "callHandlers", "start", "add_done_callback", "__init__", "system",
        "fork", "submit", "publish", "clear_output", "__call__", "_showtraceback", "figs", "show",
        "open",
    }
    return {
        (owner, name): id(thing)
        for owner, space in owners.items() for name, thing in vars(space).items() if name in names
    } | {owner: id(space) for owner, space in owners.items()}
"""


async def test_what_was_put_in_is_taken_out_even_in_the_middle_of_a_cell(sit_at):
    with started_kernel() as kernel:
        async with at_desk(kernel, sit_at, attached=False) as desk:
            await desk.cell(LOUD + WRAPPED)
            await desk.cell("print('before'); first = wrapped()")
            await desk.cell("from repl_pair.runtime.capture import capture; capture.install()")
            within = await desk.value("len({k for k, v in wrapped().items() if first.get(k) != v})")
            assert within > 20
            await desk.cell("print('a'); capture.uninstall(); print('b'); middle = wrapped()")
            await desk.cell("print('c'); after = wrapped()")
            for then in ("middle", "after"):
                assert (
                    await desk.value(f"[k for k, v in first.items() if {then}.get(k) != v]") == []
                )
                assert await desk.value(f"[k for k in {then} if k not in first]") == []
            for _ in range(3):
                await desk.cell("repl_pair.run('loud/It'); capture.uninstall()")
            assert await desk.value("wrapped() == first") is True
            await desk.cell("while 'repl_pair pipe' in str(threading.enumerate()): pass")
            # Outside of a cell, where IPython has put back what it found.
            own = "[s.write.__func__ is type(s).write for s in (sys.stdout, sys.stderr)]"
            assert await desk.value(own) == [True, True]
            stated = [("stdout", "before\na\nb\nc\n")]
            assert [one for one in await desk.shown() if one[0] == "stdout"] == stated


async def test_what_the_person_puts_over_a_dispatcher_stays_and_works(desk):
    await desk.cell(
        LOUD
        + """
from repl_pair.runtime.capture import capture
theirs = []
own = logging.Logger.callHandlers
def also(logger, record):
    if record.name == "shop":
        theirs.append(record.getMessage())
    own(logger, record)
logging.Logger.callHandlers = also
"""
    )
    record = await desk.run("loud/It")
    assert record["logs"] == ["WARNING shop: logged 1"]
    await desk.cell("capture.uninstall()")
    await desk.cell("logging.getLogger('shop').warning('mine')")
    assert await desk.value("[theirs, logging.Logger.callHandlers is also]") == [
        ["logged 1", "mine"],
        True,
    ]
    assert await desk.shown() == [("stderr", "mine\n")]
    await desk.cell("logging.Logger.callHandlers = own.__wrapped__")
