"""What repl_pair put into a kernel goes out again, whoever leaves and however."""

import ast
import asyncio
import json
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter

import pytest
from bounds import BOUND_S
from waiting import eventually

from repl_pair.bridge.kernels.discovery import find_kernel, read_connection
from repl_pair.bridge.link.client import LEAVE_S
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.link.line import Line
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.errors import KernelError
from repl_pair.wire import FEATURE, View
from tests.kernel.leaving_probes import COUNTS, FINGERPRINT, STORIES

from .conftest import HOLD, WAITS

pytestmark = [pytest.mark.anyio, pytest.mark.unbound("bridge.link.client.LEAVE_S")]

AGENT = View(principal="agent", access=frozenset({"read", "run", "eval"}))


EVALS = {
    "busy(); await waits()": "ok",
    "draws()": "ok",
    "def f(): raise ValueError\nf()": "error",
    "x = = 1": "error",
    "import os; os.environ['A'] = os.getcwd(); os.chdir('/'); sys.setrecursionlimit(4_000)": "ok",
    "await waits(60.0)": "error",
    "busy('loops')": "error",
}
"""What an agent sends, and the status of its answer."""


@pytest.fixture
def kernel(start_kernel, monkeypatch):
    # Under pytest an ipykernel does not watch its file descriptors.
    with monkeypatch.context() as environment:
        environment.delenv("PYTEST_CURRENT_TEST")
        return start_kernel()


@pytest.fixture
async def open_link(kernel):
    """Opens links to the kernel: `open_link()`."""
    opened = []

    def make():
        opened.append(KernelLink(find_kernel(str(kernel.path))))
        return opened[-1]

    yield make
    for link in opened:
        await link.close()


@pytest.fixture
def link(open_link):
    return open_link()


@pytest.fixture
def at_desk(person):
    """Runs a cell of the person's, on a thread: `await at_desk(code)` gives what it printed."""

    async def run(code):
        return (await asyncio.to_thread(person.run, code)).text

    return run


@pytest.fixture
def look(person):
    """Evaluates an expression that gives JSON between the person's cells: `await look(code)`."""

    def ask(expression):
        content = {"code": "", "silent": True, "user_expressions": {"it": expression}}
        sent = person._session.send(person._shell, "execute_request", content)
        reply = person._next(person._shell, sent["header"]["msg_id"])["content"]
        answer = reply["user_expressions"]["it"]
        assert answer["status"] == "ok", answer
        return json.loads(ast.literal_eval(answer["data"]["text/plain"]))

    return lambda expression: asyncio.to_thread(ask, expression)


async def ask(link, op, on_progress=None, **args):
    return await link.request(op, args, view=AGENT, timeout_s=BOUND_S, on_progress=on_progress)


async def run(link, variant_id, **args):
    return await ask(link, "run_variant", variant_id=variant_id, **args)


async def ask_control(kernel, kind, **content):
    """Ask the kernel as any Jupyter client may; gives the reply's content."""
    line = Line(read_connection(kernel.path))
    try:
        return await line.ask(f"{kind}_request", content, answer=f"{kind}_reply")
    finally:
        line.close()


async def is_in(kernel):
    return bool((await ask_control(kernel, "comm_info", target_name=FEATURE))["comms"])


async def is_out(kernel):
    return not await is_in(kernel)


async def at_rest(look, expression="_fingerprint()"):
    """Return the kernel's fingerprint once it stands still, with no own object at work.

    A socket that was closed holds its file until a thread of ZeroMQ gets to it.
    """

    async def is_at_rest():
        found = await look(expression)
        return found if found == await look(expression) and not found["alive"] else None

    return await eventually(is_at_rest, what="a kernel at rest")


async def same_as(look, before, expression="_fingerprint()"):
    """Wait until the kernel's fingerprint is as before; fail with the parts that are not."""
    after = {}

    async def is_same():
        after.update(await look(expression))
        return after == before

    try:
        await eventually(is_same, what="the fingerprint")
    except pytest.fail.Exception:
        assert differences(after, before) == {}


