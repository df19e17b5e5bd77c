"""The server over HTTP: a real process, real clients of both eras, tokens, limits and its end."""

import json
import os
import signal
import time

import pytest
from bounds import BOUND_S
from mcp import MCPError, types
from serving import ERAS, HANDSHAKE, STATELESS, Answer, make_token, read_all, run_command, serve

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
    made = {tier: make_token(http_env, tier, "--tier", tier) for tier in TIERS}
    made["free"] = make_token(http_env, "free", "--kernel", kernel.id)
    made["coder"] = make_token(http_env, "coder", "--allow", "inspect,eval,write")
    return made


@pytest.fixture(scope="module")
def server(http_env, tokens, kernel):
    with serve(http_env, "--kernel", kernel.path) as server:
        yield server


def call(opened, tool, **args):
    portal, client = opened
    return portal.start_task_soon(client.call_tool, tool, args).result(BOUND_S)


def ask(opened, tool, **args):
    return call(opened, tool, **args).structured_content


def tool_names(opened):
    portal, client = opened
    return [tool.name for tool in portal.call(client.list_tools).tools]


# --- eras


@EVERY_ERA
def test_a_client_of_either_era_lists_and_calls(server, tokens, kernel, era):
    with server.connect(tokens["free"], era) as opened:
        assert opened[1].protocol_version == (HANDSHAKE if era == "legacy" else STATELESS)
        names = tool_names(opened)
        assert "run_variant" in names
        assert "use_kernel" not in names
        reply = ask(opened, "run_variant", variant_id="shop.sum/One")
        assert (reply["result"]["status"], reply["kernel"]["id"]) == ("pass", kernel.id)
        assert ask(opened, "list_stories")["kernel"]["id"] == kernel.id
        assert "use_kernel" not in (opened[1].instructions or "")


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
            call(opened, "use_kernel", kernel="x")
        refused = ask(opened, "run_op", op="use_kernel", args={"kernel": "x"})
        assert refused["error"]["code"] == "not_found"


def _in(session):
    return {"Mcp-Session-Id": session}


# --- principals


@EVERY_ERA
def test_three_tiers_see_three_lists_of_one_kernel(server, tokens, kernel, era):
    for tier in TIERS:
        others = [other for other in TIERS if other != tier]
        with server.connect(tokens[tier], era) as opened:
            portal, client = opened
            stories = [each["id"] for each in ask(opened, "list_stories")["result"]["items"]]
            assert [id for id in stories if id.startswith("tiered.")] == [f"tiered.{tier}"]
            assert [n for n in tool_names(opened) if "__" in n] == [f"act__{tier}"]
            assert call(opened, f"act__{tier}").structured_content["ok"]
            for other in others:
                with pytest.raises(MCPError, match="Unknown tool"):
                    call(opened, f"act__{other}")
                with pytest.raises(MCPError, match="no such resource"):
                    portal.call(client.read_resource, f"surface://app_{other}/level")
            uris = [each.uri for each in portal.call(client.list_resources).resources]
            assert [uri for uri in uris if "/app_" in uri] == [f"surface://app_{tier}/level"]
            assert _complete(opened, "app_") == [f"app_{tier}"]


def _complete(opened, prefix):
    portal, client = opened
    ref = types.ResourceTemplateReference(uri="surface://{surface}/{member}")
    argument = {"name": "surface", "value": prefix}
    return portal.call(client.complete, ref, argument).completion.values


def test_the_lists_do_not_rest_on_what_was_called_before(own_env, kernel):
    token = make_token(own_env, "fresh", "--tier", "user")
    with serve(own_env, "--kernel", kernel.id) as server, server.connect(token) as opened:
        assert "act__user" in tool_names(opened)


def test_what_one_agent_registers_another_does_not_find(server, tokens, kernel):
    with server.connect(tokens["coder"]) as coder, server.connect(tokens["free"]) as free:
        body = {"variant_id": "shop.sum/Mine", "body": {"extends": "shop.sum/One"}}
        registered = ask(coder, "register_variant", **body)
        assert registered["ok"], registered
        assert ask(coder, "get_variant", variant_id="shop.sum/Mine")["ok"]
        with pytest.raises(MCPError, match="Unknown tool"):
            call(free, "eval_code", code="1")


