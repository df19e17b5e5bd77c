"""Where a kernel stands: its cell, its threads, its tasks, and the lines that take the time."""

import asyncio
import json
import os
from contextlib import asynccontextmanager

import pytest
from answers import find_faults
from bounds import BOUND_S
from waiting import eventually

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.scratch_kernel import scratch_kernel
from repl_pair.errors import next_step
from repl_pair.runtime.inspection.stacks import MAX_FRAMES, MAX_SHOWN
from repl_pair.wire import View

from .conftest import HOLD

pytestmark = pytest.mark.anyio

READER = View(principal="agent")
INSPECTOR = View(principal="agent", access=frozenset({"read", "run", "inspect"}))
GO_ON = """
import asyncio, functools, json, os, pathlib, threading, time
is_over = pathlib.Path({gate!r}).exists
"""


@pytest.fixture(scope="module")
def kernel():
    """One kernel for these tests; each leaves it as it was but for names of the person's."""
    with scratch_kernel() as kernel:
        yield kernel


@pytest.fixture
async def link(link, person):
    """A link that is attached before the cells of the test run; the person's kernel is up."""
    async with asyncio.timeout(BOUND_S):
        while not (await ask(link, "ping"))["ok"]:
            continue
    return link


@pytest.fixture
def gate(tmp_path, person):
    """What the cells of a test wait for; they know it as `is_over()`."""
    person.run(GO_ON.format(gate=str(tmp_path / "gate")))
    yield tmp_path / "gate"
    (tmp_path / "gate").touch()


@pytest.fixture
def running(person, gate):
    """Runs a cell until the block ends, or the gate is opened: `async with running(code)`."""

    @asynccontextmanager
    async def run(code):
        ran = asyncio.create_task(asyncio.to_thread(person.run, code))
        try:
            yield ran
        finally:
            gate.touch()
            await ran
            gate.unlink()

    return run


async def ask(link, op, view=READER, **args):
    reply = await link.request(op, args, view=view, timeout_s=BOUND_S)
    faults = find_faults(op, reply["result"]) if reply["ok"] else []
    assert not faults, "\n".join(faults)
    return reply


async def read(link, view=READER, **args):
    reply = await ask(link, "read_stacks", view, **args)
    assert reply["ok"], reply
    return reply["result"]


async def standing(link, is_there, **args):
    """Read until the kernel stands where it is meant to."""
    found = None
    async with asyncio.timeout(BOUND_S):
        while found is None or not is_there(found):
            found = await read(link, **args)
    return found


def own(frames):
    """The lines of cells among frames, as `(line, function)`."""
    return [(f["line"], f["function"]) for f in frames if f["where"].startswith("In[")]


LOOP = """\
def spin():
    while not is_over():
        sum(range(100))
def outer():
    spin()
outer()"""
SLEEP = """\
class Job:
    def run(self):
        while not is_over():
            time.sleep(0.05)
Job().run()"""
JOIN = """\
def work():
    while not is_over():
        time.sleep(0.01)
thread = threading.Thread(target=work, name="mine")
thread.start()
thread.join()"""
CHAIN = """\
def numbers():
    while not is_over():
        yield 1
def doubled():
    yield from (2 * n for n in numbers())
def spent():
    return sum(doubled())
spent()"""
LIBRARY = """\
class Slow(dict):
    def __missing__(self, key):
        while not is_over():
            time.sleep(0.01)
        return "x"
def fill():
    return json.loads('{"a": 1}', object_hook=lambda found: Slow()["a"])
fill()"""
DEEP = """\
def down(n):
    while n == 0 and not is_over():
        pass
    return n and down(n - 1)
down(900)"""
AWAIT = """\
async def inner():
    while not is_over():
        await asyncio.sleep(0.2)
async def outer():
    await inner()
1 + 1
await outer()"""
AGENERATOR = """\
async def ticks():
    while not is_over():
        await asyncio.sleep(0.2)
        yield 1
async def follow():
    async for tick in ticks():
        pass
await follow()"""
CELLS = {
    "loops in Python": (LOOP, 6, {(5, "outer"), (6, "<module>")}),
    "sleeps": (SLEEP, 5, {(4, "Job.run"), (5, "<module>")}),
    "joins a thread": (JOIN, 6, {(6, "<module>")}),
    "draws from generators": (
        CHAIN,
        8,
        {(5, "doubled"), (5, "doubled.<locals>.<genexpr>"), (7, "spent"), (8, "<module>")},
    ),
    "is inside a library": (
        LIBRARY,
        8,
        {(4, "Slow.__missing__"), (7, "fill.<locals>.<lambda>"), (7, "fill"), (8, "<module>")},
    ),
    "is 900 calls deep": (DEEP, 5, {(2, "down"), (4, "down"), (5, "<module>")}),
}
"""Cells that run on: the line of the cell itself, and lines that are seen at some moment."""