def differences(after, before):
    """Return what two fingerprints differ in, by path, as (after, before)."""
    if isinstance(after, list) and isinstance(before, list):
        if len(after) != len(before):
            more, fewer = Counter(map(str, after)), Counter(map(str, before))
            return (dict(more - fewer), dict(fewer - more))
        after, before = dict(enumerate(after)), dict(enumerate(before))
    if not isinstance(after, dict) or not isinstance(before, dict):
        return (after, before)
    parts = {**before, **after}
    return {
        part: differences(after.get(part), before.get(part))
        for part in parts
        if after.get(part) != before.get(part)
    }


# --- before and after


async def test_a_kernel_that_everybody_left_is_as_before_but_for_imported_modules(
    kernel, link, at_desk, look
):
    await ask_control(kernel, "kernel_info")
    await at_desk(FINGERPRINT)
    modules = "__import__('json').dumps(sorted(__import__('sys').modules))"
    loaded = set(await look(modules))
    subshells = await ask_control(kernel, "list_subshell")
    before = await at_rest(look)
    for op in ("ping", "list_stories", "list_variables"):
        assert (await ask(link, op))["ok"]
    assert await is_in(kernel)
    attached = await look("_fingerprint()")
    assert attached["control handlers"] != before["control handlers"]
    assert "ControlHost" in attached["alive"]
    await link.close()
    assert await is_out(kernel)
    await same_as(look, before)
    assert await ask_control(kernel, "list_subshell") == subshells
    new = set(await look(modules)) - loaded
    others = {name for name in new if name.partition(".")[0] != "repl_pair"}
    assert {name.partition(".")[0] for name in others} <= sys.stdlib_module_names
    print(f"modules that stay: {len(new - others)} of repl_pair, {sorted(others)} of Python")


async def test_after_runs_of_every_kind_each_way_out_leaves_the_kernel_as_before(
    kernel, open_link, at_desk, look
):
    async def work(link):
        for lane in ("main", "worker"):
            assert (await run(link, "busy/It", lane=lane))["result"]["status"] == "pass"
            assert (await run(link, "waits/It", lane=lane))["result"]["status"] == "pass"
            slow = {"overrides": {"seconds": 60.0}, "timeout_s": 0.05, "lane": lane}
            assert (await run(link, "waits/It", **slow))["result"]["status"] == "error"
        assert (await run(link, "draws/It"))["result"]["status"] == "pass"
        remark = {"target": "doc:README.md", "content": str(uuid.uuid4())}
        made = (await ask(link, "create_annotation", **remark))["result"]
        assert (await ask(link, "list_annotations", limit=1))["result"]["items"] == [made]
        for code, status in EVALS.items():
            timeout_s = BOUND_S if status == "ok" else 0.4
            answer = (await ask(link, "eval_code", code=code, timeout_s=timeout_s))["result"]
            assert (code, answer["status"]) == (code, status)
        assert (await run(link, "busy/It", overrides={"how": "fails"}))["ok"]
        changes = (await ask(link, "read_changes"))["result"]["next"]
        waiting = asyncio.create_task(ask(link, "read_changes", since=changes, wait_s=50.0))
        assert (await ask(link, "list_variables"))["ok"]
        return waiting

    async def close(link):
        await link.close()

    async def leave(link):
        assert await link.leave() == {"detached": True, "remaining_clients": 0}

    async def detach(link):
        await at_desk("%pair detach")

    async def unload(link):
        await at_desk("%unload_ext repl_pair\n%load_ext repl_pair")

    (kernel.path.parent / "pyproject.toml").touch()
    (kernel.path.parent / "README.md").touch()
    await at_desk(f"{FINGERPRINT}\nimport matplotlib.pyplot\n{STORIES}\n%load_ext repl_pair")
    await at_desk("repl_pair.run('waits/It'); matplotlib.pyplot.close('all')")
    warm = open_link()
    waiting = await work(warm)
    await warm.close()
    assert (await waiting)["error"]["code"] == "cancelled"
    before = await at_rest(look)
    assert "repl_pair loop" not in before["threads"]
    for way_out in (close, leave, detach, unload):
        if way_out is unload:  # nobody gets in after a detach
            await at_desk("%pair attach")
        link = open_link()
        waiting = await work(link)
        await way_out(link)
        assert (await waiting)["error"]["code"] == "cancelled"
        await link.close()
        await same_as(look, before)