def test_the_kernels_of_a_token_are_the_only_ones(own_env, kernel, start_own_kernel):
    other = start_own_kernel()
    narrow = make_token(own_env, "narrow", "--kernel", kernel.id)
    wide = make_token(own_env, "wide", "--kernel", kernel.id, "--kernel", other.id)
    outside = make_token(own_env, "outside", "--kernel", "elsewhere")
    with serve(own_env) as server:
        seen = {}
        for name, token in {"narrow": narrow, "wide": wide, "outside": outside}.items():
            with server.connect(token) as opened:
                listed = ask(opened, "list_kernels")
                seen[name] = sorted(each["id"] for each in listed["result"]["items"])
                named = ask(opened, "list_stories", kernel=other.id)
                assert named["ok"] == (name == "wide")
        assert seen == {
            "narrow": [kernel.id],
            "wide": sorted([kernel.id, other.id]),
            "outside": [],
        }
        with server.connect(wide) as opened:
            refused = ask(opened, "run_variants")
            assert refused["error"]["code"] == "ambiguous_kernel"
            step = refused["next_steps"][0]
            assert step["op"] == "list_stories"
            assert ask(opened, step["op"], **step["args"])["ok"]
    with serve(own_env, "--kernel", other.id) as server, server.connect(narrow) as opened:
        assert ask(opened, "list_kernels")["result"]["items"] == []


# --- tokens


def test_without_a_token_nothing_starts(own_env):
    ran = run_command("mcp", "--http", "127.0.0.1:0", env=own_env)
    assert ran.returncode == 2
    assert "repl-pair token add NAME" in ran.stderr


@pytest.mark.parametrize("given", [None, "", "rpt_wrong", "x" * 9000])
def test_no_token_and_a_wrong_one_read_alike(server, given):
    answer = server.send(server.headers(given, STATELESS), b"{}")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "bearer")
    assert json.loads(answer.body)["error"]["message"] == "Unauthorized"


def test_a_removed_token_opens_nothing_and_its_streams_end(own_env, kernel, until):
    token = make_token(own_env, "gone", "--kernel", kernel.id)
    make_token(own_env, "stays")
    with serve(own_env) as server:
        assert server.ask(token, "tools/list").status == 200
        session, _ = server.open_session(token)
        headers = server.headers(token, HANDSHAKE, **_in(session))
        with server.dial() as stream:
            lines = ["GET /mcp HTTP/1.1", *(f"{n}: {v}" for n, v in headers.items())]
            stream.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
            assert b"200 OK" in stream.recv(100)
            assert run_command("token", "remove", "gone", env=own_env).returncode == 0
            assert server.ask(token, "tools/list").status == 401
            assert b"0\r\n\r\n" in read_all(stream)
        assert server.send(headers, {"jsonrpc": "2.0", "id": 3, "method": "ping"}).status == 401


def test_a_token_is_nowhere_but_with_its_owner(own_env, kernel, until):
    audit = own_env["REPL_PAIR_CONFIG_DIR"] + "-audit"
    token = make_token(own_env, "owner", "--kernel", kernel.id, "--allow", "eval,inspect")
    (stored,) = ((own_env["REPL_PAIR_CONFIG_DIR"], "tokens", "owner.json"),)
    path = os.path.join(*stored)
    with open(path) as file:
        assert token not in file.read()
    assert os.stat(path).st_mode & 0o777 == 0o600
    with serve(own_env, "--debug", "--audit", audit) as server:
        with server.connect(token) as opened:
            asked = ask(opened, "eval_code", code=f"print({token!r})\n{token!r}")
            assert token not in json.dumps(asked)
            assert asked["ok"], asked
        server.send(server.headers(token, STATELESS), b"{}", path=f"/mcp?token={token}")
        server.send(server.headers(None), b"{}", path=f"/{token}")
        with open(f"/proc/{server.process.pid}/cmdline") as file:
            assert token not in file.read()
        assert server.end() == 0
        with open(audit) as file:
            lines = file.read()
        assert os.stat(audit).st_mode & 0o777 == 0o600
        assert token not in server.err + lines
        assert "DEBUG" in server.err
    (line,) = [json.loads(each) for each in lines.splitlines()]
    assert {slot: line[slot] for slot in ("who", "op", "verdict")} == {
        "who": "owner",
        "op": "eval_code",
        "verdict": "ok",
    }
    assert line["ms"] > 0
    assert "print" in line["args"]["code"]


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


