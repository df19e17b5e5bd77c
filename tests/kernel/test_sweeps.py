"""Sweeps in a person's kernel: their Stop ends one, and their cells start one over processes."""

import asyncio
import signal

import pytest
from bounds import BOUND_S

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")
SHOP = """
import os, pathlib, time
import repl_pair
from repl_pair import check

FACTOR = 2

@repl_pair.story("shop.total")
def total(n: int = 1, folder: str = ""):
    if folder:
        pathlib.Path(folder, "begun").touch()
        time.sleep(30)
    return {"total": n * FACTOR, "pid": os.getpid()}

for n in range(4):
    repl_pair.variant(f"shop.total/N{n}", args={"n": n}, play=[
        check.path_equals("result.total", 2 * n)])
"""
SWEPT = """
with repl_pair.process_pool(2) as pool:
    swept = repl_pair.run_variants(story="shop.total", executor=pool)
print(swept.status, swept.counts["pass"], sorted({row.reason[-60:] for row in swept.failing}))
"""
FORKING = """
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
forking = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
try:
    repl_pair.run_variants(story="shop.total", executor=forking)
except repl_pair.ReplPairError as error:
    print(error.code, forking._processes)
"""


@pytest.fixture
def at_desk():
    return asyncio.to_thread


async def run(at_desk, person, code):
    ran = await at_desk(person.run, code)
    assert ran.reply["status"] == "ok", ran.reply
    return ran.text


async def test_the_persons_stop_ends_a_sweep_with_the_run_under_way(
    kernel, person, at_desk, tmp_path
):
    waits = f"repl_pair.variant('shop.total/N1', args={{'folder': {str(tmp_path)!r}}})"
    await run(at_desk, person, SHOP + waits)
    link = KernelLink(find_kernel(str(kernel.path)))
    try:
        asked = link.request(
            "run_variants", {"story_id": "shop.total"}, view=AGENT, timeout_s=BOUND_S
        )
        sweep = asyncio.create_task(asked)
        async with asyncio.timeout(BOUND_S):
            while not (tmp_path / "begun").exists():
                await asyncio.sleep(0.01)
        kernel.signal(signal.SIGINT)
        answer = (await sweep)["result"]
    finally:
        await link.close()
    assert [(item["variant_id"], item["status"]) for item in answer["items"]] == [
        ("shop.total/N1", "cannot_run"),
        ("shop.total/N2", "cannot_run"),
        ("shop.total/N3", "cannot_run"),
    ]
    assert answer["items"][0]["reason"] == answer["reason"] == "interrupted by the person"
    assert (answer["status"], answer["counts"]["not_run"]) == ("cannot_run", 2)
    assert (await run(at_desk, person, "print(1 + 1)")) == "2\n"


async def test_components_of_cells_run_in_processes_where_cloudpickle_is_installed(person, at_desk):
    await run(at_desk, person, SHOP)
    assert await run(at_desk, person, SWEPT) == "pass 4 []\n"
    pids = "print({repl_pair.run('shop.total/N1').result['pid'] == os.getpid()})"
    assert await run(at_desk, person, pids) == "{True}\n"
    missing = "import sys; sys.modules['cloudpickle'] = None"
    await run(at_desk, person, missing)
    printed = await run(at_desk, person, SWEPT)
    assert printed.startswith("cannot_run 0 ['")
    assert "install cloudpickle" in printed


async def test_a_kernel_is_never_forked(person, at_desk):
    await run(at_desk, person, SHOP)
    assert await run(at_desk, person, FORKING) == "bad_arguments {}\n"