async def test_a_detach_takes_out_what_the_persons_own_runs_left_in(kernel, at_desk, look):
    await ask_control(kernel, "kernel_info")
    await at_desk(f"{FINGERPRINT}\n{STORIES}\nlogging.getLogger('shop')\n%load_ext repl_pair")
    before = await at_rest(look)
    await at_desk("repl_pair.run('busy/It'); repl_pair.run('waits/It'); None")
    left = differences(await look("_fingerprint()"), before)
    assert {"patched", "threads"} <= left.keys()
    assert (await at_desk("%pair detach")).startswith("Nothing was attached. ")
    await same_as(look, before)


async def test_the_kernel_describes_itself_as_without_repl_pair(kernel, link):
    before = [await ask_control(kernel, kind) for kind in ("kernel_info", "comm_info")]
    await ask(link, "ping")
    during = [await ask_control(kernel, kind) for kind in ("kernel_info", "comm_info")]
    for info, _ in (before, during):
        info["banner"] = info["banner"].splitlines()[:3]
    assert during == before


async def test_looking_attaching_and_leaving_draw_nothing_from_the_persons_random(kernel, at_desk):
    await at_desk("import random; random.seed(0); before = random.getstate()")
    session = Session(Policy(), str(kernel.path))
    assert (await session.call("list_kernels"))["ok"]
    assert (await session.call("list_variants"))["ok"]
    assert (await session.call("detach_kernel"))["result"]["detached"]
    await session.close()
    assert await at_desk("print(random.getstate() == before)") == "True\n"


@pytest.mark.full
async def test_200_cycles_of_attach_read_run_and_leave_are_flat(kernel, open_link, at_desk, look):
    async def cycle():
        link = open_link()
        assert (await ask(link, "list_variants"))["result"]["total"] == 5
        for lane in ("main", "worker"):
            assert (await run(link, "busy/It", lane=lane))["result"]["status"] == "pass"
        await link.close()

    await at_desk(STORIES + COUNTS)
    for _ in range(20):
        await cycle()
    before, small = await at_rest(look, "_counts()"), await look("_resident_mb()")
    for _ in range(200):
        await cycle()
    assert await is_out(kernel)
    await same_as(look, before, "_counts()")
    large = await look("_resident_mb()")
    print(
        f"200 cycles: {len(before['threads'])} threads, {before['files']} open files and "
        f"{sum(before['objects'].values())} objects before and after; "
        f"resident {small:.1f} MB -> {large:.1f} MB"
    )
    assert large - small < 8.0


@pytest.mark.full
async def test_runs_on_workers_open_no_files_for_their_events(link, at_desk, look):
    await at_desk(STORIES)
    pipes = "__import__('json').dumps(len(get_ipython().kernel.iopub_thread._event_pipes))"
    assert (await run(link, "waits/It", lane="worker"))["result"]["status"] == "pass"
    before = await look(pipes)
    for _ in range(5):
        assert (await run(link, "waits/It", lane="worker"))["result"]["status"] == "pass"
    assert await look(pipes) == before


# --- several clients, and the person


async def test_the_last_client_takes_everything_out_and_the_others_nothing(
    kernel, open_link, at_desk, tmp_path
):
    await at_desk(STORIES)
    first, second = open_link(), open_link()
    await ask(first, "ping")
    assert (await ask(second, "ping"))["result"]["clients"] == 2
    mark = tmp_path / "mark"
    under_way = asyncio.create_task(
        run(second, "waits/It", overrides={"seconds": 0.5, "mark": str(mark)}, lane="worker")
    )
    own = asyncio.create_task(
        run(first, "waits/It", overrides={"seconds": 60.0}, lane="worker", timeout_s=BOUND_S)
    )
    await eventually(lambda: asyncio.to_thread(mark.exists), what="the run")
    assert await first.leave() == {"detached": True, "remaining_clients": 1}
    error = (await own)["error"]
    assert (error["code"], error["message"]) == (
        "cancelled",
        "run_variant was cancelled: its caller left the kernel.",
    )
    assert (await under_way)["result"]["status"] == "pass"
    assert (await ask(second, "ping"))["result"]["clients"] == 1
    await second.close()
    assert await is_out(kernel)


