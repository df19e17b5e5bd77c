"""The server over HTTP: a real process, real clients of both eras, tokens, limits and its end."""

import json

import pytest
from mcp import MCPError
from serving import ERAS, HANDSHAKE, STATELESS, Answer, make_token, read_all, serve

from repl_pair.mcp_server.web.serving import list_sites

SETUP = """
import os
import repl_pair

def add(a: int = 1, b: int = 2) -> int:
    return a + b

repl_pair.story("shop.sum", component=add)
repl_pair.variant("shop.sum/One")
"""
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
EVERY_ERA = pytest.mark.parametrize("era", ERAS)


@pytest.fixture(scope="module")
def tokens(http_env, kernel):
    """Tokens of the kernel: one that may evaluate, and two that may not."""
    made = {"other": make_token(http_env, "other")}
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
        instructions = opened.client.instructions or ""
        assert ("pass `kernel`." in instructions) is (era == "legacy")  # else it asks for none
        assert "use_kernel" not in instructions


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


def test_what_one_agent_registers_another_does_not_find(server, tokens, kernel):
    with server.connect(tokens["coder"]) as coder, server.connect(tokens["free"]) as free:
        body = {"variant_id": "shop.sum/Mine", "body": {"extends": "shop.sum/One"}}
        registered = coder.ask("register_variant", **body)
        assert registered["ok"], registered
        assert coder.ask("get_variant", variant_id="shop.sum/Mine")["ok"]
        with pytest.raises(MCPError, match="Unknown tool"):
            free.call("eval_code", code="1")


# --- tokens


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "Bearer",
        "Bearer rpt_wrong",
        "Basic eA==",
        "Bearer rpt_\u00e9\u20ac",
        "Bearer " + "x" * 9000,
    ],
    ids=range(7),
)
def test_no_token_and_a_wrong_one_read_alike(server, given):
    more = {} if given is None else {"Authorization": given}
    answer = server.send(server.headers(None, STATELESS, **more), b"{}")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "bearer")
    assert json.loads(answer.body) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": "Unauthorized"},
    }


def test_a_token_of_100_kb_opens_nothing(server):
    answer = server.send(server.headers("x" * 100_000, STATELESS), b"{}")
    assert answer.status in (400, 401)  # by how much of it arrives at once
    assert b"xxx" not in answer.raw


@pytest.mark.parametrize(
    ("query", "status"), [("token={}", 401), ("a=1&{}=b", 401), ("t=%72{}", 401), ("a=1", 400)]
)
def test_a_token_in_a_url_opens_nothing_where_the_header_has_it_too(server, tokens, query, status):
    token = tokens["free"]
    path = "/mcp?" + query.format(token[1:] if "%72" in query else token)
    for given, expected in {None: 401, token: status}.items():
        answer = server.send(server.headers(given, STATELESS), b"{}", path=path)
        assert (answer.status, token.encode() in answer.raw) == (expected, False)


@pytest.mark.parametrize(
    ("host", "port", "found", "missing"),
    [
        ("127.0.0.1", 7331, "localhost:7331 127.0.0.1:7331 [::1]:7331", "localhost box:7331"),
        ("127.0.0.1", 80, "localhost localhost:80 127.0.0.1 [::1] [::1]:80", "localhost:443"),
        ("::1", 7331, "[::1]:7331 127.0.0.1:7331", "::1 ::1:7331 [::1]"),
        ("0.0.0.0", 7331, "0.0.0.0:7331 localhost:7331", "0.0.0.0 * *:7331"),
        ("box.lan", 80, "box.lan box.lan:80", "lan"),
    ],
)
def test_the_hosts_of_a_server_are_those_of_the_loopback_and_its_own(host, port, found, missing):
    sites = list_sites(host, port)
    assert set(found.split()) <= set(sites)
    assert not set(missing.split()) & set(sites)
    assert sites[-1].startswith(f"[{host}]" if ":" in host else host)


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
    with server.connect(tokens["coder"]) as opened, server.connect(tokens["other"]) as other:
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
