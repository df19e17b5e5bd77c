"""What an MCP client sees of a session: tools, refusals, results, progress, cancellation."""

import asyncio
import base64
import json
import logging
import re

import anyio
import pytest
from bounds import BOUND_S
from hypothesis import given, strategies as st
from mcp import Client, MCPError
from mcp.types import ImageContent, TextContent

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session_links import SessionLinks
from repl_pair.errors import RequestError, next_step
from repl_pair.mcp_server import results
from repl_pair.mcp_server.server import CHOOSES, INSTRUCTIONS, build
from repl_pair.mcp_server.tool_list import DOC_CHARS, annotate, list_tools, make_tool
from repl_pair.wire import error_reply, ok_reply

PNG = base64.b64encode(b"\x89PNG" + bytes(60)).decode()
ERAS = ["legacy", "auto"]


def descriptor(name, *, access="read", toolset="core", properties=None, required=(), **more):
    schema = {"type": "object", "properties": properties or {}, "additionalProperties": False}
    return {
        "name": name,
        "doc": f"Do {name}.",
        "input_schema": schema | ({"required": list(required)} if required else {}),
        "access": access,
        "lane": "inline",
        "toolset": toolset,
        "revision": 1,
    } | more


OPS = [
    descriptor(
        "run_thing",
        access="run",
        properties={
            "thing_id": {"type": "string", "description": "Which thing"},
            "modes": {"type": "array", "items": {"type": "string"}},
            "overrides": {"type": "object"},
            "lane": {"type": "string", "enum": ["main", "worker"]},
            "wait_s": {"type": "number", "default": 30.0},
        },
        required=["thing_id"],
    ),
    descriptor(
        "list_things", properties={"limit": {"type": "integer"}, "cursor": {"type": "string"}}
    ),
    descriptor("break_down"),
    descriptor("wait_long"),
    descriptor("show_images"),
    descriptor("read_big", properties={"offset": {"type": "integer"}}),
    descriptor("list_kernels", toolset="kernel"),
    descriptor(
        "list_variables",
        toolset="story",
        properties={"prefix": {"type": "string"}, "values": {"type": "boolean"}},
        needs={"values": "inspect"},
    ),
    descriptor("get_value", access="inspect", toolset="values"),
    descriptor("wipe_out", access="write", toolset="danger"),
    descriptor("describe", internal=True),
    descriptor("_hidden_op"),
]


class Things:
    """A session over things of its own; records what was called and what was cancelled."""

    def __init__(self, policy=None):
        self.policy = policy or Policy()
        self.ops = OPS
        self.calls = []
        self.begun, self.cancelled = anyio.Event(), anyio.Event()
        self.links = SessionLinks(None, principal="agent", inject=False, here=None)

    def descriptors(self):
        return self.ops

    async def call(self, op, args, *, on_progress=None, kernel=None):
        self.calls.append((op, dict(args)))
        return await getattr(self, op, self.echo)(args, on_progress)

    async def close(self):
        pass

    async def echo(self, args, on_progress):
        return ok_reply({"args": args}, boot="b1", next_steps=[next_step("list_things")])

    async def run_thing(self, args, on_progress):
        if args["thing_id"] == "nope":
            error = RequestError(
                "not_found",
                "No thing 'nope'. Nearest: 'rope'.",
                next_steps=[next_step("list_things")],
            )
            return error_reply(error, boot="b1") | {"kernel": {"id": "k1", "name": "python3"}}
        if on_progress:
            for elapsed in (0.0, 0.0, 1.5, 1.0):
                on_progress(
                    {"call": "c", "message": f"cell 3 for {elapsed} s", "elapsed_s": elapsed}
                )
        return ok_reply({"status": "pass"}, boot="b1")

    async def list_things(self, args, on_progress):
        count = args.get("limit", 500)
        items = [{"id": f"thing-{number:04}", "doc": "x" * 60} for number in range(count)]
        return ok_reply({"items": items, "total": 500, "cursor": "c-1"}, boot="b1", seq=4)

    async def read_big(self, args, on_progress):
        return ok_reply(
            {"status": "fail", "text": "x" * 80_000},
            next_steps=[next_step("read_more", handle="h-1")],
        )

    async def break_down(self, args, on_progress):
        raise RuntimeError("the inside of the server")

    async def wait_long(self, args, on_progress):
        self.begun.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def show_images(self, args, on_progress):
        bundle = {"image/png": PNG, "text/plain": "<Figure>"}
        return ok_reply({"status": "pass", "outputs": [bundle, {"text/plain": "x"}, bundle]})