async def test_detach_kernel_gives_up_the_attachment_and_the_next_call_attaches_again(
    kernel, at_desk, open_link
):
    await at_desk(STORIES)
    other = open_link()
    await ask(other, "ping")
    session = Session(Policy(), str(kernel.path))
    assert (await session.call("detach_kernel"))["result"] == {"detached": False}
    boot = (await session.call("list_stories"))["boot"]
    reply = await session.call("detach_kernel")
    assert reply["result"] == {"detached": True, "remaining_clients": 1}
    assert reply["kernel"]["id"] == kernel.id
    assert [k["attached"] for k in (await session.call("list_kernels"))["result"]["items"]] == [
        False
    ]
    assert (await ask(other, "list_stories"))["result"]["total"] == 5
    await other.close()
    assert await is_out(kernel)
    again = await session.call("run_variant", {"variant_id": "busy/It"})
    assert (again["result"]["status"], again["boot"]) == ("pass", boot)
    status = (await session.call("kernel_status"))["result"]
    assert status["clients"] == 1
    await session.close()
    assert await is_out(kernel)


async def test_what_the_person_holds_stays_when_the_last_client_leaves(kernel, open_link, at_desk):
    await at_desk("%load_ext repl_pair\n%pair attach")
    link = open_link()
    assert (await ask(link, "ping"))["result"]["clients"] == 1
    assert await link.leave() == {"detached": True, "remaining_clients": 0}
    assert await is_in(kernel)
    assert "No agent gets in" in await at_desk("%pair detach")
    assert await is_out(kernel)


FAILS = """
repl_pair.variant("busy/Fails", args={"how": "fails"})
"""


async def test_a_detach_and_an_attach_go_on_with_boot_count_results_and_call_ids(
    kernel, open_link, at_desk
):
    await at_desk(STORIES + FAILS)
    first = open_link()
    failed = await run(first, "busy/Fails")
    elided = await ask(first, "describe")
    line, attachment = await first.attached()
    await first.close()
    assert await is_out(kernel)
    second = open_link()
    failures = await ask(second, "read_failures")
    assert failures["boot"] == failed["boot"] == elided["boot"] == attachment.boot
    assert failures["seq"] >= failed["seq"]
    assert [item["variant_id"] for item in failures["result"]["items"]] == ["busy/Fails"]
    assert line.closed.is_set()


@pytest.mark.full
async def test_a_call_id_counts_once_across_a_detach(kernel, open_link, at_desk):
    from repl_pair.wire import REPLY, REQUEST, Request

    async def send(link):
        line, attachment = await link.attached()
        request = Request(op="list_stories", call="the-same", boot=attachment.boot, view=AGENT)
        return await line.ask(REQUEST, request.to_wire(), answer=REPLY)

    first = open_link()
    assert (await send(first))["ok"]
    await first.close()
    assert (await send(open_link()))["error"]["message"] == "Call the-same came twice; it ran once."


# --- the person says no


