"""Hostile requests over HTTP: fuzzed bytes, headers, bodies and handles; it serves on, unharmed."""

import json
import os
import random
import socket
from contextlib import ExitStack

import psutil
import pytest
from bounds import BOUND_S
from serving import HANDSHAKE, STATELESS, Answer, make_token, read_all, run_command, serve

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SETUP = f"""
import repl_pair

def add(a: int = 1, b: str = {SECRET!r}) -> int:
    return a

repl_pair.story("shop.sum", component=add)
repl_pair.variant("shop.sum/One", args={{"b": {SECRET!r}}})
repl_pair.surface("app").cell("key", str, default={SECRET!r}, expose=True)
"""
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


REQUESTS = [
    ("tools/list", {}),
    ("tools/call", {"name": "get_variant", "arguments": {"variant_id": "shop.sum/One"}}),
    ("tools/call", {"name": "run_variants", "arguments": {"tags": ["a"], "limit": 3}}),
    ("resources/read", {"uri": "surface://app/key"}),
    ("resources/list", {}),
    ("prompts/get", {"name": "build-panel", "arguments": {"id": "a"}}),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "build-panel"},
            "argument": {"name": "id", "value": "a"},
        },
    ),
    ("ping", {}),
]
"""What is asked with some bytes changed: all is answered at once, as `listen` is not."""
LEAK_BYTES = 32 * 1024 * 1024


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
    """After a test the server answers, holds no more than before, and no traceback is on stderr."""
    process = psutil.Process(server.process.pid)
    assert server.ask(token, "tools/list").status == 200  # attached to the kernel from here on
    before, held = process.num_fds(), process.memory_info().rss
    yield
    assert server.ask(token, "tools/list").status == 200
    until(lambda: process.num_fds() <= before + 4, "no connection is left open")
    assert process.memory_info().rss < held + LEAK_BYTES
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


def mutate(rng, raw):
    """Return a body in which some bytes are others, are gone, or stand there twice."""
    body = bytearray(raw)
    for _ in range(rng.randrange(1, 4)):
        start = rng.randrange(len(body) + 1)
        end = min(len(body), start + rng.randrange(1, 9))
        found = bytes(body[start:end])
        other = bytes([rng.randrange(256)])
        body[start:end] = rng.choice([b"", found * 2, other, rng.choice(WORDS), found.upper()])
    return bytes(body)


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
@pytest.mark.parametrize("seed", SEEDS)
def test_requests_with_some_bytes_changed_are_answered_and_show_no_secret(
    server, token, unharmed, seed, era
):
    rng = random.Random(seed)
    session = server.open_session(token)[0] if era == HANDSHAKE else None
    inside = {"Mcp-Session-Id": session} if session else {}
    for _ in range(COUNT):
        method, params = rng.choice(REQUESTS)
        meta = {
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = params if session else params | {"_meta": meta}
        frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        body = mutate(rng, json.dumps(frame).encode())
        named = {} if session else {"Mcp-Method": method}
        named |= {"Mcp-Name": params["name"]} if "name" in params and not session else {}
        answer = server.send(server.headers(token, era, **inside, **named), body)
        assert 200 <= answer.status < 500, (body, answer.raw)
        assert SECRET.encode() not in answer.raw
    if session:
        headers = server.headers(token, era, **inside)
        assert server.send(headers, method="DELETE").status == 200


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_foreign_page_reaches_no_session_by_any_method(server, token, method):
    session, _ = server.open_session(token)
    frame = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    own = {"Mcp-Session-Id": session}
    for changed, status in (
        ({"Host": f"evil.example:{server.port}"}, 421),
        ({"Origin": f"http://evil.example:{server.port}"}, 403),
        ({"Origin": "null"}, 403),
    ):
        headers = server.headers(token, HANDSHAKE, **own, **changed) | changed
        assert server.send(headers, frame if method == "POST" else b"", method).status == status
    assert server.send(server.headers(token, HANDSHAKE, **own), frame).status == 200


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("X-Forwarded-Host", "evil.example", 200),
        ("Forwarded", "host=evil.example;for=127.0.0.1", 200),
        ("X-Forwarded-For", "127.0.0.1", 200),
        ("X-Original-URL", "/other", 200),
        ("X-HTTP-Method-Override", "DELETE", 200),
        ("Proxy-Authorization", "Bearer other", 200),
        ("Cookie", "token=other", 200),
        ("Last-Event-ID", "1", 200),
        ("Mcp-Param-Region", "x", 200),
        ("Content-Encoding", "gzip", 200),
        ("Content-Type", "text/plain", 400),
        ("Content-Type", "application/x-www-form-urlencoded", 400),
        ("Accept", "text/html", 406),
        ("MCP-Protocol-Version", "1999-01-01", 400),
        ("Authorization", "Basic {token}", 401),
        ("Authorization", "Bearer {token} {token}", 401),
        ("Authorization", "Bearer\xa0{token}", 401),
    ],
)
def test_a_foreign_header_changes_nothing_or_is_refused(
    server, token, unharmed, name, value, status
):
    answer = server.ask(token, "tools/list", **{name: value.format(token=token)})
    assert answer.status == status
    assert token.encode() not in answer.raw
    if status == 200:
        assert answer.message == server.ask(token, "tools/list").message


