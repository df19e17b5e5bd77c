"""The steps of the demo, in order; each shows real replies and checks them."""

import base64
import json
import os
import signal
import statistics
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import click
from mcp.types import CallToolResult, ImageContent

from repl_pair.bridge.suggestions import write_step
from repl_pair.demo.stage import Stage, expect, find_example, forms_of, make_environment, read_reply

GOOD = "pricing.quote/Bulk"
BAD = "pricing.discount/Wrong_on_purpose"
PICTURE = "pricing.chart/Bars"
PAID, DECLINED = "pricing.payment/Accepted", "pricing.payment/Declined"
READS = 20
SLEEPS = """import pathlib, time
print("still mine")
while not pathlib.Path({!r}).exists(): time.sleep(0.1)
'slept'
"""
DEATH_NOTICED_MS = 1000.0


def print_text(text: str) -> None:
    """Print indented text."""
    click.echo("\n".join(f"    {line}" for line in text.splitlines()))


def print_json(data: Any) -> None:
    """Print a reply or a part of it."""
    print_text(json.dumps(data, ensure_ascii=False, indent=2))


async def _connect(stage: Stage) -> None:
    print_text(f"$ repl-pair mcp        answered after {stage.opened_ms:.0f} ms")
    print_text(f"{len(stage.tools)} tools: {', '.join(stage.tools)}")
    expect({"list_stories", "run_variant"} <= set(stage.tools), "stories can be listed and run")
    expect("get_value" not in stage.tools, "values are closed until the person opens them")


async def _find_kernels(stage: Stage) -> None:
    found = await stage.ask("list_kernels")
    for kernel in found["items"]:
        print_text(
            f"{kernel['id']}  {kernel['name']}  pid {kernel['pid']}  alive {kernel['alive']}"
        )
    pids = [kernel["pid"] for kernel in found["items"] if kernel["alive"]]
    expect(pids == [stage.kernel.pid], "the one kernel that was started is found, alive")


async def _list_stories(stage: Stage) -> None:
    found = await stage.ask("list_stories")
    for story in found["items"]:
        print_text(f"{story['id']:20}{story['variants']:2} variant(s)  {story['doc']}")
    variants = await stage.ask("list_variants")
    print_text(f"{variants['total']} variants in all")
    expect(found["total"] >= 5, "several stories are registered")
    expect(variants["total"] >= 12, "a dozen variants are registered")


async def _read_body(stage: Stage) -> None:
    body = await stage.ask("get_variant", variant_id=GOOD)
    print_json(body)
    expect(body["args"]["order"]["lines"][1]["sku"] == "CUP-07", "the args are the registered ones")
    expect(len(body["play"]) == 3, "the play has its three assertions")


async def _run_passing(stage: Stage) -> None:
    run = await stage.ask("run_variant", variant_id=GOOD)
    _print_run(GOOD, run)
    expect(run["status"] == "pass" and run["total"] == 3, "all three assertions pass")
    expect(run["result"]["currency"] == "EUR", "the result is read back")


async def _run_failing(stage: Stage) -> None:
    run = await stage.ask("run_variant", variant_id=BAD)
    _print_run(BAD, run)
    failed = run["assertions"]
    expect((run["status"], len(failed), run["total"]) == ("fail", 1, 2), "one of two fails")
    expect(failed[0]["actual"] == "0.15", "the outcome has the actual value")
    passing = await stage.ask("tests_passing", tags=["fails-on-purpose"])
    expect(passing["status"] == "fail", "tests_passing answers fail")


async def _receive_image(stage: Stage) -> None:
    answered = await stage.call("run_variant", variant_id=PICTURE)
    images = [block for block in answered.content if isinstance(block, ImageContent)]
    expect(len(images) == 1, "one image comes as image content")
    data = base64.b64decode(images[0].data)
    expect(data.startswith(b"\x89PNG\r\n"), "the image is a PNG")
    width, height = struct.unpack(">II", data[16:24])
    print_text(f"{images[0].mime_type}, {width} x {height} pixels, {len(data)} bytes")
    expect(width == 240, "the image is as wide as it was drawn")


async def _meet_secret(stage: Stage) -> None:
    story = await stage.ask("get_story", story_id="pricing.payment")
    paid = await stage.ask("run_variant", variant_id=PAID)
    declined = await stage.ask("run_variant", variant_id=DECLINED, detail="full")
    print_json({"args": story["args"], "result": paid["result"], "stdout": paid["stdout"]})
    print_json({"raised": declined["assertions"][0]["actual"]})
    expect(paid["status"] == declined["status"] == "pass", "both runs pass")
    expect("[redacted]" in paid["result"]["request"], "the key is redacted in the result")
    expect("[redacted]" in paid["stdout"], "the key is redacted in what was printed")
    expect("[redacted]" in declined["assertions"][0]["actual"], "and in the exception")
    expect_no_leak(stage)


def expect_no_leak(stage: Stage) -> None:
    """Check that the key, in every form, is in no frame and not in the log of the server."""
    received = [*stage.frames, stage.stderr.read_text(encoding="utf-8")]
    size = sum(map(len, received))
    for form, text in forms_of(stage.secret).items():
        expect(not any(text in one for one in received), f"the key is in no frame ({form})")
    print_text(f"{len(stage.frames)} frames, {size} characters received so far: the key is in none")


