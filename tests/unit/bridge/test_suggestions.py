import asyncio

import pytest

from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.bridge.suggestions import in_kernel
from repl_pair.errors import next_step
from repl_pair.runtime.signatures.corrections import (
    correct_arguments,
    has_blanks,
    suggest_call,
    write_call,
)

SCHEMA = {
    "type": "object",
    "properties": {
        "thing_id": {"type": "string", "description": "Which thing"},
        "modes": {"type": "array", "items": {"type": "string"}},
        "overrides": {"type": "object"},
        "lane": {"type": "string", "enum": ["main", "worker"]},
        "wait_s": {"type": "number", "minimum": 0, "maximum": 3600},
        "limit": {"type": "integer", "minimum": 1, "maximum": 200},
        "order": {
            "type": "object",
            "properties": {"sku": {"type": "string"}, "quantity": {"type": "integer"}},
            "required": ["sku"],
            "additionalProperties": False,
        },
    },
    "required": ["thing_id"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("args", "corrected"),
    [
        ({}, 'run_thing(thing_id="<string>")'),
        ({"thing_i": "a"}, 'run_thing(thing_id="a")'),
        ({"thing_id": "a", "modes": '["dark"]'}, 'run_thing(thing_id="a", modes=["dark"])'),
        ({"thing_id": "a", "modes": "dark"}, 'run_thing(thing_id="a", modes=["dark"])'),
        ({"thing_id": "a", "modes": ["dark", 3]}, 'run_thing(thing_id="a", modes="<array>")'),
        ({"thing_id": "a", "lane": "mian"}, 'run_thing(thing_id="a", lane="<main|worker>")'),
        ({"thing_id": "a", "wait_s": "12"}, 'run_thing(thing_id="a", wait_s=12)'),
        ({"thing_id": "a", "zzz": 1}, 'run_thing(thing_id="a", zzz="<no argument>")'),
        ({"thing_id": "a", "waits": "b"}, 'run_thing(thing_id="a", waits="<no argument>")'),
        ({"thing_id": "a", "mode": "dark"}, 'run_thing(thing_id="a", modes=["dark"])'),
        ({"thing_id": "a", "wait_s": -1}, 'run_thing(thing_id="a")'),
        ({"thing_id": "a", "wait_s": 9000}, 'run_thing(thing_id="a", wait_s=45)'),
        ({"thing_id": "a", "limit": 500}, 'run_thing(thing_id="a", limit=200)'),
        (
            {"thing_id": "a", "order": {"sku": "b", "quantiti": "2"}},
            'run_thing(thing_id="a", order={"sku": "b", "quantity": 2})',
        ),
        ({"thing_id": "a", "order": {}}, 'run_thing(thing_id="a", order={"sku": "<string>"})'),
    ],
)
def test_a_wrong_call_is_corrected_to_the_nearest_legal_one(args, corrected):
    nearest = correct_arguments(SCHEMA, args)
    assert write_call("run_thing", nearest) == corrected
    assert has_blanks(nearest) == ("<" in corrected)


def test_what_a_schema_leaves_open_stays_as_it_is():
    schema = {"properties": {"order": {"type": "object", "properties": {}, "required": []}}}
    assert correct_arguments(schema, {"oder": 1}) == {"oder": 1}
    assert has_blanks(correct_arguments(schema, {"order": "[" * 100_000}))


@pytest.mark.parametrize(
    ("op", "args", "more"),
    [
        ("list_stories", {}, {"kernel": "k"}),
        ("register_variant", {"variant_id": "a/b", "body": {}}, {"kernel": "k"}),
        ("kernel_status", {}, {"kernel": "k"}),
        ("use_kernel", {"kernel": "b"}, {}),
        ("list_kernels", {}, {}),
        ("describe_op", {"op": "list_tags"}, {}),
        ("read_approval", {"handle": "h"}, {}),
    ],
)
def test_a_step_names_the_kernel_that_the_call_named(op, args, more):
    assert in_kernel({"op": op, "args": args}, "k") == {"op": op, "args": args | more}


def test_a_call_that_only_the_caller_can_complete_is_a_hint():
    step = {"op": "run_thing", "args": {"thing_id": "a"}}
    assert suggest_call("run_thing", correct_arguments(SCHEMA, {"thing_i": "a"})) == ([step], [])
    for args, hint in (
        ({}, 'run_thing(thing_id="<string>")'),
        ({"thing_id": "a", "lane": "x"}, 'run_thing(thing_id="a", lane="<main|worker>")'),
    ):
        assert suggest_call("run_thing", correct_arguments(SCHEMA, args)) == ([], [hint])


def test_a_refused_call_names_each_fault_and_the_corrected_call():
    async def ask():
        session = Session.direct(Policy())
        try:
            return await session.call("run_variant", {"variant": "a/b", "wait_s": "2"})
        finally:
            await session.close()

    reply = asyncio.run(ask())
    assert reply["error"] == {
        "code": "bad_arguments",
        "message": "run_variant was not called: variant_id is missing (string). "
        "variant is not an argument. Nearest: variant_id. "
        "wait_s: expected number, got str '2'.",
    }
    assert reply["next_steps"] == [next_step("run_variant", variant_id="a/b", wait_s=2)]


@pytest.mark.parametrize(
    ("op", "args", "step"),
    [
        ("clear_all", {"kind": "variant"}, next_step("describe_op", op="clear_all")),
        ("run_variants", {"pattern": "a/B"}, next_step("describe_op", op="run_variants")),
        ("run_variants", {"variants": ["a/B"]}, next_step("describe_op", op="run_variants")),
        ("list_variants", {"pattern": "a/B"}, next_step("list_variants")),
    ],
)
def test_no_call_that_does_more_than_was_asked_is_proposed(op, args, step):
    async def ask():
        session = Session.direct(Policy(allow=frozenset({"write"})))
        try:
            return await session.call(op, args)
        finally:
            await session.close()

    reply = asyncio.run(ask())
    assert reply["error"]["code"] == "bad_arguments"
    assert reply["next_steps"] == [step]
    assert "wait_s" not in reply["error"]["message"].partition("Nearest")[2]
