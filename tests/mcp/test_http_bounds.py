"""What ends by itself over HTTP: sessions and agents that are not used, connections that wait."""

import json
import os
import socket
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import psutil
import pytest
from bounds import BOUND_S
from serving import HANDSHAKE, STATELESS, Answer, make_token, read_all

from repl_pair.bridge.session import Session
from repl_pair.mcp_server.web import connections, principal, principals, requests, serving, use

SETUP = "import repl_pair"
CLIENTS = """
import sys
found = sys.modules.get("repl_pair.runtime.clients.clients")
print(sorted(each.principal for each in found.CLIENTS.present()) if found else [])
"""
SHORT_S = 0.4


@pytest.fixture
def attached(kernel):
    """Gives the agents that are attached to the kernel."""
    return lambda: kernel.cell(CLIENTS).strip()


@pytest.fixture
def skip(monkeypatch):
    """Puts the clock by which sessions are idle forward: `skip(seconds)`.

    A use ends after its answer has arrived, maybe after a skip: `until(lambda: … or skip(…))`.
    """
    skipped = []
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + sum(skipped))
    monkeypatch.setattr(use, "time", clock)
    return skipped.append


def call(server, token, session, method="tools/call", **params):
    params = {"name": "list_stories", "arguments": {}, **params}
    frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = server.headers(token, HANDSHAKE, **{"Mcp-Session-Id": session})
    return server.send(headers, frame)


