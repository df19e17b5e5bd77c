"""What the person sees of a call that waits for them: what it would change, by the op itself."""

import json

import pytest

import repl_pair
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.clients.approval import Asker
from repl_pair.runtime.clients.approvals import Approvals
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.op_base.approval_rows import describe_grant, preview_call
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.registry.origin import agent_origin

ANN = Asker(principal="agent", client="ann")


@pytest.fixture(autouse=True)
def table():
    """The ops of this kernel; those that a test adds go with it."""
    before = {op.name: op for op in TABLE.ops()}
    yield TABLE
    TABLE._ops = before
    OWN_CALLS.keep_only(())


@pytest.fixture
def shop():
    def total(n: int = 1) -> int:
        return n

    repl_pair.story("shop.total", component=total)
    with entering_from(agent_origin("agent")):
        repl_pair.variant("shop.total/Mine", args={"n": 2}, doc="Two")


def test_a_grant_names_the_one_function_that_it_covers():
    queue = Approvals()
    for access, covers in (
        (("shop.pay", "mutates"), "run_function shop.pay"),
        (("write",), "run_function"),
    ):
        asked = queue.ask("run_function", {"function": "shop.pay"}, asker=ANN, access=access)
        assert describe_grant(asked) == {
            "handle": asked.handle,
            "principal": "agent",
            "op": "run_function",
            "covers": covers,
        }


def shown(op, **args):
    return preview_call(Approvals().ask(op, args, asker=ANN, access=("write",)))


def test_a_registration_is_shown_as_the_diff_to_what_stands_there(shop):
    body = {"args": {"n": 3}, "doc": "Two"}
    found = shown("register_variant", variant_id="shop.total/Mine", body=body)
    assert (found["kind"], found["title"]) == ("diff", "replace variant shop.total/Mine")
    changed = [line for line in found["text"].splitlines() if line[:1] in "+-"]
    assert changed == [
        "--- shop.total/Mine (now)",
        "+++ shop.total/Mine (asked)",
        '-    "n": 2',
        '+    "n": 3',
    ]
    fresh = shown("register_variant", variant_id="shop.total/New", body=body)
    assert fresh["title"] == "register variant shop.total/New"
    assert '+    "n": 3' in fresh["text"].splitlines()


def test_a_removal_is_shown_as_what_goes(shop):
    found = shown("unregister", kind="variant", id="shop.total/Mine")
    assert '-  "doc": "Two"' in found["text"].splitlines()
    assert shown("clear_all")["text"] == "variant shop.total/Mine"
    assert shown("clear_kind", kind="story")["title"] == "unregister 0 entries"


def test_what_an_op_does_not_show_itself_is_its_arguments_whole(table):
    def register_hook(hook_id: str, url: str) -> None: ...

    table.op(access="write", toolset="test")(register_hook)
    args = {"hook_id": "done", "url": "https://example.org"}
    for op in ("register_hook", "register_unknown", "get_value"):
        found = shown(op, **args)
        assert (found["kind"], found["title"]) == ("call", f"call {op}")
        assert json.loads(found["text"]) == args


def test_an_op_shows_what_its_call_would_change_whatever_its_name(table):
    def put_hook(hook_id: str) -> None: ...

    def show(args, principal):
        return {"kind": "list", "title": f"{principal} puts a hook", "text": args["hook_id"]}

    table.op(access="write", toolset="test", preview=show)(put_hook)
    assert shown("put_hook", hook_id="done") == {
        "kind": "list",
        "title": "agent puts a hook",
        "text": "done",
    }


@pytest.mark.parametrize(
    ("hidden", "spelled"),
    [
        ("\u202e", "<U+202E>"),
        ("\u200b", "<U+200B>"),
        ("\x1b[2K", "<U+001B>[2K"),
        ("\r", "<U+000D>"),
        *((mark, f"<U+{ord(mark):04X}>") for mark in "\u2028\x85\u3164\u2800\u115f\u034f\xa0"),
        *((mark, f"<U+{ord(mark):04X}>") for mark in "\u3000\ufe0f\uffa0\ud800\U000e0100"),
    ],
)
def test_characters_that_hide_others_are_spelled_out_for_the_person(table, hidden, spelled):
    def eval_code(code: str) -> None: ...

    def show(args, _principal):
        return {"kind": "call", "title": "run code", "text": args["code"]}

    table.op(access="eval", toolset="test", preview=show)(eval_code)
    code = shown("eval_code", code=f"a{hidden}b\n\té")
    assert code["text"] == f"a{spelled}b\n\té"
    removal = shown("unregister", kind="variant", id=f"x{hidden}\n")
    assert removal["title"] == f"unregister variant x{spelled}<U+000A>"
    body = {"doc": f"a{hidden}b"}
    diff = shown("register_tag", tag_id="new", body=body)["text"].splitlines()
    in_json = json.dumps(hidden)[1:-1] if hidden < " " else spelled
    assert f'+  "doc": "a{in_json.replace(chr(27), "")}b"' in diff


def test_what_cannot_be_legal_is_shown_all_the_same(shop):
    assert shown("register_variant", variant_id="no such", body={"x": 1})["kind"] == "diff"
    assert shown("unregister", kind="nothing", id="x")["kind"] == "diff"