@pytest.mark.parametrize("how", CELLS)
async def test_the_line_of_a_running_cell_and_the_way_to_where_it_is_are_shown(link, running, how):
    code, line, way = CELLS[how]
    async with running(code):
        found = await standing(link, lambda s: way <= {*own(s["threads"][0]["frames"])})
        coded = await read(link, INSPECTOR, code=True)
    label = found["cell"]["label"]
    assert label.startswith("In[")
    assert (found["cell"]["line"], found["cell"]["seconds"] >= 0.0) == (line, True)
    main = found["threads"][0]
    assert main["name"] == "MainThread"
    assert main["frames"][-1] == {"where": label, "line": line, "function": "<module>"}
    assert len(main["frames"]) <= MAX_FRAMES
    assert "code" not in json.dumps(found)
    assert coded["threads"][0]["frames"][-1]["code"] == code.splitlines()[line - 1].strip()
    assert found["tasks"] == []


async def test_a_deep_stack_is_shown_from_both_ends_and_the_rest_is_counted(link, running):
    async with running(DEEP):
        found = await standing(link, lambda s: s["threads"][0].get("left_out", 0) > 800)
    main = found["threads"][0]
    assert len(main["frames"]) == MAX_FRAMES
    # 901 calls of the function and the cell, and what the innermost one calls: `exists` of a path.
    assert 902 <= main["left_out"] + MAX_FRAMES <= 908


async def test_of_a_library_what_was_called_and_the_innermost_are_shown_by_a_short_name(
    link, running
):
    async with running(LIBRARY):
        found = await standing(
            link, lambda s: (4, "Slow.__missing__") in own(s["threads"][0]["frames"])
        )
    frames = found["threads"][0]["frames"]
    libraries = [f for f in frames if not f["where"].startswith("In[")]
    assert [(f["where"], f["function"]) for f in libraries] == [("json/__init__.py", "loads")]
    assert found["threads"][0]["left_out"] == 2  # the decoder's own calls


AWAITS = {
    "a coroutine": (AWAIT, 7, [(3, "inner"), (5, "outer")]),
    "an asynchronous generator": (AGENERATOR, 8, [(3, "ticks"), (6, "follow")]),
}


@pytest.mark.parametrize("how", AWAITS)
async def test_a_cell_that_awaits_shows_its_line_and_what_it_awaits(link, running, how):
    code, line, way = AWAITS[how]
    async with running(code):
        found = await standing(link, lambda s: (s["cell"] or {}).get("awaits"))
        coded = await read(link, INSPECTOR, code=True)
    cell = found["cell"]
    assert (cell["line"], own(cell["awaits"])) == (line, way)
    assert cell["awaits"][0]["where"] == "asyncio/tasks.py"
    assert found["threads"][0] == {"name": "MainThread", "frames": []}
    assert found["tasks"] == []
    assert [f["code"] for f in coded["cell"]["awaits"] if "code" in f] == [
        code.splitlines()[line - 1].strip() for line, _ in way
    ]


async def test_tasks_are_named_with_what_they_await_and_the_kernels_own_are_counted(
    link, person, running
):
    async with running(
        """\
async def fetch(n):
    await asyncio.Event().wait()
kept = [asyncio.create_task(fetch(n), name=f"fetch-{n}") for n in range(30)]
kept.append(asyncio.create_task(asyncio.sleep(600), name="bare"))
async def apart():
    await asyncio.sleep(600)
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, name="theirs", daemon=True).start()
other = asyncio.run_coroutine_threadsafe(apart(), loop)
await asyncio.sleep(0)
while not is_over(): await asyncio.sleep(0.05)
for one in (*kept, other): one.cancel()
while asyncio.all_tasks(loop): await asyncio.sleep(0.01)
loop.call_soon_threadsafe(loop.stop)"""
    ):
        found = await standing(
            link,
            lambda s: (
                "awaits" in (s["cell"] or {})
                and len([task for task in s["tasks"] if task["awaits"]]) == 3
                and "Selector.select" in str(s["threads"])
            ),
        )
    tasks = {task["name"].partition("-")[0]: task for task in found["tasks"]}
    assert tasks["fetch"]["count"] == 30
    assert own(tasks["fetch"]["awaits"]) == [(2, "fetch")]
    assert tasks["fetch"]["awaits"][0]["function"] == "Event.wait"
    assert [f["function"] for f in tasks["bare"]["awaits"]] == ["sleep"]
    assert own(tasks["Task"]["awaits"]) == [(6, "apart")]
    assert len(tasks) == 3
    assert found["left_out"]["machinery_tasks"] >= 1
    theirs = next(t for t in found["threads"] if t["name"] == "theirs")
    assert theirs["frames"][-1]["function"] == "BaseEventLoop.run_forever"


