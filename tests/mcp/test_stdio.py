"""The server as a process of its own: both eras, both openings, secrets, cancellation, its end."""

import json
import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
import time

import anyio
import pytest
from bounds import BOUND_S
from mcp import Client, MCPError, StdioServerParameters

PROGRAM = textwrap.dedent(
    """
    import asyncio, os, sys
    from repl_pair.bridge.session_links import SessionLinks
    from repl_pair.bridge.policy import Policy
    from repl_pair.errors import RequestError
    from repl_pair.mcp_server.stdio import run
    from repl_pair.wire import error_reply, ok_reply

    SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    def op(name, access="read"):
        schema = {"type": "object", "properties": {}, "additionalProperties": False}
        return {"name": name, "doc": f"Do {name}, {SECRET}", "input_schema": schema,
                "access": access, "lane": "inline", "toolset": "core", "revision": 1}

    class Leaky:
        policy = Policy()
        links = SessionLinks(None, principal="agent", inject=False, here=None)

        def descriptors(self):
            return [op(name) for name in ("give", "refuse", "fail", "tell", "wait", "show")]

        async def call(self, name, args, *, on_progress=None, kernel=None):
            if name == "give":
                print("a stray print", SECRET)
                return ok_reply({"text": f"password=hunter2x {SECRET}", SECRET: [SECRET]})
            if name == "refuse":
                return error_reply(RequestError("not_found", SECRET, detail={"near": [SECRET]}))
            if name == "fail":
                raise RuntimeError(SECRET)
            if name == "tell":
                on_progress({"call": "c", "message": f"at {SECRET}", "elapsed_s": 0.5})
                return ok_reply({})
            if name == "wait":
                try:
                    on_progress({"call": "c", "message": "waiting", "elapsed_s": 0.0})
                    await asyncio.sleep(600)
                finally:
                    print("wait has ended", file=sys.stderr)

        async def close(self):
            print("session closed", file=sys.stderr)

    run(Leaky())
    """
)
REAL_PROGRAM = textwrap.dedent(
    """
    from repl_pair.bridge.policy import Policy
    from repl_pair.bridge.session import Session
    from repl_pair.mcp_server.stdio import run
    from repl_pair.runtime import shipped as assertions
    from repl_pair.runtime.authoring.stories import story, variant
    from repl_pair.runtime.authoring.check import path_equals

    @story("shop.total", args={"prices": [1.5, 2.0], "api_key": "canary-hunter2x"})
    def total(prices: list[float], api_key: str) -> dict:
        print("asked with", api_key)
        return {"total": sum(prices)}

    variant("shop.total/Two", play=[path_equals("result.total", 3.5)])
    run(Session.direct(Policy()))
    """
)
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CANARIES = (SECRET, "hunter2x")
SHAKE_HANDS = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
ENVELOPE = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
}