async def test_after_pair_detach_no_agent_gets_in_before_pair_attach(
    kernel, open_link, at_desk, look
):
    await at_desk(f"{FINGERPRINT}\n{STORIES}\n%load_ext repl_pair\nfired = []")
    await at_desk("get_ipython().events.register('pre_execute', lambda: fired.append(1))")
    early, late = open_link(), open_link()
    await run(early, "busy/It")
    await at_desk("%pair detach\nfired.clear()")
    before = await at_rest(look)
    before["files"].remove("socket:")  # of the link that was attached
    for link in 5 * [early, late]:
        refused = (await run(link, "busy/It"))["error"]
        assert refused["code"] == "detached"
    assert "`%pair attach` there lets agents in again; nothing was run." in refused["message"]
    frames = set()
    for _ in range(3):
        with pytest.raises(KernelError) as refusal:
            await early.attached()
        frames.add(len(refusal.traceback))
    assert len(frames) == 1  # no refusal keeps the frames of those before it
    await early.close()
    await late.close()
    await same_as(look, before)
    # Its own cell fired once; so did the one execute by which each link asked, and no later call.
    assert await at_desk("print(len(fired))") == "3\n"
    await at_desk("%pair attach\nfired.clear()")
    late = open_link()
    assert (await run(late, "busy/It"))["result"]["status"] == "pass"
    assert (await run(open_link(), "busy/It"))["result"]["status"] == "pass"
    assert await at_desk("print(len(fired))") == "1\n"


async def test_the_pair_magic_states_what_it_did(link, kernel, at_desk, tmp_path):
    async def pair(line):
        return await at_desk(f"%pair {line}")

    await at_desk("%load_ext repl_pair")
    assert "not attached: %pair attach. stories: 0, variants: 0" in await pair("")
    assert "Register a story in a cell" in await pair("status")
    attached = await pair("attach")
    assert f"-m repl_pair mcp --kernel {kernel.path}" in attached
    assert (await ask(link, "ping"))["ok"]
    assert ", attached: agent. stories: 0" in await pair("status")
    assert (await pair(f"load {tmp_path}")).startswith("not_found: ")
    (tmp_path / "pyproject.toml").write_text("[tool.repl_pair]\nstories = ['mine_*.py']\n")
    source = "import repl_pair\nrepl_pair.story('a', component=lambda: 0)\n"
    source += "repl_pair.variant('a/A')\n"
    (tmp_path / "mine_one.py").write_text(source)
    assert "stories: 1, variants: 1" in await pair(f"load {tmp_path}")
    assert (await run(link, "a/A"))["result"]["result"] == 0
    (tmp_path / "mine_one.py").write_text(source.replace("a/A", "a/Renamed"))
    await pair(f"load {tmp_path}")
    listed = (await ask(link, "list_variants"))["result"]["items"]
    assert [item["id"] for item in listed] == ["a/Renamed"]
    assert "Nearest: status" in await pair("statu")
    refuses = "No agent gets in before `%pair attach`.\n"
    assert await pair("detach") == f"Detached. {refuses}"
    assert await pair("detach") == f"Nothing was attached. {refuses}"
    assert "not attached, and no agent gets in: %pair attach. " in await pair("status")


@pytest.mark.parametrize("lane", ["main", "worker"])
@pytest.mark.parametrize("how", ["sleeps", "loops"])
async def test_a_detach_stops_what_runs_and_reports_its_caller_why(
    kernel, link, at_desk, tmp_path, lane, how
):
    await at_desk(f"{STORIES}\n%load_ext repl_pair")
    mark = tmp_path / "mark"
    running = asyncio.create_task(
        run(link, "busy/It", overrides={"how": how, "mark": str(mark)}, lane=lane)
    )
    await eventually(lambda: asyncio.to_thread(mark.exists), what="the run")
    changes = (await ask(link, "read_changes"))["result"]["next"]
    waiting = asyncio.create_task(ask(link, "read_changes", since=changes, wait_s=20.0))
    await asyncio.sleep(0)
    assert (await ask(link, "read_failures"))["ok"]
    # A cell would wait for the run: the word comes from a thread, as from an app's own button.
    script = "from repl_pair.runtime.kernel import attach as kernel_host; kernel_host.detach()"
    await execute_on_control(kernel, script)
    for task in (running, waiting):
        error = (await task)["error"]
        assert error["code"] == "cancelled"
        assert error["message"].endswith("the person took repl_pair out of this kernel.")
    assert await is_out(kernel)
    assert await at_desk("print(sum(range(1000)))") == "499500\n"
    if (lane, how) != ("worker", "sleeps"):
        threads = "import threading; print([t.name for t in threading.enumerate()])"
        await eventually(lambda: no_own_thread(at_desk, threads), what="the end of our threads")