async def test_threads_that_stand_alike_are_one_and_the_bound_is_reported(link, running):
    apart = "\n".join(f"def f{n}():\n    while not is_over(): time.sleep(0.01)" for n in range(20))
    async with running(
        f"""\
{apart}
def wait(): over.wait()
over = threading.Event()
threads = [threading.Thread(target=wait, name=f"w-{{n}}") for n in range(50)]
threads += [threading.Thread(target=globals()[f"f{{n}}"]) for n in range(20)]
for each in threads: each.start()
while not is_over(): time.sleep(0.01)
over.set()
for each in threads: each.join()"""
    ):
        found = await standing(
            link,
            lambda s: (
                any(thread.get("count") == 50 for thread in s["threads"])
                and s["left_out"].get("threads") == 20 - (MAX_SHOWN - 1)
            ),
        )
    alike = next(t for t in found["threads"] if t.get("count"))
    assert alike["name"] == "w-0"
    assert own(alike["frames"]) == [(41, "wait")]
    assert len(found["threads"]) == 1 + MAX_SHOWN
    assert found["left_out"]["machinery_threads"] >= 3
    assert not [t for t in found["threads"] if t["name"].startswith(("repl_pair", "Control"))]


async def test_an_idle_kernel_states_that_no_cell_runs(link):
    found = await read(link)
    assert (found["cell"], found["tasks"]) == (None, [])
    assert found["threads"] == [{"name": "MainThread", "frames": []}]
    assert set(found["left_out"]) == {"machinery_threads", "machinery_tasks"}


@pytest.mark.parametrize(("code", "line"), [(LOOP, 6), (AWAIT, 7)])
async def test_a_cell_that_began_before_the_first_call_is_found_too(kernel, running, code, line):
    link = KernelLink(find_kernel(kernel.path))
    async with running(code):
        cell = (await standing(link, lambda s: s["cell"] and "line" in s["cell"]))["cell"]
        hot = (await ask(link, "read_hot_lines", seconds=0.2))["result"]
    await link.close()
    assert (cell["line"], "seconds" in cell) == (line, False)
    assert (hot["cell"], hot["samples"] > 0) == (cell["label"], True)


async def test_a_run_of_a_variant_is_shown_as_what_the_main_thread_does(link, person, gate):
    person.run(
        """\
import repl_pair
@repl_pair.story("demo")
def demo():
    while not is_over(): time.sleep(0.01)
repl_pair.variant("demo/It")
@repl_pair.story("later")
async def later():
    while not is_over(): await asyncio.sleep(0.01)
repl_pair.variant("later/It")"""
    )
    for name, line, part, slot in (
        ("demo", 4, "threads", "frames"),
        ("later", 8, "tasks", "awaits"),
    ):
        run = asyncio.create_task(ask(link, "run_variant", variant_id=f"{name}/It"))
        where = [(line, name)]
        found = await standing(
            link, lambda s, at=(where, part, slot): at[0] in [own(one[at[2]]) for one in s[at[1]]]
        )
        assert found["cell"] is None
        gate.touch()
        assert (await run)["result"]["status"] == "pass"
        gate.unlink()


# --- hostile objects