class Pipe:
    """A server process, spoken to in raw frames; keeps all that it wrote."""

    def __init__(self, program=PROGRAM):
        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.frames = queue.Queue()
        self.out, self.err = [], []
        self._readers = [
            threading.Thread(target=self._read_frames, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_frames(self):
        for line in self.process.stdout:
            self.out.append(line)
            self.frames.put(json.loads(line))

    def _read_stderr(self):
        self.err.extend(self.process.stderr)

    def send(self, method, params=None, request_id=None):
        frame = {"jsonrpc": "2.0", "method": method}
        frame |= {} if params is None else {"params": params}
        frame |= {} if request_id is None else {"id": request_id}
        self.process.stdin.write(json.dumps(frame) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params=None, request_id=1):
        self.send(method, params, request_id)
        frame = self.frames.get(timeout=BOUND_S)
        assert frame["id"] == request_id, frame
        return frame

    def end(self):
        """Close stdin; give the exit code and how long the end took."""
        start = time.monotonic()
        self.process.stdin.close()
        code = self.process.wait(BOUND_S)
        self.read_all()
        return code, time.monotonic() - start

    def read_all(self):
        """Wait until all is read that the process wrote before its end."""
        for reader in self._readers:
            reader.join(BOUND_S)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(BOUND_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def open_legacy(pipe):
    answer = pipe.ask("initialize", SHAKE_HANDS, "init")
    pipe.send("notifications/initialized")
    return answer["result"]


def tool_names(frame):
    return [tool["name"] for tool in frame["result"]["tools"]]


EVERY = ["fail", "give", "refuse", "show", "tell", "wait"]


def test_a_handshake_opens_the_legacy_era():
    with Pipe() as pipe:
        opened = open_legacy(pipe)
        assert opened["protocolVersion"] == "2025-11-25"
        assert opened["serverInfo"]["name"] == "repl-pair"
        assert "pass `kernel`, or choose once with use_kernel." in opened["instructions"]
        assert "A reply is {ok, result or error, kernel" in opened["instructions"]
        assert tool_names(pipe.ask("tools/list")) == EVERY


def test_an_enveloped_request_opens_the_modern_era_with_no_handshake():
    with Pipe() as pipe:
        answer = pipe.ask("tools/list", ENVELOPE)
        assert tool_names(answer) == EVERY
        assert answer["result"]["ttlMs"] == 0
        assert answer["result"]["cacheScope"] == "private"


def test_a_discovery_alone_opens_the_modern_era():
    with Pipe() as pipe:
        found = pipe.ask("server/discover", ENVELOPE)["result"]
        assert found["supportedVersions"] == ["2026-07-28"]
        assert found["capabilities"]["tools"] == {"listChanged": True}
        assert found["resultType"] == "complete"
        assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "repl-pair"
        again = pipe.ask("server/discover", ENVELOPE, 2)["result"]
        assert again == found
        assert tool_names(pipe.ask("tools/list", ENVELOPE, 3)) == EVERY


def test_a_discovery_before_a_handshake_does_not_close_the_legacy_era():
    with Pipe() as pipe:
        assert "result" in pipe.ask("server/discover", ENVELOPE)
        assert open_legacy(pipe)["protocolVersion"] == "2025-11-25"
        assert tool_names(pipe.ask("tools/list")) == EVERY


def test_a_discovery_answers_the_same_before_and_after_the_era_is_settled():
    with Pipe() as pipe:
        before = pipe.ask("server/discover", ENVELOPE)["result"]
        pipe.ask("tools/list", ENVELOPE)
        assert pipe.ask("server/discover", ENVELOPE)["result"] == before


def test_a_malformed_discovery_is_refused_by_the_protocol():
    with Pipe() as pipe:
        assert pipe.ask("server/discover", {})["error"]["code"] < 0


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_sdks_own_client_is_served_in_every_mode(mode):
    async def main():
        target = StdioServerParameters(command=sys.executable, args=["-c", PROGRAM])
        async with Client(target, mode=mode) as client:
            listed = await client.list_tools()
            given = await client.call_tool("give", {})
            with pytest.raises(MCPError) as caught:
                await client.call_tool("nope", {})
            return client.protocol_version, listed, given, caught.value.code

    version, listed, given, code = anyio.run(main)
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert [tool.name for tool in listed.tools] == EVERY
    assert given.structured_content["result"] == {
        "text": "password=[redacted] [redacted]",
        "[redacted]": ["[redacted]"],
    }
    assert code == -32602


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_no_secret_crosses_on_any_surface_nor_to_stderr(era):
    meta = dict(ENVELOPE["_meta"]) if era == "modern" else {}
    with Pipe() as pipe:
        if era == "legacy":
            open_legacy(pipe)
        answers = [pipe.ask("tools/list", {"_meta": meta})]
        answers += [
            pipe.ask("tools/call", {"name": name, "arguments": {}, "_meta": meta}, name)
            for name in ("give", "refuse", "fail", SECRET)
        ]
        asked = {"name": "tell", "arguments": {}, "_meta": meta | {"progressToken": 5}}
        pipe.send("tools/call", asked, "tell")
        seen = pipe.frames.get(timeout=BOUND_S)
        answers.append(pipe.frames.get(timeout=BOUND_S))
        assert pipe.end()[0] == 0
        wire, err = "".join(pipe.out), "".join(pipe.err)
    given, refused, failed = (answer["result"] for answer in answers[1:4])
    assert seen["params"]["message"] == "at [redacted]"
    assert refused["isError"]
    assert "[redacted]" in refused["content"][0]["text"]
    assert failed["isError"]
    assert given["structuredContent"]["result"]["text"] == "password=[redacted] [redacted]"
    assert json.loads(given["content"][0]["text"]) == given["structuredContent"]
    assert answers[4]["error"]["code"] == -32602
    assert "RuntimeError: [redacted]" in err
    assert "a stray print [redacted]" in err
    # The id that the client itself chose comes back as it was; nothing else may hold it.
    assert not [
        canary for canary in CANARIES if canary in wire.replace(f'"id":"{SECRET}"', "") + err
    ]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_cancelled_call_is_ended_and_nothing_more_is_sent_for_it(era):
    meta = dict(ENVELOPE["_meta"]) if era == "modern" else {}
    with Pipe() as pipe:
        if era == "legacy":
            open_legacy(pipe)
        asked = {"name": "wait", "arguments": {}, "_meta": meta | {"progressToken": "p"}}
        pipe.send("tools/call", asked, "slow")
        seen = pipe.frames.get(timeout=BOUND_S)
        assert seen["params"] == {"progressToken": "p", "progress": 0.001, "message": "waiting"}
        pipe.send("notifications/cancelled", {"requestId": "slow", "reason": "enough"})
        assert "result" in pipe.ask("tools/list", {"_meta": meta}, "after")
        assert pipe.end()[0] == 0
        assert pipe.frames.empty()
        assert "wait has ended\n" in pipe.err


def test_the_end_of_stdin_ends_the_server_at_once_and_closes_the_session():
    with Pipe() as pipe:
        open_legacy(pipe)
        code, took = pipe.end()
        assert code == 0
        assert pipe.err == ["session closed\n"]
        assert took < BOUND_S / 2


def test_the_end_of_stdin_ends_a_call_in_flight_too():
    with Pipe() as pipe:
        open_legacy(pipe)
        asked = {"name": "wait", "arguments": {}, "_meta": {"progressToken": "p"}}
        pipe.send("tools/call", asked, 9)
        pipe.frames.get(timeout=BOUND_S)
        code, took = pipe.end()
        assert code == 0
        assert took < BOUND_S / 2
        assert pipe.err == ["wait has ended\n", "session closed\n"]


def test_a_client_that_never_writes_is_no_error():
    with Pipe() as pipe:
        assert pipe.end()[0] == 0
        assert pipe.out == []


def test_a_client_that_was_killed_before_its_answers_ends_the_server_in_order():
    asked, answers = subprocess.PIPE, os.pipe()
    server = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=asked, stdout=answers[1], stderr=asked, text=True
    )
    for end in answers:
        os.close(end)
    frame = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": SHAKE_HANDS}
    _, err = server.communicate(json.dumps(frame) + "\n", timeout=BOUND_S)
    assert (server.returncode, err) == (0, "session closed\n")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_in_order_without_waiting_for_stdin(number):
    # What nohup starts ignores SIGHUP, also where that is this suite.
    heeding = f"import signal\nsignal.signal({int(number)}, signal.SIG_DFL)\n"
    with Pipe(heeding + PROGRAM) as pipe:
        open_legacy(pipe)
        pipe.process.send_signal(number)
        assert pipe.process.wait(BOUND_S) == -number
        pipe.read_all()
        assert pipe.err == ["session closed\n"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_server_that_was_started_to_outlive_its_terminal_does():
    ignoring = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    with Pipe(ignoring + PROGRAM) as pipe:
        open_legacy(pipe)
        pipe.process.send_signal(signal.SIGHUP)
        assert tool_names(pipe.ask("tools/list")) == EVERY
        assert pipe.end()[0] == 0


def test_what_is_no_frame_does_not_end_the_server():
    with Pipe() as pipe:
        open_legacy(pipe)
        pipe.process.stdin.write("this is no JSON\n\n")
        pipe.process.stdin.flush()
        assert pipe.frames.get(timeout=BOUND_S)["error"]["code"] == -32700
        assert tool_names(pipe.ask("tools/list")) == EVERY


def test_the_first_list_is_answered_before_heavy_imports():
    program = PROGRAM.replace(
        "run(Leaky())",
        "heavy = ('jsonschema', 'jupyter_client', 'zmq', 'numpy', 'pandas', 'IPython')\n"
        "from repl_pair.mcp_server import tool_calls\n"
        "def listed(*args, own=tool_calls.list_tools):\n"
        "    print(sorted(set(heavy) & set(sys.modules)), file=sys.stderr)\n"
        "    return own(*args)\n"
        "tool_calls.list_tools = listed\n"
        "run(Leaky())",
    )
    with Pipe(program) as pipe:
        pipe.ask("tools/list", ENVELOPE)
        pipe.end()
        assert pipe.err[0] == "[]\n"


def test_a_real_session_in_process_is_served_whole():
    def ask(pipe, name, args, request_id):
        params = {"name": name, "arguments": args} | ENVELOPE
        return pipe.ask("tools/call", params, request_id)["result"]["structuredContent"]

    with Pipe(REAL_PROGRAM) as pipe:
        names = tool_names(pipe.ask("tools/list", ENVELOPE))
        assert names == sorted(names)
        assert {"list_kernels", "list_stories", "run_variant"} <= set(names)
        assert len(names) <= 16
        listed = ask(pipe, "list_variants", {}, "list")
        ran = ask(pipe, "run_variant", {"variant_id": "shop.total/Two"}, "run")
        missed = ask(pipe, "run_variant", {"variant_id": "shop.total/Tow"}, "miss")
        assert pipe.end()[0] == 0
        wire = "".join(pipe.out)
    assert [item["id"] for item in listed["result"]["items"]] == ["shop.total/Two"]
    assert (ran["result"]["status"], ran["result"]["result"]) == ("pass", {"total": 3.5})
    assert missed["error"]["code"] == "not_found"
    assert "hunter2x" not in wire
