"""A surface, a projection of it, and an agent that has the projection alone."""

import pytest
from mcp.shared.exceptions import MCPError

SETUP = """
import repl_pair

train = repl_pair.surface("training")
loss = train.cell("loss", float, default=0.1)
weights = train.cell("weights", list[float], default=[0.5])
wiped = []

@train.function
def wipe() -> None:
    wiped.append(True)

@train.function(mutates=False)
def summary(digits: int = 1) -> str:
    return f"loss {loss.get():.{digits}f}"

repl_pair.project("agent", train, loss="loss", summary="summary",
                  red=repl_pair.derive(lambda value: value > 0.5, "loss"))
repl_pair.story("quiet", component=summary, variants={"One": {}})
"""
RED = "surface://agent/red"


def result(agent, tool, **args):
    """Call a tool; gives its result."""
    return agent.call(tool, **args).structured_content["result"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_what_changes_arrives_what_is_harmless_runs_and_what_is_not_projected_is_beyond_reach(
    kernel, open_reader, until, mode
):
    kernel.cell("loss.set(0.1)")
    with open_reader(mode, "--kernel", kernel.path, "--toolsets", "surface") as reader:
        agent = reader.agent
        until(lambda: "agent__summary" in {tool.name for tool in agent.tools()}, "the tools")
        assert [tool.name for tool in agent.tools() if "__" in tool.name] == ["agent__summary"]
        listed = result(agent, "list_surfaces")["items"]
        assert [member["id"] for one in listed for member in one["members"]] == [
            "agent/loss",
            "agent/red",
        ]
        assert reader.read(RED)["value"] is False
        with reader.follow(RED) as followed:
            kernel.cell("loss.set(0.9)")
            until(lambda: followed.uris, "an update of what is derived")
            assert reader.read(RED)["value"] is True
        assert result(agent, "agent__summary", digits=2)["value"] == "loss 0.90"
        for tool in ("training__wipe", "agent__wipe"):
            with pytest.raises(MCPError):
                agent.call(tool)
        for id in ("training.wipe", "agent.wipe", "training.summary"):
            refused = agent.call("run_function", function=id).structured_content
            assert refused["error"]["code"] == "not_found"
        for uri in ("surface://training/loss", "surface://agent/weights"):
            assert "There is no such resource" in reader.refusal(uri).message
    assert kernel.cell("print(wiped)") == "[]\n"


def test_lists_of_stories_stay_as_they_are_while_members_change(kernel, connect):
    with connect("--kernel", kernel.path, "--toolsets", "story") as agent:
        agent.call("list_stories")  # the first reply names the kernel
        before = agent.call("list_stories").structured_content
        changes = result(agent, "read_changes")
        kernel.cell("for n in range(1_000): loss.set(n / 1e6); weights.set([n])")
        assert agent.call("list_stories").structured_content == before
        assert result(agent, "read_changes", since=changes["next"])["items"] == []