@contextmanager
def stream(server, token, session, method="GET", body=b""):
    """Open the stream of a session, or that of an answer."""
    headers = server.headers(token, HANDSHAKE, **{"Mcp-Session-Id": session})
    headers |= {"Content-Length": len(body)} if body else {}
    lines = [f"{method} /mcp HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items())]
    with server.dial() as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        assert b"200 OK" in connection.recv(100)
        yield connection


# --- sessions and agents


def test_a_session_ends_idle_and_the_links_of_its_agent_with_it(
    own_env, here, attached, skip, until
):
    ada, bob = (make_token(own_env, name) for name in ("ada", "bob"))
    with here() as (server, _):
        idle, _ = server.open_session(ada)
        followed, _ = server.open_session(bob)
        with stream(server, bob, followed):
            assert call(server, ada, idle).status == call(server, bob, followed).status == 200
            until(
                lambda: attached() == "['bob']" or skip(principal.IDLE_S),
                "the links of the idle agent are closed",
            )
            assert call(server, ada, idle).status == 404
            assert call(server, bob, followed).status == 200
        until(
            lambda: attached() == "[]" or skip(principal.IDLE_S),
            "the links of the other agent are closed",
        )


def test_what_a_client_sends_around_its_session_keeps_no_link_open(own_env, here, attached, until):
    ada = make_token(own_env, "ada")
    with here() as (server, _):
        session, _ = server.open_session(ada)
        assert call(server, ada, session).status == 200
        headers = server.headers(ada, HANDSHAKE, **{"Mcp-Session-Id": session})
        assert server.send(headers, method="DELETE").status == 200
        late = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert server.send(headers, late).status == 404
        assert call(server, ada, session).status == 404
        until(lambda: attached() == "[]", "the links close with the session")


def test_a_session_in_use_goes_on_past_its_bound(own_env, here, attached, skip, until):
    ada, bob = (make_token(own_env, name) for name in ("ada", "bob"))
    with here() as (server, _):
        used, unused = (server.open_session(token)[0] for token in (ada, bob))
        assert call(server, bob, unused).status == 200

        def only_the_one_in_use_is_left():
            assert call(server, ada, used).status == 200
            skip(0.7 * principal.IDLE_S)
            return attached() == "['ada']"

        until(only_the_one_in_use_is_left)
        assert call(server, ada, used).status == 200
        until(
            lambda: attached() == "[]" or skip(principal.IDLE_S),
            "the links close after the last use",
        )
        assert call(server, ada, used).status == 404


def test_a_call_that_waits_past_the_bound_is_a_use(own_env, here, attached, until):
    ada, bob = (make_token(own_env, name) for name in ("ada", "bob"))
    with here(principal, IDLE_S=SHORT_S) as (server, _), server.connect(ada, STATELESS) as opened:
        since = opened.ask("read_changes")["result"]["next"]
        waiting = opened.start("read_changes", since=since, wait_s=40)
        with server.connect(bob, STATELESS) as other:
            assert other.ask("list_stories")["ok"]
        until(lambda: attached() == "['ada']", "the links of the idle agent are closed")
        assert not waiting.done()
        waiting.cancel()
        until(lambda: attached() == "[]", "the links close after the last call")
        assert opened.ask("list_stories")["ok"]


def cancel(server, token, session, number):
    frame = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
    server.send(server.headers(token, HANDSHAKE, **{"Mcp-Session-Id": session}), frame)


def delete(server, token, session, _number):
    headers = server.headers(token, HANDSHAKE, **{"Mcp-Session-Id": session})
    server.send(headers, method="DELETE")


@pytest.mark.parametrize("end", [cancel, delete])
def test_a_call_has_its_place_until_it_ends_also_where_its_client_has_left(
    own_env, here, until, end
):
    ada = make_token(own_env, "ada")
    with here() as (server, _):
        session, _ = server.open_session(ada)
        other, _ = server.open_session(ada)
        since = call(server, ada, other, name="read_changes").message["result"]
        args = {"since": since["structuredContent"]["result"]["next"], "wait_s": 40}
        for number in range(principal.MAX_CALLS):
            params = {"name": "read_changes", "arguments": args}
            frame = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            with stream(server, ada, session, "POST", json.dumps(frame).encode()):
                pass
        assert call(server, ada, other).status == 429
        end(server, ada, session, 0)
        until(lambda: call(server, ada, other).status == 200, "the place of the call that ended")


def test_an_unused_session_makes_room_for_another_before_it_ends(own_env, here, skip):
    ada = make_token(own_env, "ada")
    with here(principal, MAX_SESSIONS=2) as (server, _):
        sessions = [server.open_session(ada)[0] for _ in range(2)]
        with stream(server, ada, sessions[0]):
            refused = server.open_session(ada)[1]
            wait_s = int(refused.headers["retry-after"])
            assert (refused.status, 0 < wait_s <= principal.ROOM_S) == (429, True)
            skip(wait_s)
            opened, _ = server.open_session(ada)
            statuses = [call(server, ada, each).status for each in (*sessions, opened)]
    assert statuses == [200, 404, 200]


# --- one agent's failure


def fail(*_args, **_kwargs):
    raise RuntimeError("a defect")


async def fail_later():
    fail()


def break_task(portal, principal, _patch):
    tasks = principal._manager._task_group
    portal.call(lambda: [tasks.start_soon(fail_later)])


def break_close(portal, principal, patch):
    async def close(session):
        await closes(session)
        fail()

    closes = Session.close
    patch.setattr(Session, "close", close)
    portal.call(principal.end)


@pytest.mark.parametrize("damage", [break_task, break_close])
def test_a_server_that_fails_costs_its_agent_only_which_is_served_anew(
    own_env, here, attached, monkeypatch, damage, caplog, until
):
    ada, bob = (make_token(own_env, name) for name in ("ada", "bob"))
    made = {}
    monkeypatch.setattr(serving, "CHECK_S", 60)  # the request finds what failed, not the check
    monkeypatch.setattr(principals.Principals, "get", keep(principals.Principals.get, made))
    with here() as (server, portal):
        of_ada, of_bob = server.open_session(ada)[0], server.open_session(bob)[0]
        assert call(server, ada, of_ada).status == call(server, bob, of_bob).status == 200
        with monkeypatch.context() as patch:
            damage(portal, made["ada"], patch)
            until(lambda: attached() == "['bob']", "the failed server's links are closed")
            until(lambda: "is not served any more" in caplog.text, "the failure is logged")
        assert call(server, ada, of_ada).status == 404
        anew, answer = server.open_session(ada)
        assert (answer.status, call(server, ada, anew).status) == (200, 200)
        assert call(server, bob, of_bob).status == 200
    assert "ada is not served any more" in caplog.text
    assert "a defect" in caplog.text


def keep(get, made):
    def get_and_keep(self, token):
        made[token.name] = get(self, token)
        return made[token.name]

    return get_and_keep


@pytest.mark.parametrize(
    ("owner", "name"),
    [(principal.Principal, "_count"), (principal, "_open_session")],
)
def test_a_request_that_fails_is_an_error_without_detail_and_the_next_is_served(
    own_env, here, monkeypatch, owner, name, caplog
):
    ada = make_token(own_env, "ada")
    with here() as (server, _):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            answer = server.ask(ada, "tools/list")
        assert answer.status == 500
        assert json.loads(answer.body)["error"]["message"] == "Internal Server Error"
        assert b"defect" not in answer.raw
        assert server.ask(ada, "tools/list").status == 200
    assert "a request failed" in caplog.text


# --- connections


HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def send_slowly(connection, text, until_ended_s=BOUND_S):
    """Send a byte now and then, until the server ends the connection; gives what it sent."""
    connection.settimeout(0.05)
    began, sent = time.monotonic(), 0
    while time.monotonic() - began < until_ended_s:
        try:
            connection.sendall(text[sent : sent + 1])
            sent += 1
            if not (answer := connection.recv(65_536)):
                return b""
            return answer + read_all(connection)
        except TimeoutError:
            continue
        except OSError:
            return b""
    return pytest.fail("the connection was not ended")


@contextmanager
def asked(server, portal, token):
    """Open a connection whose first request has come before the server sees it; it is answered."""
    go, answer = threading.Event(), b""
    portal.start_task_soon(go.wait, BOUND_S)
    try:
        connection = server.dial()
        connection.sendall(_request(server, token))
    finally:
        go.set()
    with connection:
        while not (b"data: " in answer and answer.endswith(b"\r\n\r\n")):
            answer += (part := connection.recv(65_536))
            assert part, answer
        assert answer.startswith(b"HTTP/1.1 200 OK")
        yield connection


@pytest.mark.parametrize("before", [False, True], ids=["at once", "after a request"])
def test_a_head_that_does_not_arrive_ends_its_connection(own_env, here, before):
    ada = make_token(own_env, "ada")
    with here(connections, HEAD_S=SHORT_S) as (server, portal):
        with asked(server, portal, ada) if before else server.dial() as connection:
            assert send_slowly(connection, HEAD + b"X-A: " + b"y" * 10_000) == b""
        with asked(server, portal, ada):
            pass


def test_a_body_that_does_not_arrive_is_refused(own_env, here):
    ada = make_token(own_env, "ada")
    with here(requests, BODY_S=SHORT_S) as (server, _), server.dial() as connection:
        connection.sendall(_request(server, ada)[:-20])
        answer = Answer(send_slowly(connection, b" " * 10))
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert json.loads(answer.body)["error"]["message"] == "Request Timeout"


def test_a_client_that_reads_nothing_is_let_go_and_others_are_served(
    own_env, here, until, monkeypatch
):
    listen = serving.listen

    def listen_with_little_room(place):
        listener = listen(place)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return listener

    monkeypatch.setattr(serving, "listen", listen_with_little_room)
    ada = make_token(own_env, "ada", toolsets=("story", "review", "session"))
    with here(connections, HEAD_S=SHORT_S) as (server, portal), socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(_request(server, ada) * 20)
        own = connection.getsockname()
        with asked(server, portal, ada):
            pass
        until(lambda: own not in _peers(), "the connection is ended")
        with asked(server, portal, ada):
            pass


def _request(server, token):
    """Write a request of the 2026 era that lists the tools, on a connection that is kept."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    body = json.dumps(frame).encode()
    more = {"Mcp-Method": "tools/list", "Content-Length": str(len(body))}
    lines = (f"{name}: {text}" for name, text in server.headers(token, STATELESS, **more).items())
    return "\r\n".join(["POST /mcp HTTP/1.1", *lines]).encode() + b"\r\n\r\n" + body


def _peers():
    """Get the other ends of this process's connections."""
    found = psutil.Process(os.getpid()).net_connections("tcp4")
    return [tuple(each.raddr) for each in found if each.status == psutil.CONN_ESTABLISHED]