async def no_own_thread(at_desk, threads):
    return "repl_pair" not in await at_desk(threads)


async def execute_on_control(kernel, code):
    """Run code in the kernel beside the main thread."""
    line = Line(read_connection(kernel.path))
    content = {"code": code, "silent": True, "allow_stdin": True, "stop_on_error": False}
    try:
        await line.ask("execute_request", content, answer="execute_reply")
    finally:
        line.close()


@pytest.mark.full
async def test_a_run_that_outlives_a_detach_still_writes_nothing_in_the_persons_cell(
    kernel, link, at_desk, look, tmp_path
):
    await ask_control(kernel, "kernel_info")
    await at_desk(f"{FINGERPRINT}\n{STORIES}\n%load_ext repl_pair")
    before = await at_rest(look)
    mark = tmp_path / "mark"
    clinging = asyncio.create_task(
        run(link, "clings/It", overrides={"mark": str(mark)}, lane="worker")
    )
    await eventually(lambda: asyncio.to_thread(mark.exists), what="the run")
    late = f"while not Path('{mark}.late').exists(): time.sleep(0.01)"
    shown = await at_desk(f"%pair detach\nPath('{mark}.go').touch()\n{late}\nprint('own')")
    assert shown == "Detached. No agent gets in before `%pair attach`.\nown\n"
    assert (await clinging)["error"]["code"] == "cancelled"
    await link.close()
    await same_as(look, before)


@pytest.mark.full
async def test_a_cell_that_detaches_beside_a_waiting_run_answers_it(
    kernel, link, at_desk, person, tmp_path
):
    await at_desk(f"{STORIES}\n%load_ext repl_pair")
    await ask(link, "ping")
    gate = tmp_path / "gate"
    cell = await asyncio.to_thread(
        person.start, WAITS.format(gate=str(gate)) + "%pair detach\nprint('own output')"
    )
    waiting = asyncio.create_task(run(link, "busy/It", wait_s=BOUND_S))
    await ask(link, "list_stories")  # by its answer the kernel has taken the run
    gate.touch()
    ran = await asyncio.to_thread(person.finish, cell)
    assert (await waiting)["error"]["code"] == "cancelled"
    assert ran.text == "Detached. No agent gets in before `%pair attach`.\nown output\n"
    assert await is_out(kernel)
    assert await at_desk("print('still printed')") == "still printed\n"


@pytest.mark.parametrize("lane", ["main", "worker"])
async def test_a_component_that_detaches_ends_its_own_run(kernel, link, at_desk, lane):
    await at_desk(f"{STORIES}\n%load_ext repl_pair")
    error = (await run(link, "takes_out/It", lane=lane))["error"]
    assert error["code"] == "cancelled"
    assert await is_out(kernel)
    await at_desk("%pair attach")
    assert (await run(link, "busy/It"))["result"]["status"] == "pass"


async def test_a_run_of_the_persons_own_goes_on_through_a_detach(kernel, link, at_desk):
    await at_desk(f"{STORIES}\n%load_ext repl_pair")
    await ask(link, "ping")
    await at_desk("""
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
beside = pool.submit(repl_pair.run, "waits/It", overrides={"seconds": 0.5})
""")
    shown = await at_desk("r = repl_pair.run('takes_out/It'); print(r.status, r.result)")
    assert shown == "pass taken out\n"
    assert await is_out(kernel)
    assert await at_desk("print(beside.result().status)") == "pass\n"


