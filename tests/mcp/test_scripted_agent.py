"""An agent without a manual: it knows the tools' names, follows next steps, and mends a variant."""

import json

import pytest
from mcp.shared.exceptions import MCPError

SETUP = """
import repl_pair
from repl_pair import check

@repl_pair.story("shop.total")
def total(prices: list[float], vat: float = 0.0) -> float:
    return round(sum(prices) * (1 + vat), 2)

repl_pair.variant("shop.total/With_vat", args={"prices": [4, 9]}, play=[
    check.path_equals("result", 15.6),
    check.path_equals("args.vat", 0.2),
])
"""
MAX_CALLS, MAX_TOKENS = 8, 6_000


class Script:
    """Calls tools, by name or by the next step of the last reply, and counts what that costs.

    A refusal costs its text.
    """

    def __init__(self):
        self.agent, self.calls, self.chars, self.reply = None, [], 0, None
        self.followed = []

    def call(self, tool, /, **args):
        self.calls.append(tool)
        self.chars += len(json.dumps(args))
        try:
            result = self.agent.call(tool, **args)
        except MCPError as refusal:
            self.chars += len(refusal.message)
            raise
        text = "".join(part.text for part in result.content if part.type == "text")
        self.chars += len(text)
        self.reply = json.loads(text)
        return self.reply

    def follow(self, tool, change=None):
        """Call the first next step of this tool, changed where the agent knows better."""
        args = next(step["args"] for step in self.reply["next_steps"] if step["op"] == tool)
        self.followed.append(tool)
        return self.call(tool, **(change(args) if change else args))


@pytest.fixture
def kernel(start_own_kernel):
    return start_own_kernel(SETUP)


def add_the_missing_vat(args):
    assert args["body"]["extends"] == "shop.total/With_vat"
    return args | {"body": args["body"] | {"args": {"prices": [4, 9], "vat": 0.2}}}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_failing_variant_is_read_corrected_run_and_taken_out_again(kernel, connect, mode):
    script = Script()
    with connect("--kernel", kernel.path, mode=mode) as script.agent:
        assert "register_variant" not in {tool.name for tool in script.agent.tools()}
        assert script.call("tests_passing")["result"]["status"] == "cannot_run"
        assert script.follow("run_variant")["result"]["status"] == "fail"
        assert script.follow("get_variant")["result"]["play"]
        spent = script.chars
        with pytest.raises(MCPError, match="Unknown tool: register_variant") as refused:
            script.call("register_variant", variant_id="shop.total/Mine", body={})
        assert script.chars - spent > len(refused.value.message) > 0
    with connect("--kernel", kernel.path, "--allow", "write", mode=mode) as script.agent:
        assert script.call("read_failures")["result"]["total"] == 1
        registered = script.follow("register_variant", change=add_the_missing_vat)
        assert registered["ok"], registered
        passed = script.follow("run_variant")["result"]
        assert (passed["status"], passed["total"]) == ("pass", 2)
        assert script.follow("unregister")["ok"]
        left = script.agent.ask("list_variants", story_id="shop.total")["result"]["items"]
        assert [item["id"] for item in left] == ["shop.total/With_vat"]
    print(f"{len(script.calls)} calls, {script.chars // 4} tokens: {', '.join(script.calls)}")
    steps = ["run_variant", "get_variant", "register_variant", "run_variant", "unregister"]
    assert script.followed == steps
    assert len(script.calls) <= MAX_CALLS
    assert script.chars / 4 <= MAX_TOKENS