HOSTILE = '''
import asyncio, threading, types
RAN = []
def spy(name):
    def method(self, *args, **kwargs):
        RAN.append(name)
        raise RuntimeError(name)
    return method
NAMES = """__repr__ __str__ __hash__ __eq__ __len__ __iter__ startswith split partition encode
get_coro get_name get_loop done cancelled get_stack __lt__ __bool__ replace strip name ident
rpartition removeprefix""".split()
SPIES = {name: spy(name) for name in NAMES}
Text = type("Text", (str,), SPIES)
class Named(threading.Thread):
    name = property(spy("Named.name"))
    __hash__ = threading.Thread.__hash__
over = threading.Event()
def wait():
    over.wait()
odd = types.FunctionType(
    wait.__code__.replace(co_filename=Text("/plain/odd.py"), co_name=Text("<module>"),
                          co_qualname=Text("odd")), globals())
threads = [threading.Thread(target=wait) for _ in range(3)]
threads += [threading.Thread(target=odd, name="odd")]
for each in threads: each.start()
for each, name in zip(threads, (Text("textual"), 7, "\\ud800 half")): each._name = name
threads[2].__class__ = Named

class Task(asyncio.Task):
    armed = False
    def __getattribute__(self, name):
        if Task.armed:
            RAN.append(f"Task.{name}")
        return super().__getattribute__(name)
    def __hash__(self):
        if Task.armed: RAN.append("Task.__hash__")
        return 1
    def __eq__(self, other):
        if Task.armed: RAN.append("Task.__eq__")
        return self is other
    def __repr__(self):
        RAN.append("Task.__repr__"); return "x"
    def get_coro(self):
        RAN.append("Task.get_coro"); return None
    def done(self):
        if Task.armed: RAN.append("Task.done")
        return super().done()

class Lies:
    """Awaits for ever, and has attributes of a coroutine's names."""
    cr_await = gi_yieldfrom = cr_frame = cr_code = property(spy("Lies.cr_await"))
    __class__ = property(lambda self: RAN.append("Lies.__class__") or types.CoroutineType)
    def __await__(self): return self
    def __iter__(self): return self
    def __next__(self): return None
async def stand():
    await asyncio.Event().wait()
async def lie():
    await Lies()
loop = asyncio.get_running_loop()
tasks = [Task(stand(), loop=loop, name="hostile")]
plain = [loop.create_task(lie(), name="lies")]
'''


async def test_no_code_of_hostile_threads_tasks_and_names_runs(link, person, running):
    person.run(HOSTILE)
    async with running(
        """\
await asyncio.sleep(0.05)
Task.armed = True
RAN.clear()
while not is_over(): time.sleep(0.01)
Task.armed = False
print(RAN)
over.set()
for one in [*tasks, *plain]: one.cancel()"""
    ) as cell:
        found = await standing(
            link, lambda s: (s["cell"] or {}).get("line") == 4, view=INSPECTOR, code=True
        )
        hot = await ask(link, "read_hot_lines", seconds=0.3)
    assert hot["result"]["samples"]
    assert (await cell).text.splitlines()[-1] == "[]"
    shown = {task["name"]: task for task in found["tasks"]}
    assert [len(own(shown[name]["awaits"])) for name in ("lies", "hostile")] == [1, 1]
    names = {thread["name"] for thread in found["threads"]}
    assert {"textual", "odd"} <= names
    assert next(t for t in found["threads"] if t["name"] == "odd")["frames"][-1]["where"] == (
        "/plain/odd.py"
    )


# --- hot lines


HOT = """\
numbers = list(range(100_000))
def cheap():
    return len(numbers)
def dear():
    for number in numbers: number * number
while not is_over():
    cheap()
    dear()"""


async def hot_lines(link, **args):
    reply = await ask(link, "read_hot_lines", **args)
    assert reply["ok"], reply
    return reply


async def begun(link):
    """Wait until a cell runs that is known to the kernel's end."""
    return await standing(link, lambda s: "seconds" in (s["cell"] or {}))


async def test_the_line_that_takes_the_time_is_first(link, running):
    async with running(HOT):
        await begun(link)
        found = (await hot_lines(link, seconds=1.0))["result"]
    first = found["lines"][0]
    assert (first["line"], first["function"], first["where"]) == (5, "dear", found["cell"])
    assert first["share"] > 0.8
    assert sum(line["share"] for line in found["lines"]) <= 1.05
    assert (found["seconds"] >= 1.0, "ended" in found) == (True, False)
    taken_or_missed = found["samples"] + found.get("missed", 0)
    assert taken_or_missed == pytest.approx(100 * found["seconds"], abs=1)


async def test_what_a_hot_line_calls_of_a_library_is_named(link, running):
    async with running("while not is_over():\n    json.dumps([1.5] * 100_000)"):
        await begun(link)
        (first, *_) = (await hot_lines(link, seconds=0.5))["result"]["lines"]
    assert (first["line"], first["function"]) == (2, "<module>")
    assert first["inside"] == "json/__init__.py dumps"


async def test_a_cell_that_awaits_has_the_line_that_awaits_as_its_hot_line(link, running):
    async with running(AWAIT):
        await begun(link)
        found = (await hot_lines(link, seconds=0.5))["result"]
    first = found["lines"][0]
    assert (first["line"], first["function"]) == (3, "inner")
    assert (first["share"] > 0.8, first["inside"]) == (True, "asyncio/tasks.py sleep")