@pytest.mark.parametrize(
    "target",
    ["http://evil.example/mcp", "//evil.example/mcp", "/mcp/", "//mcp", "/MCP", "/mcp/../x", "*"],
)
def test_no_other_target_is_served(server, token, unharmed, target):
    answer = server.send(server.headers(token, STATELESS), b"{}", path=target)
    assert answer.status == 404


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
    request = _listening(server, token)
    for cut in (*range(0, len(request), 97), len(request)):
        with server.dial() as connection:
            connection.settimeout(BOUND_S)
            connection.sendall(request[:cut])
            if cut == len(request):
                assert b"200 OK" in connection.recv(100)


LENGTHS = {
    "two lengths": ("Content-Length: 0", "Content-Length: {n}"),
    "a length and chunks": ("Content-Length: {n}", "Transfer-Encoding: chunked"),
    "chunks twice": ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    "other encoding": ("Transfer-Encoding: gzip, chunked",),
    "a space before the colon": ("Content-Length : {n}",),
    "a folded line": ("X-A: b\r\n Content-Length: 0", "Content-Length: {n}", "Content-Length: 1"),
    "a length with a sign": ("Content-Length: +{n}",),
    "a header of 100 kB": ("X-A: " + "y" * 100_000, "Content-Length: {n}"),
    "two hosts": ("Host: evil.example", "Content-Length: {n}"),
    "two tokens": ("Authorization: Bearer x", "Content-Length: {n}"),
    "two sessions": ("Mcp-Session-Id: a", "Mcp-Session-Id: b", "Content-Length: {n}"),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_a_request_whose_end_two_readers_could_see_differently_is_refused(
    server, token, unharmed, name
):
    inner = b"GET /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    lines = [line.format(n=len(inner)) for line in LENGTHS[name]]
    head = ["POST /mcp HTTP/1.1", *(f"{n}: {v}" for n, v in server.headers(token).items())]
    with server.dial() as connection:
        connection.sendall("\r\n".join([*head, *lines]).encode() + b"\r\n\r\n" + inner)
        answer = read_all(connection)
    assert Answer(answer).status in (400, 413, 431)
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:{port}", 200),
        ("[::1]:{port}", 200),
        ("127.0.0.1.:{port}", 421),
        ("localhost.:{port}", 421),
        ("127.1:{port}", 421),
        ("2130706433:{port}", 421),
        ("127.0.0.1:{port}:1", 421),
        ("127.0.0.1:0{port}", 421),
        ("user@127.0.0.1:{port}", 421),
        ("127.0.0.1:{port}, evil.example", 421),
        ("::1:{port}", 421),
        ("", 421),
    ],
)
def test_a_host_is_one_of_the_list_to_the_letter(server, token, host, status):
    assert server.ask(token, "tools/list", Host=host.format(port=server.port)).status == status


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "PATCH", "HEAD", "TRACE", "get", "X"])
def test_other_methods_open_nothing(server, token, unharmed, method):
    preflight = {"Origin": f"http://localhost:{server.port}"}
    preflight |= {"Access-Control-Request-Method": "POST"}
    anonymous = server.send(server.headers(None, **preflight), b"", method)
    assert anonymous.status in (400, 401)
    known = server.send(server.headers(token, **preflight), b"", method)
    assert 400 <= known.status < 500
    for answer in (anonymous, known):
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert token.encode() not in answer.raw