def talk(body, *, policy=None, mode="auto", **options):
    """Run `body(client, session)` against a server of a session over things."""

    async def main():
        session = Things(policy)
        async with Client(build(session), mode=mode, **options) as client:
            return await body(client, session)

    return asyncio.run(main())


def call(name, args=None, *, policy=None, mode="auto"):
    async def body(client, session):
        return await client.call_tool(name, args or {}), session.calls

    return talk(body, policy=policy, mode=mode)


def listed(policy=None):
    async def body(client, _session):
        return (await client.list_tools()).tools

    return talk(body, policy=policy)


def refused(name, *, policy=None, without=()):
    async def body(client, session):
        session.ops = [op for op in OPS if op["name"] not in without]
        with pytest.raises(MCPError) as caught:
            await client.call_tool(name, {})
        assert session.calls == []
        return caught.value.code, caught.value.message

    return talk(body, policy=policy)


def text_of(result):
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


def names(policy=None):
    return [tool.name for tool in listed(policy)]


def test_the_list_is_sorted_and_holds_what_the_default_toolsets_may():
    assert names() == [
        "break_down",
        "list_kernels",
        "list_things",
        "read_big",
        "run_thing",
        "show_images",
        "wait_long",
    ]


def test_a_toolset_that_is_named_adds_what_is_allowed_of_it():
    added = set(names(Policy(toolsets=frozenset({"story", "danger"})))) - set(names())
    assert added == {"list_variables"}


@pytest.mark.parametrize("gate", ["allow", "ask"])
def test_an_opened_gate_lists_the_ops_behind_it(gate):
    added = set(names(Policy(**{gate: frozenset({"inspect"})}))) - set(names())
    assert added == {"get_value"}


def test_a_parameter_behind_a_closed_gate_does_not_exist():
    closed = Policy(toolsets=frozenset({"story"}))
    (tool,) = (tool for tool in listed(closed) if tool.name == "list_variables")
    assert list(tool.input_schema["properties"]) == ["prefix", "kernel"]
    result, calls = call(
        "list_variables", {"values": True}, policy=Policy(allow=frozenset({"inspect"}))
    )
    assert not result.is_error
    assert calls == [("list_variables", {"values": True})]


def test_an_allowed_op_can_be_called_unlisted():
    result, calls = call("list_variables", {"prefix": "x"})
    assert result.structured_content["result"] == {"args": {"prefix": "x"}}
    assert calls == [("list_variables", {"prefix": "x"})]


@pytest.mark.parametrize("name", ["wipe_out", "get_value", "describe", "_hidden_op"])
def test_a_hidden_tool_reads_like_an_unknown_one_and_is_not_called(name):
    code, message = refused(name)
    assert code == -32602
    assert message.startswith(f"Unknown tool: {name}.")
    assert (code, message) == refused(name, without=[name])


def test_an_unknown_tool_is_answered_with_near_names_that_the_caller_may_see():
    assert refused("run_thin")[1].startswith("Unknown tool: run_thin. Nearest: run_thing, ")
    assert "wipe_out" not in refused("wipe_ou")[1]
    opened = Policy(allow=frozenset({"write"}))
    assert refused("wipe_ou", policy=opened)[1].startswith(
        "Unknown tool: wipe_ou. Nearest: wipe_out"
    )


