"""Servers over HTTP of a test's own: their kernels, their tokens, what they keep, their end."""

import json
import os
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from bounds import BOUND_S
from mcp import MCPError
from serving import ERAS, HANDSHAKE, STATELESS, make_token, read_all, run_command, serve

from repl_pair.errors import next_step

SETUP = """
import repl_pair

def add(a: int = 1, b: int = 2) -> int:
    return a + b

repl_pair.story("shop.sum", component=add)
repl_pair.variant("shop.sum/One")
repl_pair.function("act.user", tier="user", expose=True, mutates=False)(lambda: 1)
"""
EVERY_ERA = pytest.mark.parametrize("era", ERAS)


def _in(session):
    return {"Mcp-Session-Id": session}


def test_the_lists_do_not_rest_on_what_was_called_before(own_env, kernel):
    token = make_token(own_env, "fresh", tier="user")
    with serve(own_env, "--kernel", kernel.id) as server, server.connect(token) as opened:
        assert "act__user" in opened.tool_names()


def test_the_kernels_of_a_token_are_the_only_ones(own_env, kernel, start_own_kernel):
    other = start_own_kernel()
    narrow = make_token(own_env, "narrow", kernels=(kernel.id,))
    wide = make_token(own_env, "wide", kernels=(kernel.id, other.id))
    outside = make_token(own_env, "outside", kernels=("elsewhere",))
    with serve(own_env) as server:
        seen = {}
        for name, token in {"narrow": narrow, "wide": wide, "outside": outside}.items():
            with server.connect(token) as opened:
                listed = opened.ask("list_kernels")
                seen[name] = sorted(each["id"] for each in listed["result"]["items"])
                named = opened.ask("list_stories", kernel=other.id)
                assert named["ok"] == (name == "wide")
        assert seen == {
            "narrow": [kernel.id],
            "wide": sorted([kernel.id, other.id]),
            "outside": [],
        }
        with server.connect(wide) as opened:
            refused = opened.ask("run_variants", limit=7)
            assert refused["error"]["code"] == "ambiguous_kernel"
            look, again = refused["next_steps"]
            assert (look, again["op"]) == (next_step("list_kernels"), "run_variants")
            assert again["args"]["limit"] == 7
            assert again["args"]["kernel"] in (kernel.id, other.id)
            assert opened.ask(again["op"], **again["args"])["ok"]
            (look,) = opened.ask("list_kernels")["next_steps"]
            assert look["op"] == "list_stories"
            with pytest.raises(MCPError) as caught:
                opened.portal.call(opened.client.read_resource, "pair://functions")
            message = caught.value.error.message
            assert all(each.id in message for each in (kernel, other))
            assert "Next: list_kernels(), or read_op(" in message
            assert '"list_functions", args={"kernel": "' in message
            given = {"call": "app.look", "every_s": "60"}
            found = opened.portal.call(opened.client.get_prompt, "schedule-a-run", given)
            assert "No kernel is chosen" in found.messages[0].content.text
            given = {"call": "run_variants", "every_s": "60"}
            found = opened.portal.call(opened.client.get_prompt, "schedule-a-run", given)
            assert "pass `kernel` in each call" in found.messages[0].content.text
    with serve(own_env, "--kernel", other.id) as server, server.connect(narrow) as opened:
        assert opened.ask("list_kernels")["result"]["items"] == []


def test_without_a_kernel_the_servers_project_is_for_tokens_without_kernels(
    own_env, alone, tmp_path
):
    env = {**own_env, "JUPYTER_RUNTIME_DIR": str(alone)}
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "README.md").write_text("# Shop")
    ada, bob = (make_token(env, name, toolsets=("review",)) for name in ("ada", "bob"))
    bound = make_token(env, "bound", kernels=("a", "b"), toolsets=("review",))
    with (
        serve(env, cwd=tmp_path) as server,
        server.connect(ada) as of_ada,
        server.connect(bob) as of_bob,
        server.connect(bound) as of_bound,
    ):
        made = of_ada.ask("create_annotation", target="doc:README.md", content="Which unit?")
        assert (made["ok"], made["result"]["author"]) == (True, "agent"), made
        (seen,) = of_bob.ask("list_annotations")["result"]["items"]
        assert seen["id"] == made["result"]["id"]
        foreign = of_bob.ask("edit_annotation", annotation_id=seen["id"], content="x")
        assert foreign["error"]["code"] == "forbidden"
        assert of_ada.ask("edit_annotation", annotation_id=seen["id"], content="Which?")["ok"]
        assert of_bound.ask("list_annotations")["error"]["code"] == "no_kernel"


