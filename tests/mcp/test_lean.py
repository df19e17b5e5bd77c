"""What replies cost: the usual tasks of an agent, each reply lean, each next step a call."""

import json

import pytest

from repl_pair.bridge import manifest
from repl_pair.runtime.signatures.arguments import check_arguments

SETUP = """
import repl_pair
from repl_pair import check
from typing import Any

prices = {"pen": 4.0, "ink": 9.0}

@repl_pair.story("shop.order", args={"count": 2})
def order(count: int) -> Any:
    print("priced", count)
    lines = [{"sku": f"sku-{n}", "price": 6.5, "grade": "gold"} for n in range(count)]
    return {"lines": lines, "total": 6.5 * count}

@repl_pair.story("shop.parse")
def parse(text: str = "x") -> float:
    return float(text)

repl_pair.tag("quick")
for n in range(1, 9):
    repl_pair.variant(f"shop.order/N{n}", args={"count": n}, tags=["quick"], play=[
        check.path_equals("result.total", 6.5 * n),
        check.path_equals("result.lines[0].sku", "sku-0"),
        check.no_warnings(),
    ])
repl_pair.variant("shop.order/Wrong", play=[
    check.path_equals("result.total", 14.0), check.no_warnings()])
repl_pair.variant("shop.parse/Bad")
"""
TASKS = {
    "what is here": [("list_stories", {}), ("list_variants", {"limit": 10})],
    "what fails and why": [
        ("run_variant", {"variant_id": "shop.order/Wrong"}),
        ("run_variant", {"variant_id": "shop.parse/Bad"}),
        ("read_failures", {}),
    ],
    "does it pass": [("run_variant", {"variant_id": "shop.order/N8"})],
    "sweep over a tag": [("run_variants", {"tags": ["quick"]})],
    "explain": [("read_op", {"op": "explain_variant", "args": {"variant_id": "shop.order/N2"}})],
    "find a variable": [("list_variables", {})],
}
OF_RUNS = ("what fails and why", "does it pass", "sweep over a tag")
FULL = ("run_variant", "run_variants")


ANSWER = """
from repl_pair.runtime.clients.approvals import QUEUE
[one] = QUEUE.pending()
QUEUE.answer(one.handle, "once")
"""


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(SETUP)


@pytest.fixture(scope="module")
def agent(kernel, connect):
    with connect("--kernel", kernel.path) as agent:
        agent.ask("list_kernels")
        agent.ask("list_stories")
        yield agent


def spent(agent, calls, **more):
    """Make the calls of a task; gives the characters of their replies."""
    texts = []
    for tool, args in calls:
        result = agent.call(tool, **args, **(more if tool in FULL else {}))
        texts += [part.text for part in result.content if part.type == "text"]
    return sum(map(len, texts))


def test_the_usual_runs_take_less_than_half_of_what_they_take_in_full(agent):
    taken = {task: spent(agent, calls) for task, calls in TASKS.items()}
    full = {task: spent(agent, TASKS[task], detail="full") for task in OF_RUNS}
    for task, chars in taken.items():
        print(f"{task}: {len(TASKS[task])} calls, {chars // 4} tokens", full.get(task, 0) // 4)
    assert sum(taken[task] for task in OF_RUNS) <= 0.45 * sum(full.values())


def test_a_variant_is_mended_proved_and_cleaned_up_in_a_thousand_tokens(kernel, connect):
    mended = {"extends": "shop.order/Wrong", "play": [["path_equals", "result.total", 13.0]]}
    calls = [
        ("run_variant", {"variant_id": "shop.order/Wrong"}),
        ("register_variant", {"variant_id": "shop.order/Mended", "body": mended}),
        ("run_variant", {"variant_id": "shop.order/Mended"}),
        ("unregister", {"kind": "variant", "id": "shop.order/Mended"}),
    ]
    with connect("--kernel", kernel.path, "--allow", "write") as writer:
        taken = spent(writer, calls)
    print(f"mend, prove, clean up: {len(calls)} calls, {taken // 4} tokens")
    assert taken <= 4 * 1_000


def test_a_call_that_the_person_approves_takes_two_calls_and_few_tokens(kernel, connect):
    with connect("--kernel", kernel.path, "--ask", "write", "--ask-wait", 0) as asker:
        pending = asker.call("register_tag", tag_id="asked", body={})
        kernel.cell(ANSWER)
        (step,) = pending.structured_content["next_steps"]
        answered = asker.call(step["op"], **step["args"])
    assert answered.structured_content["ok"]
    taken = sum(len(reply.content[0].text) for reply in (pending, answered))
    print(f"an approval: 2 calls, {taken // 4} tokens")
    assert taken <= 4 * 300


def test_a_run_answers_what_was_asked(agent):
    passed = agent.ask("run_variant", variant_id="shop.order/N1", detail="lean")["result"]
    assert passed == {
        "status": "pass",
        "total": 3,
        "result": {"lines": [{"sku": "sku-0", "price": 6.5, "grade": "gold"}], "total": 6.5},
        "stdout": "priced 1\n",
    }
    failed = agent.ask("run_variant", variant_id="shop.order/Wrong", detail="lean")["result"]
    assert [outcome["assertion"] for outcome in failed["assertions"]] == ["path_equals"]
    assert failed["total"] == 2
    broken = agent.ask("run_variant", variant_id="shop.parse/Bad", detail="lean")["result"]
    (error,) = broken["errors"]
    assert (error["phase"], error["type"]) == ("render", "ValueError")
    assert error["code"] == "return float(text)"
    swept = agent.ask("run_variants", detail="lean")["result"]
    assert {row["variant_id"] for row in swept["items"]} == {"shop.order/Wrong", "shop.parse/Bad"}
    assert swept["counts"]["pass"] == 8


def test_each_next_step_of_the_usual_tasks_is_answered(agent):
    """Every step that is no write is called as it stands; none is refused for its arguments."""
    waiting = [call for calls in TASKS.values() for call in calls]
    waiting += [
        ("get_variant", {"variant_id": "shop.order/N11"}),
        ("run_variant", {"variant": "shop.order/N1", "wait_s": "2"}),
        ("get_story", {"story_id": "shop.ordr"}),
        ("list_variants", {"limit": 300}),
        ("describe_op", {}),
        ("read_op", {"op": "list_tgas"}),
        ("read_more", {"handle": "gone"}),
    ]
    known = {entry["name"]: entry["input_schema"] for entry in manifest.load()}
    seen: set[str] = set()
    while waiting:
        tool, args = waiting.pop()
        reply = agent.ask(tool, **args)
        for step in reply.get("next_steps", ()):
            assert set(step) == {"op", "args"}
            given = {name: value for name, value in step["args"].items() if name != "kernel"}
            assert check_arguments(known[step["op"]], given) == [], step
            assert given.get("wait_s", 0) <= 55, step
            if (key := json.dumps(step, sort_keys=True)) not in seen and len(seen) < 60:
                seen.add(key)
                waiting.append((step["op"], step["args"]))
        code = reply.get("error", {}).get("code", "")
        was_step = json.dumps({"args": args, "op": tool}, sort_keys=True) in seen
        assert not (was_step and code in ("bad_arguments", "not_found")), (tool, args, reply)
    assert len(seen) >= 15