async def _identify(stage: Stage) -> None:
    mine = await stage.ask("snapshot_identity", variant_id=GOOD)
    print_json(mine)
    command = [sys.executable, "-m", "repl_pair", "identity", GOOD, "--here", "--json"]
    env = {**os.environ, **make_environment()}
    done = await anyio.run_process(command, cwd=find_example(), env=env, check=False)
    expect(done.returncode == 0, f"repl-pair identity --here answers: {done.stderr.decode()}")
    other = json.loads(done.stdout)["result"]
    print_text(f"$ repl-pair identity {GOOD} --here        {other['content_hash'][:16]}…")
    expect(mine["content_hash"] == other["content_hash"], "both content hashes are equal")
    expect(mine["code_hash"] == other["code_hash"], "both code hashes are equal")
    usd = await stage.ask("snapshot_identity", variant_id=GOOD, modes=["currency/usd"])
    expect(mine["content_hash"] != usd["content_hash"], "another mode is another identity")


async def _read_beside_cell(stage: Stage) -> None:
    kernel = stage.kernel
    idle = await _time_reads(stage)
    awake = kernel.path.with_name("awake")
    begun = await anyio.to_thread.run_sync(kernel.start, SLEEPS.format(str(awake)))
    asleep = await _time_reads(stage)
    print_text(f"list_variants: {idle:.1f} ms idle, {asleep:.1f} ms while the cell sleeps")
    run = await stage.ask("run_variant", variant_id=GOOD, wait_s=0.3)
    print_text(f"run_variant waits for the cell: {run['status']}, {run['reason']}")
    expect(run["status"] == "cannot_run", "the run waits for the cell")
    awake.touch()
    ran = await anyio.to_thread.run_sync(kernel.finish, begun)
    print_text(f"In[{ran.count}] ended by itself: printed {ran.printed!r}, value {ran.value}")
    expect(ran.error is None and ran.value == "'slept'", "the cell ends unharmed")
    expect(ran.printed == "still mine\n", "the cell's output is its own")
    after = await anyio.to_thread.run_sync(kernel.run, "_")
    expect(after.value == "'slept'" and after.count == ran.count + 1, "_ and the count are its own")


async def _notice_death(stage: Stage) -> None:
    killed = 0.0

    async def kill(progress: float, total: float | None, message: str | None) -> None:
        nonlocal killed
        print_text(f"run_variant: {message}; now kill -9 {stage.kernel.pid}")
        os.kill(stage.kernel.pid, signal.SIGKILL)
        killed = time.perf_counter()

    await anyio.to_thread.run_sync(stage.kernel.start, "time.sleep(60)")
    args = {"variant_id": GOOD, "wait_s": 20}
    lost = await stage.client.call_tool("run_variant", args, progress_callback=kill)
    _check_refused(lost, "outcome_unknown", since=killed)
    asked = time.perf_counter()
    _check_refused(await stage.call("list_stories"), "kernel_gone", since=asked)
    expect_no_leak(stage)


def _check_refused(answered: CallToolResult, code: str, *, since: float) -> None:
    ms = (time.perf_counter() - since) * 1e3
    reply = read_reply(answered)
    expect(reply.get("ok") is False, "the call is refused")
    print_text(f"after {ms:.0f} ms  {reply['error']['code']}: {reply['error']['message']}")
    for line in (*map(write_step, reply.get("next_steps", ())), *reply.get("hints", ())):
        print_text(f"    next: {line}")
    expect(reply["error"]["code"] == code, f"the refusal is {code}")
    expect(ms < DEATH_NOTICED_MS, f"the answer comes within {DEATH_NOTICED_MS:.0f} ms")


async def _time_reads(stage: Stage) -> float:
    taken: list[float] = []
    for _ in range(READS):
        started = time.perf_counter()
        await stage.ask("list_variants", limit=5)
        taken.append((time.perf_counter() - started) * 1e3)
    return statistics.median(taken)


def _print_run(variant_id: str, run: Mapping[str, Any]) -> None:
    print_text(f"{variant_id}: {run['status']}, {run['total']} assertions")
    for outcome in run.get("assertions", ()):
        print_text(f"  FAILED  {outcome['assertion']} {outcome['payload']}")
        print_text(f"          expected {outcome['expected']}, actual {outcome['actual']}")
        print_text(f"          {outcome['reason']}")


STEPS: Mapping[str, Callable[[Stage], Awaitable[None]]] = {
    "An agent's client connects": _connect,
    "Kernels found": _find_kernels,
    "Stories": _list_stories,
    "A variant's body": _read_body,
    "A run that passes": _run_passing,
    "A run that fails on purpose": _run_failing,
    "An image": _receive_image,
    "A redacted secret": _meet_secret,
    "One identity in two processes": _identify,
    "Reads while a cell sleeps": _read_beside_cell,
    "The kernel is killed": _notice_death,
}
"""The steps by their titles."""
