"""The server over HTTP: a real process, real clients of both eras, tokens, limits and its end."""

import json

import pytest
from mcp import MCPError, types
from serving import ERAS, HANDSHAKE, STATELESS, Answer, make_token, read_all, serve

SETUP = """
import os
import repl_pair

def add(a: int = 1, b: int = 2) -> int:
    return a + b

repl_pair.story("shop.sum", component=add)
repl_pair.variant("shop.sum/One")
for tier in ("user", "agent", "ops"):
    repl_pair.story(f"tiered.{tier}", component=add, tier=tier)
    app = repl_pair.surface(f"app_{tier}", tier=tier)
    app.cell("level", int, default=1, expose=True)
    repl_pair.function(f"act.{tier}", tier=tier, expose=True, mutates=False)(lambda: 1)
"""
TIERS = ("user", "agent", "ops")
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
EVERY_ERA = pytest.mark.parametrize("era", ERAS)


@pytest.fixture(scope="module")
def tokens(http_env, kernel):
    """Tokens of the kernel: three tiers, one that may evaluate, one that sees all untiered."""
    made = {tier: make_token(http_env, tier, tier=tier) for tier in TIERS}
    made["free"] = make_token(http_env, "free", kernels=(kernel.id,))
    made["coder"] = make_token(http_env, "coder", allow=("eval", "inspect", "write"))
    return made


@pytest.fixture(scope="module")
def server(http_env, tokens, kernel):
    with serve(http_env, "--kernel", kernel.path) as server:
        yield server


# --- eras


@EVERY_ERA
def test_a_client_of_either_era_lists_and_calls(server, tokens, kernel, era):
    with server.connect(tokens["free"], era) as opened:
        assert opened.client.protocol_version == (HANDSHAKE if era == "legacy" else STATELESS)
        names = opened.tool_names()
        assert "run_variant" in names
        assert "use_kernel" not in names
        reply = opened.ask("run_variant", variant_id="shop.sum/One")
        assert (reply["result"]["status"], reply["kernel"]["id"]) == ("pass", kernel.id)
        assert opened.ask("list_stories")["kernel"]["id"] == kernel.id
        assert "use_kernel" not in (opened.client.instructions or "")


def test_workers_are_not_there_over_http_whatever_the_token_opens(server, tokens):
    with server.connect(tokens["coder"], "auto") as opened:
        assert "eval_code" in opened.tool_names()
        for op in ("register_worker", "stop_worker", "list_workers"):
            with pytest.raises(MCPError, match=f"Unknown tool: {op}"):
                opened.ask(op)
            for via in ("describe_op", "read_op"):
                assert opened.ask(via, op=op)["error"]["code"] == "not_found"


@EVERY_ERA
def test_what_answers_a_call_is_always_a_stream_of_events(server, tokens, era):
    if era == "legacy":
        session, opening = server.open_session(tokens["free"])
        assert opening.headers["content-type"].startswith("text/event-stream")
        frame = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        answer = server.send(server.headers(tokens["free"], HANDSHAKE, **_in(session)), frame)
    else:
        answer = server.ask(tokens["free"], "tools/list")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    (frame,) = answer.frames
    assert frame["result"]["tools"]


@EVERY_ERA
def test_no_kernel_is_chosen_for_later_calls(server, tokens, era):
    with server.connect(tokens["free"], era) as opened:
        with pytest.raises(MCPError, match="Unknown tool: use_kernel"):
            opened.call("use_kernel", kernel="x")
        refused = opened.ask("run_op", op="use_kernel", args={"kernel": "x"})
        assert refused["error"]["code"] == "not_found"


def _in(session):
    return {"Mcp-Session-Id": session}


# --- principals


@EVERY_ERA
def test_three_tiers_see_three_lists_of_one_kernel(server, tokens, kernel, era):
    for tier in TIERS:
        others = [other for other in TIERS if other != tier]
        with server.connect(tokens[tier], era) as opened:
            portal, client = opened.portal, opened.client
            stories = [each["id"] for each in opened.ask("list_stories")["result"]["items"]]
            assert [id for id in stories if id.startswith("tiered.")] == [f"tiered.{tier}"]
            assert [n for n in opened.tool_names() if "__" in n] == [f"act__{tier}"]
            assert opened.call(f"act__{tier}").structured_content["ok"]
            for other in others:
                with pytest.raises(MCPError, match="Unknown tool"):
                    opened.call(f"act__{other}")
                with pytest.raises(MCPError, match="no such resource"):
                    portal.call(client.read_resource, f"surface://app_{other}/level")
            uris = [each.uri for each in portal.call(client.list_resources).resources]
            assert [uri for uri in uris if "/app_" in uri] == [f"surface://app_{tier}/level"]
            assert _complete(opened, "app_") == [f"app_{tier}"]


