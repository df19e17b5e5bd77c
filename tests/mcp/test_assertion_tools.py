"""Assertions as an agent meets them: listed, run, read, over stdio by a real client."""

import json

from repl_pair.wire import REDACTED

SETUP = """
import repl_pair
from repl_pair import check, step
from typing import Annotated

@repl_pair.assertion
def is_open(settled, name, *, wide=False):
    "`[name, {wide}]`: the door of this name is open."
    return settled.state.open == name

@repl_pair.derived("sign")
def sign(state, mark="!"):
    return state.open + mark

repl_pair.effect.impl("bell")(lambda **_: None)

class Door:
    def __init__(self, key: Annotated[str, repl_pair.Sensitive]):
        self.open, self.n = "", 0.1 + 0.2

    def push(self, name):
        self.open = name
        repl_pair.effect("bell", name=name)

repl_pair.story("door", component=Door, args={"key": "Qz81-door-key-55"})
repl_pair.variant("door/Right", play=[
    step.dispatch("push", name="hall"),
    check.dispatched("push", {"name": "hall"}), check.effect_emitted("bell", name="hall"),
    check.state_is("open", "hall"), check.derived_equals("sign", "hall?", mark="?"),
    check.approx("state.n", 0.3), check.compare("state.n", ">", 0.2), check.no_warnings(),
    check.path_matches("state", {"required": ["open", "n"]}), check.no_secret(),
    check.path_equals("args.key", "[redacted]"), [is_open, "hall", {"wide": True}],
    check.within_ms(20_000),
])
repl_pair.variant("door/Wrong", play=[
    step.dispatch("push", name="hall"),
    check.dispatched("pull"), check.effect_emitted("bell", name="attic"),
    check.state_is("opn", "hall"), check.compare("args.key", ">", "Qz80"),
    check.matches_snapshot(),
])
"""


def test_list_assertions_states_what_a_play_may_hold(agent):
    (tool,) = [tool for tool in agent.tools() if tool.name == "list_assertions"]
    assert tool.annotations.read_only_hint
    result = agent.call("list_assertions")
    found = result.structured_content["result"]
    assert found["registered"] == [
        {
            "id": "is_open",
            "payload": "[name, {wide}]",
            "meaning": "the door of this name is open.",
        }
    ]
    lines = {line["id"]: line for line in found["canonical"]}
    assert list(lines)[:7] == [
        "path_equals", "path_matches", "derived_equals", "dispatched", "state_is", "warns",
        "no_warnings",
    ]  # fmt: skip
    assert lines["approx"]["payload"] == "[path, expected, {abs, rel}]"
    assert all(line["meaning"] for line in lines.values())
    assert len(json.dumps(found)) < 4_500


def test_a_run_with_many_assertions_passes_and_shows_no_secret(agent):
    ran = agent.ask("run_variant", variant_id="door/Right")["result"]
    assert (ran["status"], ran["total"], ran.get("reason", "")) == ("pass", 12, "")
    assert all(outcome["passed"] for outcome in ran["assertions"])


def test_each_failure_states_what_came_instead(agent):
    agent.ask("run_variant", variant_id="door/Wrong")
    (failed,) = agent.ask("read_failures", variant_id="door/Wrong")["result"]["items"]
    assert [(o["assertion"], o["reason"]) for o in failed["assertions"]] == [
        ("dispatched", "no event 'pull'; there came push. Nearest: push."),
        ("effect_emitted", "effect 'bell' came 1 times, with {'name': 'hall'}"),
        ("state_is", "there is no machine opn: state.opn: no 'opn' in state; near: open, n"),
        (
            "matches_snapshot",
            "there is no snapshot of door/Wrong yet. To accept what this run gave, the person "
            "calls repl_pair.accept_snapshot('door/Wrong').",
        ),
    ]
    read = agent.ask("read_assertions", variant_id="door/Wrong")["result"]["assertions"]
    (seen,) = [outcome for outcome in read if outcome["assertion"] == "compare"]
    assert (seen["payload"], seen["expected"], seen["actual"]) == (
        ["args.key", ">", REDACTED],
        REDACTED,
        REDACTED,
    )


def test_no_byte_of_the_key_crossed(agent):
    assert b"Qz81-door-key-55" not in agent.record.out + agent.record.err