def _head(headers, method="POST"):
    lines = [f"{method} /mcp HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def _listening(server, token):
    """Return the request, in bytes, that opens a stream of changes."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    body = json.dumps(frame).encode()
    more = {"Mcp-Method": "subscriptions/listen", "Content-Length": str(len(body))}
    return _head(server.headers(token, STATELESS, **more)) + body


def test_streams_and_connections_are_bounded_and_the_server_serves_on(server, token, unharmed):
    request = _listening(server, token)
    with ExitStack() as stack:
        statuses = []
        for _ in range(66):
            stream = stack.enter_context(server.dial())
            stream.sendall(request)
            statuses.append(stream.recv(15)[9:12])
        assert statuses == [b"200"] * 64 + [b"429"] * 2
        assert server.ask(token, "tools/list").status == 200
        waiting = [stack.enter_context(server.dial()) for _ in range(500)]
        assert read_all(waiting[-1]) == b""  # ended by the server
        for connection in waiting:
            connection.close()
        stream.close()


def test_a_text_of_line_ends_and_events_stays_one_event(http_env, server, kernel):
    """The gate reads a stream by its events: no text of a kernel ends one."""
    token = make_token(http_env, "coder", kernels=(kernel.id,), allow=("eval", "inspect"))
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f"a\r\n\r\ndata: {secret}\r\n\r\n\u2028\u0085\x0b\x0c\x1cevent: x\n\n"
    arguments = {"code": f"print({text!r})"}
    answer = server.ask(token, "tools/call", {"name": "eval_code", "arguments": arguments})
    assert secret.encode() not in answer.raw
    (frame,) = answer.frames
    assert "\u2028" in json.dumps(frame, ensure_ascii=False)


def test_deep_and_long_calls_are_audited_short(own_env, kernel, tmp_path):
    audit = tmp_path / "audit"
    token = make_token(own_env, "ada", kernels=(kernel.id,))
    with serve(own_env, "--audit", audit) as server:
        session, _ = server.open_session(token)
        headers = server.headers(token, HANDSHAKE, **{"Mcp-Session-Id": session})
        deep = []
        for _ in range(150):
            deep = [deep]
        for name, args in {"x" * 1_000_000: {}, "list_stories": {"deep": deep}}.items():
            params = {"name": name, "arguments": args}
            frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            assert server.send(headers, frame).status == 200
    assert [len(line) < 20_000 for line in audit.read_text().splitlines()] == [True, True]


def test_the_audit_is_written_to_no_link_and_no_pipe(own_env, tmp_path):
    make_token(own_env, "ada")
    target, link, pipe = (tmp_path / name for name in ("target", "link", "pipe"))
    target.write_text("mine")
    target.chmod(0o644)
    link.symlink_to(target)
    os.mkfifo(pipe)
    for path in (link, pipe):
        ran = run_command("mcp", "--http", "127.0.0.1:0", "--audit", path, env=own_env)
        assert (ran.returncode, "--audit cannot write" in ran.stderr) == (1, True)
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("mine", 0o644)