def test_without_a_token_nothing_starts(own_env):
    ran = run_command("mcp", "--http", "127.0.0.1:0", env=own_env)
    assert ran.returncode == 2
    assert "repl-pair token add NAME" in ran.stderr


def test_a_removed_token_opens_nothing_and_its_streams_end(own_env, kernel, until):
    token = make_token(own_env, "gone", kernels=(kernel.id,))
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


def test_a_call_that_waits_as_its_token_is_removed_is_refused_like_those_after_it(own_env, kernel):
    token = make_token(own_env, "gone", kernels=(kernel.id,), ask=("eval",))
    make_token(own_env, "stays")
    with serve(own_env, "--ask-wait", "1") as server, ThreadPoolExecutor(1) as waiting:
        asked = {"name": "eval_code", "arguments": {"code": "1"}}
        pending = server.ask(token, "tools/call", asked).message["result"]
        handle = re.search(r"read_approval\(handle=\"([^\"]+)", pending["content"][0]["text"])[1]
        read = {"name": "read_approval", "arguments": {"handle": handle, "wait_s": 20}}
        answer = waiting.submit(server.ask, token, "tools/call", read)
        # A process starts: by its end the call has come.
        assert run_command("token", "remove", "gone", env=own_env).returncode == 0
        assert server.ask(token, "tools/list").status == 401
        assert answer.result(BOUND_S).status == 401


def test_a_token_is_nowhere_but_with_its_owner(own_env, kernel, until):
    audit = own_env["REPL_PAIR_CONFIG_DIR"] + "-audit"
    token = make_token(own_env, "owner", kernels=(kernel.id,), allow=("eval", "inspect"))
    (stored,) = ((own_env["REPL_PAIR_CONFIG_DIR"], "tokens", "owner.json"),)
    path = os.path.join(*stored)
    with open(path) as file:
        assert token not in file.read()
    assert os.stat(path).st_mode & 0o777 == 0o600
    with serve(own_env, "--debug", "--audit", audit) as server:
        with server.connect(token) as opened:
            asked = opened.ask("eval_code", code=f"print({token!r})\n{token!r}")
            assert token not in json.dumps(asked)
            assert asked["ok"], asked
        server.send(server.headers(token, STATELESS), b"{}", path=f"/mcp?token={token}")
        server.send(server.headers(None), b"{}", path=f"/{token}")
        wrong = f"rpt_wrong{'x' * 34}"
        for path in ("/mcp", f"/mcp?token={wrong}", f"/{wrong}"):
            answer = server.send(server.headers(wrong, STATELESS), b"{}", path=path)
            assert wrong.encode() not in answer.raw
        server.send({**server.headers(token), "Host": token, "Origin": token}, b"{}")
        server.send(server.headers(token, STATELESS, **{"Authorization": f"{token} x"}), b"{}")
        with server.dial() as connection:
            connection.sendall(f"{token} /mcp HTTP/9\r\nX: {token}\r\n\r\n".encode())
            assert token.encode() not in read_all(connection)
        with open(f"/proc/{server.process.pid}/cmdline") as file:
            assert token not in file.read()
        assert server.end() == 0
        with open(audit) as file:
            lines = file.read()
        assert os.stat(audit).st_mode & 0o777 == 0o600
        assert token not in server.err + lines
        assert wrong not in server.err + lines
        assert "DEBUG" in server.err
    (line,) = [json.loads(each) for each in lines.splitlines()]
    assert {slot: line[slot] for slot in ("who", "op", "verdict")} == {
        "who": "owner",
        "op": "eval_code",
        "verdict": "ok",
    }
    assert line["ms"] > 0
    assert "print" in line["args"]["code"]


def test_other_names_are_answered_only_where_the_person_named_them(own_env):
    token = make_token(own_env, "far")
    with serve(own_env, "--http-host", "box.lan:80", "--http-origin", "http://App.lan") as server:
        for name, status in {"box.lan:80": 200, "box.lan": 421}.items():
            assert server.ask(token, "tools/list", Host=name).status == status
        assert server.ask(token, "tools/list", Origin="http://app.lan").status == 200
    with serve(own_env, place="0.0.0.0:0") as server:
        assert server.ask(token, "tools/list", Host="evil.example").status == 421
        assert server.ask(token, "tools/list", Origin="http://evil.example").status == 403


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
    token = make_token(own_env, "brief", kernels=(kernel.id,))
    with serve(own_env) as server:
        with server.connect(token, "legacy") as opened:
            assert opened.ask("list_stories")["ok"]
            assert kernel.cell(COUNT) == "1\n"
        until(lambda: kernel.cell(COUNT) == "0\n", "no client")


