"""Memory, threads, open files and comms of a kernel: none of them grows by runs."""

import ast
import asyncio
import json
from collections import Counter

import pytest
from bounds import BOUND_S

from repl_pair.runtime.kernel.deadlines import TICK_S
from repl_pair.wire import View
from tests.kernel.leaving_probes import COUNTS

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent", access=frozenset({"read", "run", "eval"}))
WARM, RUNS = 20, 200
STORIES = """
import asyncio, logging, os, random, subprocess, sys, threading, warnings
import matplotlib.pyplot as pyplot, numpy, pandas
import repl_pair
from repl_pair import check, step

def plain(n=3): return n
def prints(): print("x" * 10_000); logging.warning("logged"); warnings.warn("warned")
def plots(): pyplot.plot([1, 2]); pyplot.title("t")
def displays(): display({"text/html": "<b>x</b>" * 1000}, raw=True)
def frame(rows=None): return pandas.DataFrame(numpy.ones((300, 20)))
def array(values=None): return values * 2
def sets(): os.environ["SET"] = "run"; pyplot.style.use("ggplot"); numpy.random.seed(1)
def raises(): raise ValueError("no" * 1000)
def child(): subprocess.run([sys.executable, "-S", "-c", "print(1)"], check=True)
def thread(): one = threading.Thread(target=print, args=("x",)); one.start(); one.join()
async def awaits(): await asyncio.sleep(0); return await asyncio.to_thread(random.random)
class Cart:
    def __init__(self): self.items = []
    def on_add(self, item): self.items.append(item)

for made in (plain, prints, plots, displays, frame, array, sets, raises, child, thread, awaits):
    repl_pair.story(f"flat.{made.__name__}", component=made)
    args = {"values": numpy.ones(50_000)} if made is array else {}
    repl_pair.variant(f"flat.{made.__name__}/It", args=args)
repl_pair.story("flat.Cart", component=Cart)
adds = [step.dispatch("add", item="a"), check.path_equals("state.items", ["a"])]
repl_pair.variant("flat.Cart/It", play=adds)
"""
KINDS = (
    "plain", "prints", "plots", "displays", "frame", "array", "sets", "raises", "thread",
    "awaits", "Cart", "child",
)  # fmt: skip
TRIM = "_collect(); __import__('ctypes').CDLL(None).malloc_trim(0)"
"""Gives back to the system what the allocator holds free, which is no growth of anything."""
COMMS = "len(__import__('comm').get_comm_manager().comms)"
LARGE_MB = 80
LARGE = f"""
import numpy, repl_pair
def total(values): return float(values[0])
repl_pair.story("large.total", component=total)
repl_pair.variant("large.total/It", args={{"values": numpy.ones({LARGE_MB} * 125_000)}})
"""
IMAGE = """
import base64, os, repl_pair
class Image:
    def _repr_png_(self): return bytes.fromhex("89504e470d0a1a0a00") + os.urandom(150_000)
repl_pair.story("large.image", component=Image)
repl_pair.variant("large.image/It")
repl_pair.story("large.none", component=lambda: None)
repl_pair.variant("large.none/It")
"""


@pytest.fixture
def at_desk(person):
    """Runs a cell of the person's: `await at_desk(code)` gives its value."""

    async def run(code):
        return (await asyncio.to_thread(person.run, code)).value

    return run


@pytest.fixture
def counts(at_desk):
    """Counts threads, files and more of the kernel: `await counts()`."""

    async def count():
        await at_desk(TRIM)
        resident_mb = float(ast.literal_eval(await at_desk("_resident_mb()")))
        return {
            **json.loads(ast.literal_eval(await at_desk("_counts()"))),
            "resident_mb": resident_mb,
        }

    return count


async def run(link, id, by="run_variant", **args):
    if by == "eval_code":
        name = id.removeprefix("flat.").removesuffix("/It")
        given = "numpy.ones(50_000)" * (name == "array")
        args = {"code": f"kept = 1\n{'await ' * (name == 'awaits')}{name}({given})"}
    else:
        args = {"variant_id": id, **args}
    reply = await link.request(by, args, view=AGENT, timeout_s=BOUND_S)
    assert reply["ok"], str(reply)
    return reply["result"]


async def test_a_reply_with_a_large_image_starts_no_thread_and_opens_no_file(link, at_desk, counts):
    await at_desk(IMAGE + COUNTS)
    assert (await run(link, "large.none/It"))["status"] == "pass"
    before = await counts()
    ran = await run(link, "large.image/It")
    assert len(ran["outputs"][0]["image/png"]) > 150_000
    after = await counts()
    # The thread of the timers ends by itself, half a second after a run.
    assert not {*after["threads"]} - {*before["threads"], "repl_pair timers"}
    assert not any("Garbage" in name for name in after["threads"])
    assert after["files"] <= before["files"]  # a connection of another test may close


async def test_a_large_arg_is_held_once_after_its_run_and_not_after_its_removal(
    link, at_desk, counts
):
    await at_desk(COUNTS + "import numpy, repl_pair")
    before = (await counts())["resident_mb"]
    await at_desk(LARGE)
    held = (await counts())["resident_mb"] - before
    for _ in range(2):
        cell = asyncio.create_task(at_desk(f"import time; time.sleep({TICK_S + 0.2})"))
        assert (await run(link, "large.total/It"))["status"] == "pass"
        await cell
        assert (await link.request("list_variants", {}, view=AGENT))["ok"]

    async def resident_below(share):
        # What looks for outdated results after a cell may be reading the arg at that moment.
        async with asyncio.timeout(BOUND_S):
            while (mb := (await counts())["resident_mb"] - before) >= LARGE_MB * share:
                await asyncio.sleep(0.05)
        return mb

    ran = await resident_below(1.4)
    await at_desk("repl_pair.registry.unregister('variant', 'large.total/It')")
    left = await resident_below(0.4)
    print(f"{LARGE_MB} MB of args: {held:.0f} MB registered, {ran:.0f} after runs, {left:.0f} left")


def more_threads(before, after):
    """Return the threads that came; a pool of the loop grows where it is slow to free one."""
    came = Counter(after["threads"]) - Counter(before["threads"])
    return {name for name in came if not name.startswith("asyncio_")}


@pytest.mark.full
@pytest.mark.parametrize("by", ["run_variant", "eval_code"])
async def test_200_runs_of_each_kind_of_story_are_flat(link, at_desk, counts, by):
    await at_desk(STORIES + COUNTS)
    grown, made = {}, {}
    for kind in KINDS:
        for _ in range(WARM):
            await run(link, f"flat.{kind}/It", by)
    for kind in KINDS:
        before, comms = await counts(), await at_desk(COMMS)
        for _ in range(RUNS):
            await run(link, f"flat.{kind}/It", by)
        async with asyncio.timeout(BOUND_S):
            # Of those that linger for a moment fewer may be left.
            while more_threads(before, after := await counts()):
                await asyncio.sleep(0.05)
        assert after["files"] <= before["files"], kind
        more = Counter(after["objects"])
        more.subtract(before["objects"])
        made[kind] = dict(more.most_common(3))
        assert await at_desk(COMMS) == comms, kind
        grown[kind] = round(after["resident_mb"] - before["resident_mb"], 1)
    print(f"{RUNS} runs of each, resident MB grown: {grown}; most objects: {made}")
    assert all(mb < 8.0 for mb in grown.values()), grown