def test_a_tool_states_what_it_may_do_and_takes_a_kernel():
    (tool,) = (tool for tool in listed() if tool.name == "run_thing")
    shown = tool.model_dump(by_alias=True, exclude_none=True, mode="json")
    kernel = shown["inputSchema"]["properties"].pop("kernel")
    assert kernel["type"] == "string"
    assert shown == {
        "name": "run_thing",
        "description": "Do run_thing.",
        "inputSchema": {
            "type": "object",
            "properties": {
                k: v for k, v in OPS[0]["input_schema"]["properties"].items() if k != "kernel"
            },
            "required": ["thing_id"],
            "additionalProperties": False,
        },
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": True,
            "openWorldHint": True,
        },
    }


@pytest.mark.parametrize("access", ["read", "inspect", "run", "write", "eval"])
def test_only_what_runs_none_of_the_persons_code_is_read_only(access):
    hints = annotate(descriptor("x", access=access))
    reads = access in ("read", "inspect")
    assert hints.read_only_hint is reads
    assert hints.destructive_hint is (None if reads else True)
    assert hints.open_world_hint is (access in ("run", "eval"))


def test_a_text_of_the_kernels_becomes_a_bounded_description_without_invisible_marks():
    doc = "Red\x1b[31m text\u200b\u202e.\n" + "x" * 5000
    tool = make_tool(descriptor("x", doc=doc), Policy())
    assert tool.description.startswith("Red text.\nxxx")
    assert tool.description.endswith("…")
    assert len(tool.description) == DOC_CHARS


def test_the_built_in_tools_fit_their_budget_and_the_house_rules():
    tools = list_tools(manifest.load(), Policy())
    dumped = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]
    size = len(json.dumps(dumped, separators=(",", ":")))
    print(f"{len(tools)} tools, {size} bytes")
    assert 0 < len(tools) <= 16
    assert size <= 10_000
    every = list_tools(manifest.load(), Policy(allow=frozenset({"inspect", "write", "eval"})))
    for tool in every:
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,39}", tool.name)
        text = json.dumps(tool.input_schema)
        assert not re.search(r'"(\$ref|\$defs|anyOf|oneOf|allOf|\$schema|partial|x-[a-z]+)"', text)
        assert not re.search(r'"type": \[', text)
        assert all("type" in part for part in tool.input_schema["properties"].values())


def test_the_instructions_are_short_and_state_where_to_begin():
    assert len(INSTRUCTIONS.encode()) <= 1000
    assert "{ok, result" in INSTRUCTIONS
    assert CHOOSES in INSTRUCTIONS
    assert not re.search(r"\{\{|\}\}|\{[a-z]+\}", INSTRUCTIONS), "nothing is left to fill in"
    for word in ("list_kernels", "run_variant", "cannot_run", "[redacted]", "--allow inspect"):
        assert word in INSTRUCTIONS
    for word in ("read_stacks", "read_hot_lines", "the last error", "history", "source"):
        assert word in INSTRUCTIONS, "an agent learns from them what it may look at"


@pytest.mark.parametrize("mode", ERAS)
def test_a_result_is_the_envelope_and_its_text_the_same(mode):
    result, calls = call("list_kernels", {}, mode=mode)
    envelope = ok_reply({"args": {}}, boot="b1", next_steps=[next_step("list_things")])
    assert not result.is_error
    assert result.structured_content == envelope
    assert text_of(result) == json.dumps(envelope, separators=(",", ":"))
    assert calls == [("list_kernels", {})]


@pytest.mark.parametrize("mode", ERAS)
def test_a_refusal_is_an_error_whose_text_is_complete(mode):
    result, _ = call("run_thing", {"thing_id": "nope"}, mode=mode)
    assert result.is_error
    assert result.structured_content["error"]["code"] == "not_found"
    assert text_of(result).splitlines() == [
        "not_found: No thing 'nope'. Nearest: 'rope'.",
        "Next: list_things()",
        '{"kernel":{"id":"k1","name":"python3"}}',
    ]


def test_a_huge_error_states_how_much_of_it_is_missing():
    error = RequestError("cannot_run", "m" * 90_000, detail={"near": ["n" * 90_000]})
    result = results.render(error_reply(error), name="x", args={}, schema={})
    assert "86000 characters more" in text_of(result)
    assert len(text_of(result)) < 6_000
    assert result.structured_content["error"]["detail"]["$overflow"]["tokens"] > 20_000