SAMPLED = """
def sampled():
    return any("read_hot_lines" in thread.name for thread in threading.enumerate())
while not sampled(): pass
"""


THREE_SAMPLES = """
from repl_pair.runtime.inspection import hot_lines
samples, lines_of = [], hot_lines._lines_of
hot_lines._lines_of = lambda thread: (samples.append(1), lines_of(thread))[1]
while len(samples) < 3: pass
hot_lines._lines_of = lines_of
"""


async def test_sampling_ends_with_the_cell_and_states_how_long_it_was(link, running):
    async with running(THREE_SAMPLES):
        await begun(link)
        found = (await hot_lines(link, seconds=10.0))["result"]
    assert (found["ended"], found["seconds"] < 9.0, found["samples"] > 0) == (True, True, True)


async def test_a_cancelled_call_samples_no_more_and_leaves_no_thread(link, gate, running):
    ends = "until = time.monotonic() + 5\nwhile sampled() and time.monotonic() < until: pass"
    mark = gate.with_name("sampled")
    code = f"{SAMPLED}pathlib.Path({str(mark)!r}).touch()\n{ends}\nprint(sampled())"
    async with running(code) as cell:
        await begun(link)
        sampling = asyncio.create_task(hot_lines(link, seconds=10.0))
        async with asyncio.timeout(BOUND_S):
            while not mark.exists():
                await asyncio.sleep(0.005)
        sampling.cancel()
        assert (await cell).text == "False\n"


async def test_without_a_cell_nothing_is_sampled_and_that_is_reported(link):
    reply = await hot_lines(link)
    assert reply["result"] == {"samples": 0, "seconds": 0.0, "lines": []}
    assert reply["notifications"][0].startswith("No cell runs")
    assert reply["next_steps"] == [next_step("read_stacks")]


HOLDING = """\
import ctypes
hold = ctypes.PyDLL(None).usleep
while not is_over():
    hold(150_000); [None for _ in range(20_000)]  # where the sampler gets the lock
    until = time.monotonic() + 0.1
    while time.monotonic() < until: pass"""


async def test_samples_that_c_code_kept_away_are_reported_and_count_for_its_line(link, running):
    await hot_lines(link)  # what a call imports would take a turn of the cell for each file
    async with running(HOLDING):
        await begun(link)
        reply = await hot_lines(link, seconds=1.5)
    found = reply["result"]
    assert found["missed"] >= 10
    assert reply["notifications"][0].startswith(f"{found['missed']} samples were missed: C code")
    assert sum(line["share"] for line in found["lines"] if line["line"] == 4) > 0.3


async def test_the_switch_interval_is_restored_after_sampling(link, person, running):
    async with running(LOOP):
        await begun(link)
        await hot_lines(link, seconds=0.3)
    found = await asyncio.to_thread(person.run, "import sys; print(sys.getswitchinterval())")
    assert found.text == "0.005\n"


async def test_reading_again_and_again_leaves_nothing_behind(link, person, gate):
    code = "print(threading.active_count(), len(asyncio.all_tasks()))"

    async def count():
        text = (await asyncio.to_thread(person.run, code)).text
        return [int(number) for number in text.split()]

    await read(link)
    await hot_lines(link)
    most_threads, most_tasks = await count()  # what a test before this one started may still end
    for _ in range(30):
        await read(link, INSPECTOR, code=True)
        await hot_lines(link, seconds=0.1)
    async with asyncio.timeout(BOUND_S):
        while True:
            threads, tasks = await count()
            if threads <= most_threads and tasks <= most_tasks:
                break
            await asyncio.sleep(0.05)


async def test_while_c_code_holds_the_lock_the_call_reports_it_and_answers_later(
    link, person, tmp_path
):
    gate = tmp_path / "fifo"
    ran = asyncio.create_task(asyncio.to_thread(person.run, HOLD.format(gate=str(gate))))
    async with asyncio.timeout(BOUND_S):
        while not gate.exists():
            await asyncio.sleep(0.005)

    async def named():
        refused = await link.request("read_stacks", {}, view=READER, timeout_s=1.5)
        assert refused["error"]["code"] == "kernel_unresponsive"
        return refused["error"]["detail"]["state"] == "gil_held"

    await eventually(named, what="an examination that a busy machine did not disturb")
    later = asyncio.create_task(read(link))
    os.close(os.open(gate, os.O_RDWR))
    await ran
    assert (await later)["threads"][0]["name"] == "MainThread"