@pytest.mark.full
async def test_coming_and_going_at_once_ends_in_one_state(kernel, at_desk, look):
    await at_desk(f"{FINGERPRINT}\nimport repl_pair\n%load_ext repl_pair\n%pair attach")
    await at_desk("%pair detach")
    before = await at_rest(look)
    await at_desk("""
import sys
from repl_pair.runtime.kernel import attach as kernel_host
from concurrent.futures import ThreadPoolExecutor
def come_and_go(number):
    for round in range(75):
        client = {"id": f"{number}", "principal": "agent", "pid": 1}
        [kernel_host.attach, kernel_host.detach,
         lambda: kernel_host.admit(client), lambda: kernel_host.release(str(number))
         ][(number + round) % 4]()
interval = sys.getswitchinterval()
sys.setswitchinterval(1e-6)
with ThreadPoolExecutor(8) as pool:
    list(pool.map(come_and_go, range(8)))
kernel_host.attach()
with ThreadPoolExecutor(8) as pool:
    outs = sorted(pool.map(lambda _: kernel_host.detach(), range(8)))
assert outs == [False] * 7 + [True], outs
sys.setswitchinterval(interval)
del kernel_host, ThreadPoolExecutor, come_and_go, pool, outs, interval, sys
""")
    await same_as(look, before)


@pytest.mark.full
async def test_links_that_attach_while_the_person_detaches_are_let_in_or_refused(
    kernel, open_link, at_desk, person
):
    await at_desk("import time\nfrom repl_pair.runtime.kernel import attach as kernel_host")
    churn = """
for _ in range(100):
    kernel_host.attach(); time.sleep(0.01); kernel_host.detach(); time.sleep(0.001)
"""
    cell = await asyncio.to_thread(person.start, churn)
    codes = set()
    for _ in range(15):
        link = open_link()
        reply = await ask(link, "ping")
        codes.add("ok" if reply["ok"] else reply["error"]["code"])
        await link.close()
    await asyncio.to_thread(person.finish, cell)
    print(f"15 attaches beside 100 detaches: {sorted(codes)}")
    assert codes <= {"ok", "detached", "cancelled"}
    assert await is_out(kernel)


@pytest.mark.full
async def test_cells_are_followed_as_long_as_the_extension_is_loaded(kernel, link, at_desk):
    followed = (
        "from repl_pair.runtime.registry.cells import CELLS; print(CELLS.current is not None)"
    )
    await ask(link, "ping")
    await at_desk("%load_ext repl_pair")
    await link.close()
    assert await at_desk(followed) == "True\n"
    await at_desk("%reload_ext repl_pair")
    assert await at_desk(followed) == "True\n"
    await at_desk("%unload_ext repl_pair")
    assert await at_desk(followed) == "False\n"


async def test_nobody_gets_back_in_unasked_after_an_unload(kernel, link, open_link, at_desk):
    await at_desk("%load_ext repl_pair")
    await ask(link, "ping")
    await at_desk("%unload_ext repl_pair")
    for one in (link, open_link()):
        assert (await ask(one, "ping"))["error"]["code"] == "detached"
    assert await is_out(kernel)
    await at_desk("%load_ext repl_pair")
    assert (await ask(link, "ping"))["error"]["code"] == "detached"
    await at_desk("%pair attach")
    assert (await ask(link, "ping"))["ok"]


# --- bridges that go away


@pytest.mark.full
async def test_a_link_that_closes_while_it_attaches_leaves_nothing(kernel, open_link, look):
    for round in range(40):
        link = open_link()
        asked = asyncio.create_task(ask(link, "ping"))
        await asyncio.sleep(0.0005 * round)
        await link.close()
        await asked
    await eventually(lambda: is_out(kernel), what="the kernel without us")


async def test_a_bridge_that_was_killed_is_forgotten_when_somebody_asks(kernel, open_link):
    code = (
        "import asyncio, sys\n"
        "from repl_pair.bridge.kernels.discovery import find_kernel\n"
        "from repl_pair.bridge.link.kernel_link import KernelLink\n"
        "async def main():\n"
        "    await KernelLink(find_kernel(sys.argv[1])).attached()\n"
        "    print('in', flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    killed = subprocess.Popen(
        [sys.executable, "-c", code, str(kernel.path)], stdout=subprocess.PIPE
    )
    assert await asyncio.to_thread(killed.stdout.readline) == b"in\n"
    link = open_link()
    assert (await ask(link, "ping"))["result"]["clients"] == 2
    # Not waited for: it is a zombie, as under a host that does not look after its children.
    killed.kill()
    await eventually(lambda: is_alone(link), what="one client")
    await link.close()
    assert await is_out(kernel)
    killed.wait()
    killed.stdout.close()