@pytest.mark.parametrize("is_refused", [True, False])
def test_a_step_that_lacks_a_secret_is_left_out_as_it_is_another_call(is_refused):
    steps = [
        next_step("list_things"),
        next_step("run_thing", overrides={"password": "hunter2hunter"}),
    ]
    error = RequestError("cannot_run", "Not so.", next_steps=steps)
    reply = error_reply(error) if is_refused else ok_reply({}, next_steps=steps)
    result = results.render(reply, name="x", args={}, schema={})
    assert result.structured_content["next_steps"] == [next_step("list_things")]
    assert "run_thing" not in text_of(result)


def test_legal_arguments_pass_with_the_kernel_that_is_meant():
    args = {"thing_id": "a", "modes": [], "overrides": {"x": [1]}, "lane": "main", "kernel": "k1"}
    result, calls = call("run_thing", args)
    assert not result.is_error
    assert calls == [("run_thing", args)]


def test_a_result_over_its_budget_is_replaced_by_the_call_that_brings_it_in_parts():
    result, _ = call("list_things", {"kernel": "k1"})
    envelope = result.structured_content
    marker = envelope["result"]["$overflow"]
    (step,) = envelope.pop("next_steps")
    assert envelope == {"ok": True, "result": {"$overflow": marker}, "boot": "b1", "seq": 4}
    assert marker["limit_tokens"] == results.LIMIT_TOKENS < marker["tokens"]
    assert marker["kept"] == {"total": 500}
    assert json.loads(text_of(result)) == envelope | {"next_steps": [step]}
    limit = step["args"]["limit"]
    assert step == next_step("list_things", kernel="k1", limit=limit)
    again, _ = call("list_things", {"limit": limit})
    assert len(again.structured_content["result"]["items"]) == limit


def test_an_overflow_proposes_no_page_after_the_one_that_is_not_shown():
    rows = {"items": [{"i": n} for n in range(2_000)], "next_offset": 2_000}
    steps = [next_step("read_more", handle="h", offset=2_000), next_step("list_things")]
    schema = {"properties": {"limit": {"type": "integer"}}}
    reply = ok_reply(rows, next_steps=steps)
    result = results.render(reply, name="read_more", args={"handle": "h"}, schema=schema)
    smaller, other = result.structured_content["next_steps"]
    assert (smaller["op"], "offset" in smaller["args"]) == ("read_more", False)
    assert other == next_step("list_things")


def test_a_caller_who_names_a_limit_gets_more_but_never_beyond_the_hard_bound():
    result, _ = call("list_things", {"limit": 280})
    assert len(result.structured_content["result"]["items"]) == 280
    assert len(text_of(result)) > results.LIMIT_TOKENS * results.CHARS_PER_TOKEN
    result, _ = call("list_things", {"limit": 500})
    assert result.structured_content["result"]["$overflow"]["limit_tokens"] == 8000


def test_an_overflow_keeps_the_verdict_and_points_to_the_next_step():
    result, _ = call("read_big")
    envelope = result.structured_content
    assert envelope["result"]["$overflow"]["kept"] == {"status": "fail"}
    assert envelope["next_steps"] == [next_step("read_more", handle="h-1")]


def test_an_overflow_without_a_next_step_names_what_narrows_it():
    reply = ok_reply({"text": "x" * 80_000})
    schema = {"properties": {"path": {}, "kernel": {}}}
    result = results.render(reply, name="get_thing", args={}, schema=schema)
    assert "path" in result.structured_content["hints"][0]


@given(st.lists(st.text(max_size=400), max_size=80))
def test_no_result_is_over_its_budget_and_none_is_cut(texts):
    reply = ok_reply({"items": texts, "total": len(texts)})
    result = results.render(reply, name="x", args={}, schema={})
    assert len(text_of(result)) <= results.LIMIT_TOKENS * results.CHARS_PER_TOKEN + 1000
    shown = json.loads(text_of(result))
    assert shown == reply or "$overflow" in shown["result"]


