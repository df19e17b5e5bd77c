"""Hostile requests over HTTP: fuzzed bytes, headers, bodies and handles; it serves on, unharmed."""

import json
import random
import socket

import psutil
import pytest
from bounds import BOUND_S
from serving import HANDSHAKE, STATELESS, Answer, make_token, read_all, serve

SETUP = "import repl_pair"
SEEDS = range(4)
COUNT = 60
WORDS = [
    b"POST /mcp HTTP/1.1\r\n",
    b"GET /mcp HTTP/1.0\r\n",
    b"Host: ",
    b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: -1\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip\r\n",
    b"Mcp-Session-Id: ../../x\r\n",
    b"Authorization: Bearer ",
    b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
    b"\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"\x00\xff\x80",
    b'{"jsonrpc": "2.0", "id": ',
    b"1e999",
    b"\r\n",
]
VALUES = [
    None,
    True,
    0,
    -1,
    1e308,
    10**400,
    "",
    "x" * 5000,
    "\x00\ud800",
    [],
    {},
    [[]],
    {"a": {"b": []}},
    {"_meta": {"io.modelcontextprotocol/protocolVersion": 5}},
]
METHODS = [
    "initialize",
    "tools/call",
    "tools/list",
    "resources/read",
    "resources/subscribe",
    "completion/complete",
    "notifications/cancelled",
    "notifications/initialized",
    "server/discover",
    "logging/setLevel",
    "ping",
    "x",
]


@pytest.fixture(scope="module")
def token(http_env, kernel):
    make_token(http_env, "watcher", kernels=(kernel.id,))
    return make_token(http_env, "fuzzer", kernels=(kernel.id,))


@pytest.fixture(scope="module")
def server(http_env, token):
    with serve(http_env) as server:
        yield server


@pytest.fixture
def unharmed(server, token, until):
    """After a test the server answers, holds no connection, and no traceback is on stderr."""
    process = psutil.Process(server.process.pid)
    assert server.ask(token, "tools/list").status == 200  # attached to the kernel from here on
    before = process.num_fds()
    yield
    assert server.ask(token, "tools/list").status == 200
    until(lambda: process.num_fds() <= before + 4, "no connection is left open")
    assert "Traceback" not in server.err


@pytest.mark.parametrize("seed", SEEDS)
def test_fuzzed_bytes_get_an_answer_or_the_end(server, token, unharmed, seed):
    rng = random.Random(seed)
    for _ in range(COUNT):
        raw = b"".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 12)))
        raw = raw.replace(b"Bearer ", b"Bearer " + token.encode() + b"\r\n")
        with server.dial() as connection:
            try:
                connection.sendall(raw)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                continue
            answer = read_all(connection)
        assert not answer or 200 <= Answer(answer).status < 500
        assert token.encode() not in answer


@pytest.mark.parametrize("seed", SEEDS)
def test_fuzzed_messages_are_answered(server, token, unharmed, seed):
    rng = random.Random(seed)
    for _ in range(COUNT):
        era = rng.choice([HANDSHAKE, STATELESS, None, "1999-01-01", "\x7f"])
        frame = {"jsonrpc": rng.choice(["2.0", "1.0"]), "method": rng.choice(METHODS)}
        for slot in ("id", "params", "result", "error"):
            if rng.random() < 0.5:
                frame[slot] = rng.choice(VALUES)
        if isinstance(frame.get("params"), dict) and rng.random() < 0.7:
            frame["params"] = {**frame["params"], "name": rng.choice(VALUES), "uri": "x"}
        frame = rng.choice([frame, frame, frame, [frame], frame["method"]])
        more = {"Mcp-Method": rng.choice(METHODS), "Mcp-Session-Id": "guess"}
        named = {name: more[name] for name in more if rng.random() < 0.4}
        answer = server.send(server.headers(token, era, **named), frame)
        assert 200 <= answer.status < 500, (frame, answer.raw)


def test_guessed_sessions_and_those_of_another_token_read_alike(server, token, http_env):
    session, _ = server.open_session(token)
    watcher = make_token(http_env, "guesser")
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    def ask(given, id, method="POST"):
        headers = server.headers(given, HANDSHAKE, **{"Mcp-Session-Id": id})
        return server.send(headers, frame if method == "POST" else b"", method)

    assert ask(token, session).status == 200
    for method in ("POST", "GET", "DELETE"):
        foreign, guessed = ask(watcher, session, method), ask(watcher, "0" * 32, method)
        assert (foreign.status, foreign.body) == (guessed.status, guessed.body)
        assert foreign.status == 404
    assert ask(token, session).status == 200


def test_clients_that_vanish_leave_nothing(server, token, unharmed):
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    body = json.dumps(frame).encode()
    headers = server.headers(token, STATELESS, **{"Mcp-Method": "subscriptions/listen"})
    lines = ["POST /mcp HTTP/1.1", *(f"{n}: {v}" for n, v in headers.items())]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}"]).encode() + b"\r\n\r\n"
    for cut in (*range(0, len(head) + len(body), 97), len(head) + len(body)):
        with server.dial() as connection:
            connection.settimeout(BOUND_S)
            connection.sendall((head + body)[:cut])
            if cut == len(head) + len(body):
                assert b"200 OK" in connection.recv(100)