async def is_alone(link):
    return (await ask(link, "ping"))["result"]["clients"] == 1


class Server:
    """A real server over stdio, spoken to in frames."""

    def __init__(self, kernel):
        command = [sys.executable, "-m", "repl_pair", "mcp", "--kernel", str(kernel.path)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ)
        )
        info = {"name": "test", "version": "0"}
        start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.ask("initialize", start)
        self.send({"method": "notifications/initialized"})

    def send(self, frame):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.send({"id": method, "method": method, "params": params})
        while (frame := json.loads(self.process.stdout.readline())).get("id") != method:
            pass
        return frame["result"]

    def end(self, way):
        if way == "end of stdin":
            self.process.stdin.close()
        else:
            self.process.send_signal(getattr(signal, way))
        return self.process.wait(BOUND_S)

    def close(self):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()


@pytest.fixture
def serve(kernel):
    """Starts servers for the kernel: `serve()`."""
    started = []

    def start():
        started.append(Server(kernel))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.mark.parametrize("way", ["end of stdin", "SIGTERM", "SIGINT"])
async def test_a_server_that_ends_in_the_middle_of_a_run_takes_everything_out(
    kernel, serve, at_desk, tmp_path, way
):
    await at_desk(STORIES)
    server = await asyncio.to_thread(serve)
    mark = tmp_path / "mark"
    overrides = {"how": "loops", "mark": str(mark)}
    call = {"name": "run_variant", "arguments": {"variant_id": "busy/It", "overrides": overrides}}
    server.send({"id": 2, "method": "tools/call", "params": call})
    await eventually(lambda: asyncio.to_thread(mark.exists), what="the run")
    code = await asyncio.to_thread(server.end, way)
    assert code == (0 if way == "end of stdin" else -getattr(signal, way))
    await eventually(lambda: is_out(kernel), what="the kernel without us")
    assert await at_desk("print('free')") == "free\n"


@pytest.mark.full
async def test_a_link_leaves_a_kernel_that_cannot_answer_as_soon_as_it_can(
    kernel, link, person, tmp_path, monkeypatch
):
    monkeypatch.setattr("repl_pair.bridge.link.client.LEAVE_S", LEAVE_S)
    await ask(link, "ping")
    gate = tmp_path / "gate"
    cell = await asyncio.to_thread(person.start, HOLD.format(gate=str(gate)))
    await eventually(lambda: asyncio.to_thread(gate.exists), what="a held interpreter")
    async with asyncio.timeout(BOUND_S):
        await link.close()
    await asyncio.to_thread(gate.write_bytes, b"")
    await asyncio.to_thread(person.finish, cell)
    assert await is_out(kernel)


@pytest.mark.full
async def test_a_killed_server_leaves_its_run_to_the_deadline_and_a_look_takes_the_rest_out(
    kernel, serve, at_desk
):
    await at_desk(STORIES)
    server = await asyncio.to_thread(serve)
    call = {"name": "list_stories", "arguments": {}}
    assert await asyncio.to_thread(server.ask, "tools/call", call)
    await asyncio.to_thread(server.end, "SIGKILL")
    assert await is_in(kernel)
    session = Session(Policy())
    listed = (await session.call("list_kernels"))["result"]["items"]
    await session.close()
    assert [kernel["attached"] for kernel in listed] == [False]
    await eventually(lambda: is_out(kernel), what="the kernel without us")


async def test_what_one_command_of_the_shell_learned_the_next_one_reads(kernel, at_desk):
    await at_desk(STORIES + FAILS)

    async def command(*words):
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "repl_pair", *words, "--kernel", str(kernel.path)],
            stdout=subprocess.PIPE,
        )
        assert await is_out(kernel)
        return json.loads(done.stdout)

    failed = await command("run", "busy/Fails", "--json")
    read = await command("op", "read_failures")
    assert read["boot"] == failed["boot"]
    assert [item["variant_id"] for item in read["result"]["items"]] == ["busy/Fails"]
