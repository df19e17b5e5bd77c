"""Prompts: real clients of both eras, on a real kernel; each text holds for its caller."""

import json
import re
import textwrap

import pytest
from mcp import MCPError, types
from serving import ERAS, make_token, serve

TIERS = ("user", "agent", "ops")
SETUP = f"""
import repl_pair
from repl_pair import check

def total(prices: list[float]) -> float: return sum(prices)
repl_pair.tag("shop")
repl_pair.story("total", component=total, tags=["shop"])
repl_pair.variant("total/Two", args={{"prices": [4, 9]}}, play=[check.path_equals("result", 13)])
repl_pair.variant("total/Three", args={{"prices": [4, 9]}}, play=[check.path_equals("result", 12)])
repl_pair.panel("ledger", title="Ledger", placement="right", render=lambda: "plain")
repl_pair.function("act.hidden")(lambda: 1)
repl_pair.function("act.seen", expose=True)(lambda: 1)
for tier in {TIERS!r}:
    repl_pair.tag(f"tag-{{tier}}", tier=tier)
    repl_pair.panel(f"panel-{{tier}}", title=tier, placement="right", render="ledger", tier=tier)
    repl_pair.story(f"of.{{tier}}", component=total, tier=tier, tags=[f"tag-{{tier}}"])
    repl_pair.function(f"act.{{tier}}", tier=tier, expose=True)(lambda: 1)
repl_pair.run_variants() if hasattr(repl_pair, "run_variants") else None
"""
GIVEN = {
    "build-panel": {"id": "spending/by-day"},
    "register-function": {"name": "orders.place"},
    "schedule-a-run": {"call": "act.seen", "every_s": "60"},
    "triage-failing-variants": {"tags": "shop"},
}
CALL = re.compile(r"(?m)^\d+\. .*: (\w+\(.*?\))(?: \([^()]*\))?$")
BLANK = re.compile(r"<\w+>")


@pytest.fixture(scope="module", params=["legacy", "auto"])
def reader(kernel, open_reader, request):
    with open_reader(request.param, "--kernel", kernel.path) as reader:
        reader.agent.ask("run_variants")
        yield reader


def get(reader, name, **given):
    found = reader.do(reader.agent.client.get_prompt, name, given)
    (message,) = found.messages
    assert message.role == "user"
    return message.content.text


def complete(reader, prompt, name, typed):
    ref, argument = types.PromptReference(name=prompt), {"name": name, "value": typed}
    return reader.do(reader.agent.client.complete, ref, argument).completion.values


def calls_in(text):
    """Return the calls that a text names, as names and args; the ones with blanks are left out."""
    words = {"true": True, "false": False, "null": None}
    found = [call for call in CALL.findall(text) if not BLANK.search(call)]
    makers = {call.partition("(")[0]: None for call in found}
    makers = {name: (lambda name: lambda **args: (name, args))(name) for name in makers}
    return [eval(call, {**words, **makers}) for call in found]


def code_in(text):
    lines = [line for line in text.splitlines() if line.startswith("    ") or not line]
    return textwrap.dedent("\n".join(lines))


def test_every_prompt_is_described_and_so_is_what_it_takes(reader):
    found = reader.do(reader.agent.client.list_prompts)
    assert {each.name: [one.name for one in each.arguments] for each in found.prompts} == {
        name: list(given) for name, given in GIVEN.items()
    }
    assert all(each.title and each.description for each in found.prompts)
    assert all(one.description for each in found.prompts for one in each.arguments)
    assert (found.next_cursor, found.ttl_ms, found.cache_scope) == (None, 0, "private")
    assert not reader.agent.client.server_capabilities.prompts.list_changed


@pytest.mark.parametrize("options", [(), ("--allow", "write"), ("--tier", "user")])
def test_what_a_prompt_names_works_as_written(start_own_kernel, connect, alone, options):
    """The person runs the code that is named, the agent makes the calls."""
    kernel = start_own_kernel(SETUP)
    given = GIVEN | ({"schedule-a-run": {"call": "act.user", "every_s": "60"}} if "user" in options else {})
    given |= {"triage-failing-variants": {"tags": "tag-user"}} if "user" in options else {}
    with connect("--kernel", kernel.path, *options) as agent:
        agent.ask("run_variants")
        made = []
        for name, args in given.items():
            text = agent.portal.call(agent.client.get_prompt, name, args).messages[0].content.text
            kernel.cell(code_in(text))
            for tool, asked in calls_in(text):
                reply = agent.call(tool, **asked).structured_content
                made.append(asked.get("op", tool))
                assert reply["ok"], (tool, asked, reply)
        assert {"list_panels", "list_functions", "run_function", "read_failures"} < set(made)
        assert ("register_panel" in made) == ("write" in options)