@pytest.mark.parametrize("mode", ERAS)
def test_images_are_image_content_and_the_data_stands_nowhere_else(mode):
    result, _ = call("show_images", mode=mode)
    assert [type(block) for block in result.content] == [TextContent, ImageContent, ImageContent]
    assert (result.content[2].data, result.content[2].mime_type) == (PNG, "image/png")
    outputs = result.structured_content["result"]["outputs"]
    assert outputs == [
        {"image/png": {"$image": 1}, "text/plain": "<Figure>"},
        {"text/plain": "x"},
        {"image/png": {"$image": 2}, "text/plain": "<Figure>"},
    ]
    assert PNG not in text_of(result)


def test_images_too_many_or_too_large_or_broken_are_left_out_and_reported():
    huge = base64.b64encode(bytes(results.IMAGE_BYTES + 3)).decode()
    outputs = [{"image/png": huge}, {"image/png": "[redacted]"}, *[{"image/png": PNG}] * 6]
    result = results.render(ok_reply({"outputs": outputs}), name="x", args={}, schema={})
    assert len(result.content) == 1 + results.IMAGES
    shown = [bundle["image/png"] for bundle in result.structured_content["result"]["outputs"]]
    assert [marker["$image"] for marker in shown] == [None, None, 1, 2, 3, 4, None, None]
    assert [marker.get("why", "")[:11] for marker in shown[:2]] == ["1000005 byt", "not base64"]


@pytest.mark.parametrize("mode", ERAS)
def test_progress_reaches_who_asked_for_it_and_strictly_increases(mode):
    seen = []

    async def on_progress(value, total, message):
        seen.append((value, total, message))

    async def body(client, _session):
        return await client.call_tool("run_thing", {"thing_id": "a"}, progress_callback=on_progress)

    result = talk(body, mode=mode)
    assert result.structured_content["result"] == {"status": "pass"}
    values = [value for value, _, _ in seen]
    assert values == sorted(set(values))
    assert [(total, message) for _, total, message in seen] == [
        (None, f"cell 3 for {elapsed} s") for elapsed in (0.0, 0.0, 1.5, 1.0)
    ]


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_gives_up_cancels_the_call(mode):
    async def body(client, session):
        with anyio.fail_after(BOUND_S):
            while not session.begun.is_set():
                with pytest.raises(MCPError):
                    await client.call_tool("wait_long", {}, read_timeout_seconds=0.2)
            await session.cancelled.wait()
        return await client.call_tool("list_kernels", {})

    assert not talk(body, mode=mode).is_error


@pytest.mark.parametrize("mode", ERAS)
def test_an_unexpected_exception_is_reported_by_an_incident_only(mode, caplog):
    with caplog.at_level(logging.ERROR):
        result, _ = call("break_down", mode=mode)
    assert result.is_error
    incident = re.search(r"incident ([0-9a-f]{8})", text_of(result))[1]
    assert "inside" not in text_of(result)
    assert incident in caplog.text
    assert "the inside of the server" in caplog.text


def test_a_list_that_fails_reveals_no_more_than_its_incident(caplog):
    class Broken(Things):
        def descriptors(self):
            raise RuntimeError("the inside of the server")

    async def main():
        async with Client(build(Broken()), mode="legacy") as client:
            with pytest.raises(MCPError) as caught:
                await client.list_tools()
            return caught.value

    error = asyncio.run(main())
    assert error.code == -32603
    assert "inside" not in error.message


def test_a_cursor_for_the_list_of_tools_is_refused():
    async def body(client, _session):
        with pytest.raises(MCPError) as caught:
            await client.list_tools(cursor="zzz")
        return caught.value.code

    assert talk(body) == -32602


def test_the_list_may_not_be_kept_by_a_client():
    async def body(client, _session):
        return await client.list_tools()

    answer = talk(body)
    assert (answer.ttl_ms, answer.cache_scope) == (0, "private")