def _complete(opened, prefix):
    portal, client = opened.portal, opened.client
    ref = types.ResourceTemplateReference(uri="surface://{surface}/{member}")
    argument = {"name": "surface", "value": prefix}
    return portal.call(client.complete, ref, argument).completion.values


def test_what_one_agent_registers_another_does_not_find(server, tokens, kernel):
    with server.connect(tokens["coder"]) as coder, server.connect(tokens["free"]) as free:
        body = {"variant_id": "shop.sum/Mine", "body": {"extends": "shop.sum/One"}}
        registered = coder.ask("register_variant", **body)
        assert registered["ok"], registered
        assert coder.ask("get_variant", variant_id="shop.sum/Mine")["ok"]
        with pytest.raises(MCPError, match="Unknown tool"):
            free.call("eval_code", code="1")


# --- tokens


@pytest.mark.parametrize("given", [None, "", "rpt_wrong", "x" * 9000])
def test_no_token_and_a_wrong_one_read_alike(server, given):
    answer = server.send(server.headers(given, STATELESS), b"{}")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "bearer")
    assert json.loads(answer.body)["error"]["message"] == "Unauthorized"


# --- sites and bodies


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1.evil.example:{port}"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:{port}.evil.example"}, 403),
        ({"Origin": "http://localhost:{port}"}, 200),
        ({"Host": "LOCALHOST:{port}"}, 200),
    ],
)
def test_foreign_hosts_and_origins_are_refused_before_the_token(server, tokens, changed, status):
    more = {name: text.format(port=server.port) for name, text in changed.items()}
    assert server.ask(tokens["free"], "tools/list", **more).status == status
    if status != 200:
        answer = server.ask("wrong", "tools/list", **more)
        assert answer.status == status
        assert set(json.loads(answer.body)["error"]) == {"code", "message"}


NOT_JSON = [b"", b"{", b"nul", b'"x', b"[" * 100_000, b"\xff\xfe", b"{'a': 1}", b"[1]", b"1"]


@pytest.mark.parametrize("body", NOT_JSON, ids=range(len(NOT_JSON)))
@EVERY_ERA
def test_what_is_no_message_is_refused(server, tokens, body, era):
    version = HANDSHAKE if era == "legacy" else STATELESS
    answer = server.send(server.headers(tokens["free"], version), body)
    assert (answer.status, json.loads(answer.body)["error"]["message"]) == (400, "Bad Request")


def test_a_body_over_4_mib_is_refused_and_one_below_is_not(server, tokens):
    def send(size, **more):
        frame = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": ""}}
        frame["params"]["x"] = "y" * (size - len(json.dumps(frame)))
        return server.send(server.headers(tokens["free"], HANDSHAKE, **more), frame).status

    limit = 4 * 1024 * 1024
    assert send(limit + 1) == 413
    assert send(limit) != 413
    headers = server.headers(tokens["free"], HANDSHAKE, **{"Transfer-Encoding": "chunked"})
    lines = ["POST /mcp HTTP/1.1", *(f"{n}: {v}" for n, v in headers.items())]
    with server.dial() as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        try:
            for _ in range(limit // 65_536 + 1):
                connection.sendall(b"10000\r\n" + b"y" * 65_536 + b"\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert Answer(read_all(connection)).status == 413


def test_errors_of_the_protocol_are_scrubbed_too(server, tokens):
    for method in (f"no/{SECRET}", "tools/call"):
        answer = server.ask(tokens["free"], method, {"name": SECRET, "arguments": {}})
        assert SECRET.encode() not in answer.raw
        assert answer.status in (200, 400, 404)


# --- limits


def test_a_ninth_call_at_once_is_refused_with_when_to_come_again(server, tokens, until):
    with server.connect(tokens["coder"]) as opened, server.connect(tokens["ops"]) as other:
        portal, client = opened.portal, opened.client
        since = opened.ask("read_changes")["result"]["next"]
        waiting = [
            portal.start_task_soon(client.call_tool, "read_changes", {"since": since, "wait_s": 40})
            for _ in range(9)
        ]
        (refused,) = until(lambda: [each for each in waiting if each.done()], "a refused call")
        with pytest.raises(MCPError):
            refused.result()
        answer = server.ask(tokens["coder"], "tools/list")
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        assert json.loads(answer.body)["error"]["message"] == "Too Many Requests"
        assert other.ask("list_stories")["ok"]
        for each in waiting:
            each.cancel()
    with server.connect(tokens["coder"]) as opened:
        assert opened.ask("list_stories")["ok"]
