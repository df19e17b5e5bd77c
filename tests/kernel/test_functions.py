"""Functions of the app that agents call beside the person: what their cells and Stop must keep."""

import ast
import asyncio
import signal

import pytest
from bounds import BOUND_S

from repl_pair.wire import PERSON, View

pytestmark = pytest.mark.anyio

AGENT = View(principal="claude")
APP = """
import repl_pair, threading, time, warnings
@repl_pair.function("app.speak", expose=True, mutates=False)
def speak(n: int = 1) -> bool:
    print("spoken")
    warnings.warn("heard")
    _ = n
    return threading.current_thread() is threading.main_thread()
@repl_pair.function("app.beside", expose=True, mutates=False, thread_safe=True)
def beside() -> bool:
    print("spoken beside")
    return threading.current_thread() is threading.main_thread()
@repl_pair.function("app.loop", expose=True, mutates=False)
def loop() -> None:
    while True:
        pass
"""
WAITS = """
import pathlib, time
until = time.monotonic() + 60
while not pathlib.Path({gate!r}).exists():
    assert time.monotonic() < until
    time.sleep(0.005)
print("the cell")
"""


async def call(link, id, **more):
    args = {"function": id, "wait_s": BOUND_S, **more}
    return await link.request("run_function", args, view=AGENT, timeout_s=2 * BOUND_S)


LEAVES_LATE = """
import pathlib
from repl_pair.runtime.kernel import deadlines
deadlines.ON_ITS_WAY_S = {bound_s}
kernel = get_ipython().kernel
def publish(status, channel, stream, parent=None):
    del kernel._publish_status_and_flush
    kernel._publish_status_and_flush(status, channel, stream, parent)
    until = time.monotonic() + 60
    while not pathlib.Path({gate!r}).exists():
        assert time.monotonic() < until
        time.sleep(0.005)
kernel._publish_status_and_flush = publish
"""


async def is_waiting(link, seen):
    while not any(progress["message"].startswith("waiting: ") for progress in seen):
        await asyncio.sleep(0.01)


async def test_a_call_waits_for_the_persons_cell_and_a_thread_safe_one_does_not(
    link, person, tmp_path
):
    await asyncio.to_thread(person.run, APP)
    await link.request("ping", {}, view=AGENT)
    gate, seen = tmp_path / "gate", []
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    args = {"function": "app.speak", "wait_s": BOUND_S}
    waiting = asyncio.create_task(
        link.request(
            "run_function", args, view=AGENT, timeout_s=2 * BOUND_S, on_progress=seen.append
        )
    )
    beside = (await call(link, "app.beside"))["result"]
    assert (beside["value"], beside["stdout"]) == (False, "spoken beside\n")
    await asyncio.wait_for(is_waiting(link, seen), BOUND_S)
    assert not waiting.done()
    short = (await call(link, "app.speak", wait_s=0.1))["result"]
    assert short["status"] == "cannot_run"
    assert short["reason"].startswith("not started within 0.1 s: the person's cell In[")
    gate.touch()
    ran = await asyncio.to_thread(person.finish, cell)
    answer = (await waiting)["result"]
    assert (answer["value"], answer["stdout"]) == (True, "spoken\n")
    patient = f"from repl_pair.runtime.kernel import deadlines; deadlines.ON_ITS_WAY_S = {BOUND_S}"
    await asyncio.to_thread(person.run, patient)
    for _ in range(5):  # an idle kernel takes no call for one that waits
        assert (await call(link, "app.speak", wait_s=0))["result"]["value"] is True
    assert answer["warnings"] == ["UserWarning: heard"]
    assert ran.text == "the cell\n"


async def test_a_cell_that_is_over_is_no_reason_to_refuse_a_call_that_does_not_wait(
    link, person, tmp_path
):
    await link.request("ping", {}, view=AGENT)
    gate, seen = tmp_path / "gate", []
    late = LEAVES_LATE.format(gate=str(gate), bound_s=BOUND_S)
    await asyncio.to_thread(person.run, APP + late)
    args = {"function": "app.speak", "wait_s": 0}
    calling = asyncio.create_task(
        link.request("run_function", args, view=AGENT, timeout_s=BOUND_S, on_progress=seen.append)
    )
    while not (seen or calling.done()):
        await asyncio.sleep(0.01)
    gate.touch()
    assert (await calling)["result"].get("value") is True, await calling


@pytest.mark.parametrize(
    ("terms", "code"), [("thread_safe=True", "cannot_run"), ("ask=True", "approval_required")]
)
async def test_a_function_that_gets_other_terms_while_its_call_waits_is_refused(
    link, person, tmp_path, terms, code
):
    await asyncio.to_thread(person.run, APP)
    gate, seen = tmp_path / "gate", []
    again = f"repl_pair.function('app.speak', expose=True, mutates=False, {terms})(speak)\n"
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)) + again)
    args = {"function": "app.speak", "wait_s": BOUND_S}
    waiting = asyncio.create_task(
        link.request(
            "run_function", args, view=AGENT, timeout_s=2 * BOUND_S, on_progress=seen.append
        )
    )
    await asyncio.wait_for(is_waiting(link, seen), BOUND_S)
    gate.touch()
    ran = await asyncio.to_thread(person.finish, cell)
    reply = await waiting
    assert (reply["ok"], reply.get("error", {}).get("code")) == (False, code)
    assert "app.speak" in reply["error"]["message"]
    assert ran.text == "the cell\n"


async def test_the_persons_names_history_and_outputs_stay_as_they_were(link, person):
    await asyncio.to_thread(person.run, APP)
    await asyncio.to_thread(person.run, "40 + 2")
    look = "[_, __import__('threading').active_count(), len(In), list(Out.values()), "
    look += "sorted(n for n in globals() if not n.startswith('_'))]"
    before = ast.literal_eval((await asyncio.to_thread(person.run, look)).value)
    for _ in range(3):
        assert (await call(link, "app.speak"))["ok"]
    after = await asyncio.to_thread(person.run, look)
    found = ast.literal_eval(after.value)
    assert after.text == ""
    assert found[0] == before
    assert found[2] == before[2] + 1
    assert found[4] == before[4]


async def test_stop_ends_the_call_and_not_the_kernel(link, person, kernel):
    await asyncio.to_thread(person.run, APP)
    looping = asyncio.create_task(call(link, "app.loop"))
    doing = {}
    while not doing:
        found = await link.request("read_stacks", {}, view=View(principal=PERSON))
        doing = "in loop" in str(found) or "'loop'" in str(found)
        await asyncio.sleep(0.01)
    kernel.signal(signal.SIGINT)
    answer = (await asyncio.wait_for(looping, BOUND_S))["result"]
    assert (answer["status"], answer["reason"]) == ("cannot_run", "interrupted by the person")
    assert answer["error"]["code"] in ("while True:", "pass")
    assert (await asyncio.to_thread(person.run, "1 + 1")).value == "2"
