"""Kernels whose surroundings the person changed before the first agent attaches."""

import asyncio
import signal

import pytest
from bounds import BOUND_S, DEADLINE_S, PATIENT
from waiting import eventually, wait_until

from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent", access=frozenset({"read", "run", "inspect", "eval"}))
SURROUNDINGS = {
    "a folder that is gone": """
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
""",
    "a profiler that raises": """
import threading
def profile(frame, event, arg):
    raise RuntimeError("no profile")
threading.setprofile(profile)
""",
    "a tracer that waits for a lock": """
import threading
lock = threading.Lock()
lock.acquire()
def trace(frame, event, arg):
    lock.acquire()
threading.settrace(trace)
""",
    "a queue that serves one thread": """
import queue, threading
class Own(queue.SimpleQueue):
    def put(self, *args):
        assert threading.current_thread() is threading.main_thread()
        super().put(*args)
queue.SimpleQueue = Own
""",
    "a clock that stands": """
import time
time.monotonic = time.perf_counter = lambda: 1.0
""",
}


async def ask(link, op, **args):
    return await link.request(op, args, view=AGENT, timeout_s=BOUND_S)


@pytest.mark.parametrize("name", SURROUNDINGS)
async def test_an_agent_reads_and_its_code_is_stopped_at_its_deadline(link, person, name):
    await asyncio.to_thread(person.run, SURROUNDINGS[name] + "kept = {'a': 1}")
    for _ in range(2):
        read = await ask(link, "get_value", path="kept")
        assert read.get("result", read).get("value") == {"a": 1}
        assert (await ask(link, "list_variables"))["ok"]
    await asyncio.to_thread(person.run, PATIENT)
    stopped = await ask(link, "eval_code", code="while True: pass", timeout_s=1)
    assert stopped.get("result", stopped).get("reason") == "not done within 1 s"
    assert (await asyncio.to_thread(person.run, "1 + 1")).value == "2"


async def test_in_a_folder_that_is_gone_what_needs_a_project_is_refused_until_there_is_one(
    link, person, tmp_path
):
    await asyncio.to_thread(person.run, SURROUNDINGS["a folder that is gone"])
    for op in ("list_annotations", "list_sessions"):
        refused = (await ask(link, op))["error"]
        assert refused["code"] == "cannot_run"
        assert "works in a folder that is gone" in refused["message"]
    (tmp_path / "pyproject.toml").touch()
    await asyncio.to_thread(person.run, f"os.chdir({str(tmp_path)!r})")
    assert (await ask(link, "list_annotations"))["result"]["items"] == []


PATCHED = """
import pathlib, sys, time
from unittest.mock import patch
with patch.dict(sys.modules, {{"cupy": None}}):
    pathlib.Path({begun!r}).touch()
    while not pathlib.Path({go!r}).exists(): time.sleep(0.01)
"""


async def test_modules_of_the_package_that_sys_modules_lost_are_the_same_afterwards(
    link, person, tmp_path
):
    begun, go = tmp_path / "begun", tmp_path / "go"
    cell = await asyncio.to_thread(person.start, PATCHED.format(begun=str(begun), go=str(go)))
    await asyncio.to_thread(wait_until, begun.exists, "the patch")
    assert (await ask(link, "list_variables"))["ok"]
    go.touch()
    await asyncio.to_thread(person.finish, cell)
    story = "import repl_pair\nrepl_pair.story('late', component=lambda: 1, variants={'One': {}})"
    await asyncio.to_thread(person.run, story)
    assert (await ask(link, "run_variant", variant_id="late/One"))["result"]["status"] == "pass"
    purge = "for name in [one for one in sys.modules if one.startswith('repl_pair')]:\n"
    in_a_thread = "import repl_pair.runtime.registry.model"
    await asyncio.to_thread(person.run, f"{purge}    del sys.modules[name]\n{in_a_thread}")
    again = "repl_pair.variant('late/Two', play=[repl_pair.check.path_equals('result', 2)])"
    await asyncio.to_thread(person.run, f"import repl_pair\n{again}")
    assert (await ask(link, "run_variant", variant_id="late/Two"))["result"]["status"] == "fail"


NO_THREADS = """
import threading
start, kept = threading._start_new_thread, {'a': 1}
def refuse(*args):
    raise RuntimeError("can't start new thread")
threading._start_new_thread = refuse
"""
WITH_A_THREAD = {
    "list_variables": {},
    "read_changes": {"since": 0},
    "await_members": {"watched": ["kept"], "wait_s": 0},
}


@pytest.mark.parametrize("op", WITH_A_THREAD)
async def test_what_needs_a_thread_is_refused_at_once_until_one_can_be_started(link, person, op):
    args = WITH_A_THREAD[op]
    await asyncio.to_thread(person.run, NO_THREADS)
    for _ in range(2):
        refused = (await ask(link, op, **args))["error"]
        assert refused["code"] == "cannot_run"
        assert refused["message"].startswith(f"{op}: can't start new thread.")
    assert (await ask(link, "list_stories"))["ok"]
    await asyncio.to_thread(person.run, "threading._start_new_thread = start")
    assert "result" in await ask(link, op, **args)


HANDLES_SIGNALS = """
import asyncio, signal, time
taken = []
for number in (signal.SIGINT, signal.SIGTERM):
    asyncio.get_running_loop().add_signal_handler(number, taken.append, number.name)
"""


async def test_a_loop_of_the_persons_takes_their_signals_and_none_that_stops_a_run(
    link, kernel, person, tmp_path
):
    await asyncio.to_thread(person.run, HANDLES_SIGNALS)
    for code in ("time.sleep(60)", "while True: pass", "await asyncio.sleep(60)"):
        stopped = await ask(link, "eval_code", code=code, timeout_s=DEADLINE_S)
        assert stopped["result"]["error"]["type"] == "Stopped"
    assert (await asyncio.to_thread(person.run, "taken")).value == "[]"
    kernel.signal(signal.SIGTERM)
    mark = tmp_path / "mark"
    code = f"open({str(mark)!r}, 'w'); time.sleep(60)"
    running = asyncio.create_task(ask(link, "eval_code", code=code))
    await eventually(mark.exists, what="the run")
    kernel.signal(signal.SIGINT)
    assert (await running)["result"]["error"]["type"] == "Stopped"
    assert (await asyncio.to_thread(person.run, "taken")).value == "['SIGTERM', 'SIGINT']"
