"""A real client at the server of a kernel that a program has embedded."""

import subprocess
import sys

import pytest
from bounds import BOUND_S
from waiting import wait_until

from .conftest import environment

SECRET = "Kx55-embedded-token-91"
PROGRAM = f"""
import repl_pair

API_TOKEN = {SECRET!r}
stock = {{"apples": 3, "token": API_TOKEN}}

@repl_pair.story("shop.total")
def total(prices: list[float]) -> dict[str, float]:
    print("in the run", API_TOKEN)
    return {{"total": sum(prices)}}

repl_pair.variant("shop.total/Three", args={{"prices": [1.5, 2.0]}})
kernel = repl_pair.embed(name="till")
print(kernel.file, flush=True)
input()
"""


@pytest.fixture(scope="module")
def program(runtime):
    """A program in which a kernel is embedded."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=environment(runtime),
    )
    process.file = process.stdout.readline().strip()
    yield process
    out, err = process.communicate("\n", timeout=BOUND_S)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.fixture(scope="module", params=["pid", "name", "file"])
def agent(request, program, connect):
    """An agent at the program, named in each of the ways."""
    target = {"pid": str(program.pid), "name": "till", "file": program.file}[request.param]
    gates = ("--allow", "inspect", "--toolsets", "story,values")
    with connect("--kernel", target, *gates) as agent:
        yield agent
    assert SECRET.encode() not in agent.record.out


def test_a_client_runs_a_variant_of_the_program_and_reads_its_variables(agent):
    ran = agent.ask("run_variant", variant_id="shop.total/Three")["result"]
    assert ran["status"] == "pass"
    assert ran["stdout"] == "in the run [redacted]\n"
    read = agent.ask("get_value", path="stock")["result"]
    assert read["value"] == {"apples": 3, "token": "[redacted]"}
    listed = agent.ask("list_variables")["result"]
    assert {"stock", "kernel"} <= {item["id"] for item in listed["items"]}
    assert listed["functions"] == ["total"]


def test_a_client_sees_which_program_it_is(agent, program):
    [listed] = agent.ask("list_kernels")["result"]["items"]
    known = {slot: listed[slot] for slot in ("id", "name", "pid", "front_end", "alive")}
    assert known == {
        "id": f"embed-{program.pid}",
        "name": "till",
        "pid": program.pid,
        "front_end": "embedded",
        "alive": True,
    }


def test_what_the_kernel_is_asked_after_its_close_is_refused(connect, runtime):
    closing = PROGRAM.replace("input()", "input(); kernel.close(); print('closed', flush=True)")
    process = subprocess.Popen(
        [sys.executable, "-c", closing + "\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(runtime),
    )
    try:
        process.stdout.readline()
        with connect("--kernel", str(process.pid)) as agent:
            assert agent.ask("list_variants")["ok"]
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "closed\n"

            def refusal():
                reply = agent.ask("list_variants")
                return None if reply["ok"] else reply["error"]["code"]

            assert wait_until(refusal, "a refusal") in ("kernel_gone", "no_kernel")
    finally:
        process.communicate("\n", timeout=BOUND_S)
    assert process.returncode == 0