def test_other_names_are_answered_only_where_the_person_named_them(own_env):
    token = make_token(own_env, "far")
    with serve(own_env, "--http-host", "box.lan:80", "--http-origin", "http://App.lan") as server:
        for name, status in {"box.lan:80": 200, "box.lan": 421}.items():
            assert server.ask(token, "tools/list", Host=name).status == status
        assert server.ask(token, "tools/list", Origin="http://app.lan").status == 200
    with serve(own_env, place="0.0.0.0:0") as server:
        assert server.ask(token, "tools/list", Host="evil.example").status == 421
        assert server.ask(token, "tools/list", Origin="http://evil.example").status == 403


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
        portal, client = opened
        since = ask(opened, "read_changes")["result"]["next"]
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
        assert ask(other, "list_stories")["ok"]
        for each in waiting:
            each.cancel()
    with server.connect(tokens["coder"]) as opened:
        assert ask(opened, "list_stories")["ok"]


def test_a_65th_session_is_refused_and_ended_ones_make_room(own_env):
    token = make_token(own_env, "many")
    with serve(own_env) as server:
        sessions = [server.open_session(token)[0] for _ in range(64)]
        assert len(set(sessions)) == 64
        session, answer = server.open_session(token)
        assert (session, answer.status) == (None, 429)
        assert 0 < int(answer.headers["retry-after"]) <= 60
        headers = server.headers(token, HANDSHAKE, **_in(sessions[0]))
        assert server.send(headers, method="DELETE").status == 200
        assert server.open_session(token)[0]


def test_the_links_of_an_agent_close_when_its_last_session_ends(own_env, start_own_kernel, until):
    kernel = start_own_kernel("import repl_pair")
    token = make_token(own_env, "brief", "--kernel", kernel.id)
    with serve(own_env) as server:
        with server.connect(token, "legacy") as opened:
            assert ask(opened, "list_stories")["ok"]
            assert kernel.cell(COUNT) == "1\n"
        until(lambda: kernel.cell(COUNT) == "0\n", "no client")


COUNT = """
import sys
found = sys.modules.get("repl_pair.runtime.clients.clients")
print(len(found.CLIENTS.present()) if found else 0)
"""


# --- the end


@EVERY_ERA
def test_a_signal_ends_streams_politely_and_the_server_with_0(own_env, kernel, era):
    token = make_token(own_env, "last", "--kernel", kernel.id)
    with serve(own_env) as server:
        if era == "legacy":
            session, _ = server.open_session(token)
            headers = server.headers(token, HANDSHAKE, **_in(session))
            request = ("GET", headers, b"")
        else:
            meta = {
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
            frame = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen"}
            body = json.dumps(frame | {"params": params}).encode()
            headers = server.headers(token, STATELESS, **{"Mcp-Method": "subscriptions/listen"})
            request = ("POST", headers | {"Content-Length": str(len(body))}, body)
        method, headers, body = request
        with server.dial() as stream:
            lines = [f"{method} /mcp HTTP/1.1", *(f"{n}: {v}" for n, v in headers.items())]
            stream.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            assert b"200 OK" in stream.recv(100)
            began = time.monotonic()
            assert server.end(signal.SIGINT) == 0
            assert time.monotonic() - began < 10
            rest = read_all(stream)
            assert rest.endswith(b"0\r\n\r\n")
            if era != "legacy":
                assert b'"result"' in rest
    assert "Traceback" not in server.err


def test_a_place_that_is_taken_is_named(own_env):
    make_token(own_env, "one")
    with serve(own_env) as server:
        ran = run_command("mcp", "--http", f"127.0.0.1:{server.port}", env=own_env)
        assert ran.returncode == 1
        assert "cannot be listened at" in ran.stderr