CALLS_S = 40
COUNT = """
import sys
found = sys.modules.get("repl_pair.runtime.clients.clients")
print(len(found.CLIENTS.present()) if found else 0)
"""


@EVERY_ERA
def test_a_signal_ends_streams_politely_and_the_server_with_0(own_env, kernel, era):
    token = make_token(own_env, "last", kernels=(kernel.id,))
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
            assert server.end(signal.SIGINT) == 0
            rest = read_all(stream)
            assert rest.endswith(b"0\r\n\r\n")
            if era != "legacy":
                assert b'"result"' in rest
    assert "Traceback" not in server.err


def test_a_signal_ends_calls_that_run_and_leaves_nothing_in_the_kernel(
    own_env, start_own_kernel, tmp_path, until
):
    kernel = start_own_kernel("import repl_pair")
    token = make_token(own_env, "last", kernels=(kernel.id,), allow=("eval",))
    begun = tmp_path / "begun"
    code = f"open({str(begun)!r}, 'x').close()\nwhile True: pass"
    with serve(own_env) as server, server.connect(token, "legacy") as opened:
        assert opened.ask("list_stories")["ok"]
        since = opened.ask("read_changes")["result"]["next"]
        reading = opened.start("read_changes", since=since, wait_s=CALLS_S)
        looping = opened.start("eval_code", code=code, timeout_s=CALLS_S)
        until(begun.exists, "the code runs")
        assert not reading.done()
        began = time.monotonic()
        assert server.end(signal.SIGTERM) == 0
        assert time.monotonic() - began < CALLS_S
        # A client that leaves while it waits for an answer reports that to a server that is gone.
        for each in (reading, looping):
            with pytest.raises(MCPError, match="ended without a response"):
                each.result(BOUND_S)
    assert "Traceback" not in server.err
    until(lambda: kernel.cell(COUNT) == "0\n", "no client")
    assert kernel.cell("print(1 + 1)") == "2\n"


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_address_of_ipv6_is_served_and_named_in_brackets(own_env):
    token = make_token(own_env, "six")
    with serve(own_env, place="[::1]:0") as server:
        assert server.url == f"http://[::1]:{server.port}/mcp"
        assert server.ask(token, "tools/list").status == 200
        assert server.ask(token, "tools/list", Host=f"::1:{server.port}").status == 421
        with server.connect(token) as opened:
            assert "list_stories" in opened.tool_names()


def test_a_place_that_is_taken_is_named(own_env):
    make_token(own_env, "one")
    with serve(own_env) as server:
        ran = run_command("mcp", "--http", f"127.0.0.1:{server.port}", env=own_env)
        assert ran.returncode == 1
        assert "Cannot listen on" in ran.stderr


@EVERY_ERA
def test_each_agent_is_notified_of_what_its_tier_sees(
    own_env, start_own_kernel, until, read_over_http, era
):
    kernel = start_own_kernel(SETUP, CELLS)
    tokens = {tier: make_token(own_env, tier, tier=tier) for tier in ("user", "ops")}
    uris = {tier: f"surface://app_{tier}/level" for tier in tokens}
    with (
        serve(own_env, "--kernel", kernel.id) as server,
        read_over_http(server, tokens["user"], era) as user,
        read_over_http(server, tokens["ops"], era) as ops,
        user.follow(uris["user"]) as of_user,
        ops.follow(uris["ops"]) as of_ops,
    ):
        for mine, other in ((user, "ops"), (ops, "user")):
            assert "no such resource" in mine.refusal(uris[other]).message
        kernel.cell("levels['user'].set(7)")
        until(lambda: of_user.uris, "the change of the user's tier")
        assert user.read(uris["user"])["value"] == 7
        kernel.cell("levels['ops'].set(8)")
        until(lambda: of_ops.uris, "the change of the tier ops")
        assert (of_user.uris, of_ops.uris) == ([uris["user"]], [uris["ops"]])


CELLS = """
levels = {}
for tier in ("user", "ops"):
    levels[tier] = repl_pair.surface(f"app_{tier}", tier=tier).cell(
        "level", int, default=1, expose=True
    )
"""
