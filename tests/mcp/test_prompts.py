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
repl_pair.function("act.asks", expose=True, ask=True)(lambda: 1)
@repl_pair.function("act.scaled", expose=True)
def scaled(by: float) -> float: return by
for tier in {TIERS!r}:
    repl_pair.tag(f"tag-{{tier}}", tier=tier)
    repl_pair.panel(f"panel-{{tier}}", title=tier, placement="right", render="ledger", tier=tier)
    repl_pair.story(f"of.{{tier}}", component=total, tier=tier, tags=[f"tag-{{tier}}"])
    repl_pair.function(f"act.{{tier}}", tier=tier, expose=True)(lambda: 1)
"""
FUNCTIONS = [f"act.{name}" for name in ("asks", "scaled", "seen", *TIERS)]
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


@pytest.fixture(scope="module")
def caller(kernel, connect, request):
    """An agent of a server with the options that a test names."""
    with connect("--kernel", kernel.path, *request.param) as agent:
        agent.options = request.param
        yield agent


def called_with(*options):
    return pytest.mark.parametrize("caller", options, indirect=True)


def get_text(agent, prompt, given):
    return agent.portal.call(agent.client.get_prompt, prompt, given).messages[0].content.text


def get(reader, prompt, /, **given):
    found = reader.do(reader.agent.client.get_prompt, prompt, given)
    (message,) = found.messages
    assert message.role == "user"
    return message.content.text


def complete(reader, prompt, name, typed):
    ref, argument = types.PromptReference(name=prompt), {"name": name, "value": typed}
    return reader.do(reader.agent.client.complete, ref, argument).completion.values


def calls_in(text):
    """Return the calls that a text names, as names and args; the ones with blanks are left out."""
    words = {"true": True, "false": False, "null": None}
    found = [call.partition("(") for call in CALL.findall(text) if not BLANK.search(call)]
    return [
        (name, eval(f"dict({args}", {"__builtins__": {"dict": dict}, **words}))
        for name, _, args in found
    ]


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


OF_TIER = {
    "schedule-a-run": {"call": "act.user", "every_s": "60"},
    "triage-failing-variants": {"tags": "tag-user"},
}
"""What a caller of that tier names instead."""


@called_with((), ("--allow", "write"), ("--tier", "user"))
def test_what_a_prompt_names_works_as_written(kernel, caller):
    """The person runs the code that is named, the agent makes the calls."""
    agent, options = caller, caller.options
    made, own = [], {"build-panel": {"id": "own-" + "".join(options).strip("-")}}
    agent.ask("run_variants")
    listed = [tool.name for tool in agent.tools()]
    for name, args in (GIVEN | own | (OF_TIER if "user" in options else {})).items():
        text = get_text(agent, name, args)
        if name == "register-function":
            kernel.cell(code_in(text))
        noted = re.findall(r": (\w+)\(.*`--toolsets", text)
        assert {tool for tool, _ in calls_in(text)} <= {*listed, *noted}
        for tool, asked in calls_in(text):
            reply = agent.call(tool, **asked).structured_content
            assert reply["ok"], (tool, asked, reply)
            made.append(asked.get("op", tool))
        kernel.cell(code_in(text))  # the person may write over what is an agent's
    assert {"list_panels", "list_functions", "run_function", "read_failures"} < set(made)
    writes = {"register_panel", "register_trigger", "list_triggers"}
    assert writes & set(made) == (writes if "write" in options else set())
    assert ("trigger_void" in made) == ("write" not in options)


@called_with((), ("--ask", "write"))
def test_what_is_closed_or_asks_is_written_as_such(caller):
    text = get_text(caller, "build-panel", {"id": "spending"})
    asks, closed = "(the person approves each such call; your list", "with `--allow write`"
    assert (asks in text, closed in text) == ((True, False) if caller.options else (False, True))
    assert ("register_panel" in text) == bool(caller.options)


@called_with(("--no-builtins",), ("--no-builtins", "--allow", "write"))
def test_what_no_gate_opens_is_not_called_closed(caller):
    text = get_text(caller, "schedule-a-run", {"call": "act.seen", "every_s": "60"})
    assert "Begin: not there for you. Ask the person to do it." in text
    assert "--allow" not in text


MISSING = [
    ("build-panel", {}, "build-panel takes id. id is missing: The panel's id, such as spending."),
    ("build-panel", {"id": " "}, "id is missing"),
    (
        "schedule-a-run",
        {"call": "act.seen"},
        "every_s is missing: Seconds, at least 1.",
    ),
    ("schedule-a-run", {"every_s": "60"}, "call is missing"),
    ("build-panel", {"idd": "x"}, "build-panel takes id, and no 'idd'. Nearest: id."),
    ("build-panel", {"id": "x" * 401}, "id has 400 characters at most, not 401"),
    ("build-panel", {"id": "no id"}, "'no id' is not a valid panel id"),
    ("build-panel", {"id": "a\u202eb"}, "'a\\u202eb' is not a valid panel id"),
    ("register-function", {"name": "place"}, "'place' is not a valid function id"),
    ("register-function", {"name": "orders._own"}, "hidden from agents"),
    ("schedule-a-run", {"call": "act.sen", "every_s": "60"}, "Nearest: act.seen"),
    ("schedule-a-run", {"call": "run_varants", "every_s": "60"}, "Nearest: run_variant"),
    ("schedule-a-run", {"call": "act.hidden", "every_s": "60"}, "nothing to call as 'act.hidden'"),
    ("schedule-a-run", {"call": "get_value", "every_s": "60"}, "nothing to call as 'get_value'"),
    ("schedule-a-run", {"call": "act.seen\n1. x", "every_s": "60"}, "'act.seen\\n1. x'"),
    ("schedule-a-run", {"call": "act.seen", "every_s": "0.5"}, "1 to 86,400 seconds, not '0.5'"),
    ("schedule-a-run", {"call": "act.seen", "every_s": "nan"}, "seconds, not 'nan'"),
    ("schedule-a-run", {"call": "act.seen", "every_s": "inf"}, "seconds, not 'inf'"),
    ("triage-failing-variants", {"tags": "shop,shoq"}, "There is no tag 'shoq'. Nearest: shop."),
    ("triage-failing-variants", {"tags": ",".join("t" * 21)}, "tags are 20 at most, not 21"),
    (
        "build-pane",
        {},
        "There is no prompt 'build-pane'. Nearest: build-panel. There are",
    ),
    ("\x1b[31m\u200b", {}, "There is no prompt '\\x1b[31m\\u200b'"),
]


@pytest.mark.parametrize(("name", "given", "words"), MISSING)
def test_what_cannot_be_written_is_answered_by_a_message(reader, name, given, words):
    text = get(reader, name, **given)
    assert words in text
    assert "\n" not in text
    assert not re.search("[\x00-\x1f\u200b-\u200f\u2028-\u202e]", text)


def test_a_prompt_without_tags_is_of_all_variants_and_names_what_fails(reader):
    text = get(reader, "triage-failing-variants")
    assert "In their last runs failed: total/Three." in text
    assert 'run_variant(variant_id="total/Three")' in text
    assert '1. Run them: run_variants(ids=["total/Three"])' in text
    assert "tags" not in text


@pytest.mark.parametrize(
    ("call", "args"),
    [("act.scaled", '{"by": "<number>"}'), ("get_story", '{"story_id": "<string>"}')],
)
@called_with(("--allow", "write"))
def test_what_a_call_needs_is_left_blank(caller, call, args):
    given = {"call": call, "every_s": "2.5"}
    text = get_text(caller, "schedule-a-run", given)
    begins = f'register_trigger(call="{call}", args={args}, on={{"every_s": 2.5}})'
    assert f"{begins} (your list of tools has it with `--toolsets manage`)" in text


COMPLETED = [
    ("build-panel", "id", "led", ["ledger"]),
    ("register-function", "name", "act.", FUNCTIONS),
    ("register-function", "name", "act.h", []),
    ("schedule-a-run", "call", "run_variant", ["run_variant", "run_variants"]),
    ("schedule-a-run", "call", "act.se", ["act.seen"]),
    ("schedule-a-run", "call", "get_val", []),
    ("schedule-a-run", "call", "register_", []),
    ("schedule-a-run", "every_s", "6", ["60"]),
    ("triage-failing-variants", "tags", "sho", ["shop"]),
    ("triage-failing-variants", "tags", "slow, sho", ["slow,shop"]),
    ("triage-failing-variants", "tags", "x" * 400 + ",sho", []),
]


@pytest.mark.parametrize(("prompt", "name", "typed", "values"), COMPLETED)
def test_arguments_are_completed_from_what_the_view_sees(reader, prompt, name, typed, values):
    assert sorted(complete(reader, prompt, name, typed)) == sorted(values)


@pytest.mark.parametrize(("prompt", "name"), [("build-pane", "id"), ("build-panel", "name")])
def test_nothing_completes_what_there_is_not(reader, prompt, name):
    with pytest.raises(MCPError) as caught:
        complete(reader, prompt, name, "")
    assert caught.value.error.code == types.INVALID_PARAMS


# --- three views of one kernel, over HTTP


@pytest.fixture(scope="module")
def tokens(http_env):
    return {tier: make_token(http_env, tier, tier=tier) for tier in TIERS}


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return tmp_path_factory.mktemp("audit") / "audit.jsonl"


@pytest.fixture(scope="module")
def server(http_env, tokens, kernel, audit):
    with serve(http_env, "--kernel", kernel.path, "--audit", audit) as server:
        yield server


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tier", TIERS)
def test_what_a_tier_hides_is_in_no_prompt_completion_or_resource(
    server, tokens, read_over_http, audit, era, tier
):
    with read_over_http(server, tokens[tier], era) as reader:
        assert complete(reader, "register-function", "name", "act.") == [f"act.{tier}"]
        assert complete(reader, "schedule-a-run", "call", "act.") == [f"act.{tier}"]
        assert complete(reader, "build-panel", "id", "panel") == [f"panel-{tier}"]
        assert complete(reader, "triage-failing-variants", "tags", "tag-") == [f"tag-{tier}"]
        functions = [each["id"] for each in reader.read("pair://functions")["items"]]
        assert [id for id in functions if id.startswith("act.")] == [f"act.{tier}"]
        context = reader.read("pair://context")
        assert (context["principal"], context["counts"]["function"]) == (tier, len(functions))
        texts = [json.dumps(context)]
        for other in TIERS:
            given = {"call": f"act.{other}", "every_s": "60"}
            text = get(reader, "schedule-a-run", **given)
            assert ("nothing to call" in text) == (other != tier)
            texts.append(get(reader, "build-panel", id="x"))
            texts.append(get(reader, "triage-failing-variants"))
    lines = [
        line for line in map(json.loads, audit.read_text().splitlines()) if line["who"] == tier
    ]
    assert {"build-panel", "schedule-a-run", "read"} < {line["op"] for line in lines}
    hidden = [other for other in TIERS if other != tier]
    assert not [word for word in hidden if re.search(rf"\b{word}\b", " ".join(texts))]
