"""A text that is read in slices is searched whole: no slice holds a part of what has a form."""

import json
from functools import partial

import pytest

from repl_pair.mcp_server.gate.byte_gate import find_rounds, scrub_text
from repl_pair.wire import ELIDED

TOKEN = "ghp_a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6"
PASSWORD = "hunter2xyz9"
KEY_LINES = [f"MIIEpAIBAAKCAQEA{n:04}abcdefXYZ/+q" for n in range(24)]
KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, "-----END RSA PRIVATE KEY-----"])
# The head ends within the first token; the other secrets stand at places that pages cut.
LINES = [
    *[f"SETTING_{n}=plain value {n} ä" for n in range(68)],
    f"{'x' * 30} GH={TOKEN} and on",
    *[f"OTHER_{n}=plain {n}" for n in range(20)],
    f'DB_PASSWORD="{PASSWORD}"',
    KEY,
    "END=plain",
]
TEXT = "\n".join(LINES) + "\n"
SETUP = f"""
import repl_pair
@repl_pair.story("slices.env")
def env(pad: int = 0):
    print("." * pad + {TEXT!r}, end="")
    return {{"minified": "x" * pad + '{{"a":"' + "b" * 1940 + '","gh":"{TOKEN}"}}' * 2}}
for pad in range(0, 60, 6):
    repl_pair.variant(f"slices.env/P{{pad}}", args={{"pad": pad}})
"""
HALVES = [TOKEN[at : at + 6] for at in range(4, len(TOKEN) - 5)]
PARTS = {*HALVES, PASSWORD[:6], PASSWORD[4:], *(line[12:] for line in KEY_LINES)}


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(SETUP)


@pytest.fixture
def agent(kernel, connect):
    with connect("--kernel", kernel.path) as agent:
        yield agent
    written = (agent.record.out + agent.record.err).decode()
    assert [part for part in sorted(PARTS) if part in written] == []


def stdout_of(agent, variant="slices.env/P0"):
    reply = agent.ask("run_variant", variant_id=variant)
    assert reply["ok"]
    return find_marker(reply)


def find_marker(node):
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    if isinstance(node, dict) and "SETTING_" in node.get(ELIDED, {}).get("head", ""):
        return node[ELIDED]
    return next(filter(None, map(find_marker, parts)), None)


def read_slices(ask, handle, limit, offset=0):
    pages = []
    while offset is not None:
        found = ask(handle=handle, limit=limit, offset=offset)["result"]
        assert found["offset"] == offset
        pages.append(found["text"])
        offset = found.get("next_offset")
        assert offset is None or offset == found["offset"] + len(found["text"])
    assert found["total"] == found["offset"] + len(found["text"])
    return "".join(pages)


@pytest.mark.parametrize("limit", [4, 120, 997])
def test_slices_of_a_text_make_the_whole_as_it_is_redacted(agent, limit):
    marker = stdout_of(agent)
    offset = 0 if limit > 4 else TEXT.index("GH=") - 40
    ask = partial(agent.ask, "read_more")
    read = read_slices(ask, marker["handle"], limit, offset)
    whole = scrub_text(TEXT)
    assert read == whole[offset:]
    assert whole.count("[redacted]") == 3


def test_slices_through_read_op_and_in_the_background_are_redacted_too(kernel, connect):
    with connect("--kernel", kernel.path, "--toolsets", "manage") as agent:
        marker = stdout_of(agent)

        def forwarded(**args):
            return agent.ask("read_op", op="read_more", args=args)

        def triggered(**args):
            run = agent.ask("trigger_void", call="read_more", args=args)["result"]["run"]
            return agent.ask("read_run", run=run)

        for ask in (triggered, forwarded):
            at = TEXT.index("GH=")
            assert read_slices(ask, marker["handle"], 50, at) == scrub_text(TEXT)[at:]
    written = (agent.record.out + agent.record.err).decode()
    assert [part for part in sorted(PARTS) if part in written] == []


def test_the_op_that_searches_is_there_for_no_caller(agent):
    handle = stdout_of(agent)["handle"]
    for op in ("read_op", "run_op"):
        assert not agent.ask(op, op="search_kept", args={"handle": handle})["ok"]
    assert "search_kept" not in json.dumps(agent.ask("describe_op"))


def test_no_head_holds_half_of_what_has_a_form(agent):
    for pad in range(0, 60, 6):
        head = stdout_of(agent, f"slices.env/P{pad}")["head"]
        assert 1_400 < len(head) <= 2_000


def test_what_is_to_be_hidden_is_given_in_characters_pass_after_pass():
    text = TEXT
    for ends in find_rounds(TEXT):
        spans = list(zip(ends[::2], ends[1::2], strict=True))
        for start, stop in reversed(spans):
            text = f"{text[:start]}[redacted]{text[stop:]}"
    assert text == scrub_text(TEXT)
