"""Requests that are too large, too deep or no JSON: each is refused, and the kernel stays free."""

import json

import pytest
from bounds import BOUND_S

SETUP = """
import repl_pair

@repl_pair.story("any")
def any_value(x: object = None):
    return 1

repl_pair.variant("any/It")
"""
UNREADABLE = {
    "nested too deep to be parsed": "[" * 100_000 + "]" * 100_000,
    "nested over the parser's limit": "[" * 300 + "]" * 300,
    "half of a surrogate pair": r'"\ud800"',
    "a number too long to be parsed": "9" * 20_000,
    "broken off": '"abc',
}
REFUSED = {
    "nested too deep": "[" * 100 + "]" * 100,
    "many values": f"[{'0,' * 3_000_000}0]",
    "a long text": f'"{"a" * 3_000_000}"',
    "many keys": json.dumps({str(n): n for n in range(100_000)}),
    "a long key": json.dumps({"k" * 300_000: 1}),
    "a huge number": "9" * 4_000,
    "what is no number of JSON": "NaN",
    "an infinity, deep within": '{"a": [-Infinity]}',
}


def frame(value, *, id_first=False):
    id, body = (
        '"id":7',
        f'"method":"tools/call","params":{{"name":"run_variant","arguments":{value}}}',
    )
    parts = ['"jsonrpc":"2.0"', *((id, body) if id_first else (body, id))]
    return f"{{{','.join(parts)}}}\n".encode()


def call(wire, line):
    wire.process.stdin.write(line)
    wire.process.stdin.flush()
    while "method" in (found := wire.frames.get(timeout=BOUND_S)):
        pass
    return found


@pytest.fixture(scope="module")
def wire(kernel, dial):
    with dial("--kernel", kernel.path) as wire:
        client = {"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        wire.ask("initialize", {"protocolVersion": "2025-11-25", **client})
        wire.send("notifications/initialized")
        yield wire


@pytest.mark.parametrize("id_first", [True, False])
@pytest.mark.parametrize("what", UNREADABLE)
def test_what_is_no_json_is_refused_under_its_id(wire, what, id_first):
    line = frame(
        f'{{"variant_id":"any/It","overrides":{{"x":{UNREADABLE[what]}}}}}', id_first=id_first
    )
    found = call(wire, line)
    assert found["id"] == 7 or (what == "broken off" and not id_first)
    assert found["error"]["code"] == -32700
    assert "nothing was done" in found["error"]["message"]


@pytest.mark.parametrize("line", ["[1,2]", "3", '{"id":7}', '{"jsonrpc":"2.0","id":7,"method":5}'])
def test_json_that_is_no_message_is_refused(wire, line):
    found = call(wire, f"{line}\n".encode())
    assert found["id"] == (7 if "7" in line else None)
    assert found["error"]["code"] == -32600


@pytest.mark.parametrize("what", REFUSED)
def test_arguments_that_weigh_too_much_never_reach_the_kernel(wire, kernel, what):
    found = call(wire, frame(f'{{"variant_id":"any/It","overrides":{{"x":{REFUSED[what]}}}}}'))
    error = found["result"]["structuredContent"]["error"]
    assert error["code"] == "bad_arguments"
    assert "They " in error["message"]
    assert len(json.dumps(found)) < 3_000
    assert kernel.cell("print('here')") == "here\n"


@pytest.mark.parametrize("seconds", ["1e9", "-1", "NaN", "1e999"])
@pytest.mark.parametrize("name", ["timeout_s", "wait_s"])
def test_seconds_are_bounded(wire, name, seconds):
    found = call(wire, frame(f'{{"variant_id":"any/It","{name}":{seconds}}}'))
    error = found["result"]["structuredContent"]["error"]
    assert error["code"] == "bad_arguments"
    assert "expected 0 to 3600, got" in error["message"]


@pytest.mark.parametrize("name", [r"a\u0000b", r"a\nb", r"\u2028", "x" * 5_000, ""])
@pytest.mark.parametrize("tool", ["list_stories", "use_kernel", "kernel_status", "list_kernels"])
def test_what_can_name_no_kernel_is_refused(wire, kernel, tool, name):
    line = frame(f'{{"kernel":"{name}"}}').replace(b"run_variant", tool.encode())
    error = call(wire, line)["result"]["structuredContent"]["error"]
    assert error["code"] == "bad_arguments"
    assert error["message"].startswith("kernel is an id, pid, notebook or file, in one line")
    assert kernel.cell("print('here')") == "here\n"
