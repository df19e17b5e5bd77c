"""Calls that wait for the person, as a session over this process holds them."""

import asyncio

import pytest
from waiting import eventually

import repl_pair
from repl_pair.bridge import manifest, ops, pending_call
from repl_pair.bridge.approval_calls import ApprovalCalls
from repl_pair.bridge.ops.table import BridgeCall
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.errors import RequestError
from repl_pair.runtime.clients.activity import LOG
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.op_base.approval_rows import preview_call
from repl_pair.runtime.op_base.descriptors import build_descriptor
from repl_pair.runtime.registry.registry import REGISTRY

pytestmark = pytest.mark.anyio

POLICY = Policy(ask=frozenset({"write"}))


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def open_session():
    """Opens sessions: `open_session(wait_s=…, expires_s=…)`."""
    opened, undo = [], REGISTRY.checkpoint()

    def make(**slots):
        opened.append(Session.direct(POLICY, approvals=ApprovalCalls(**slots)))
        return opened[-1]

    yield make
    for session in opened:
        await session.close()
    undo()


def register(session, tag="t_slow", **slots):
    return session.call("register_tag", {"tag_id": tag, "body": {"doc": "Slow"}}, **slots)


async def waits(count=1):
    """Return what waits for the person once it is so many."""
    await eventually(lambda: len(QUEUE.pending()) == count)
    return QUEUE.pending()


async def test_it_is_asked_as_often_as_it_takes(open_session, monkeypatch):
    monkeypatch.setattr(pending_call, "POLL_S", 0.01)
    session, seen = open_session(), []
    call = asyncio.create_task(register(session, on_progress=seen.append))
    [asked] = await waits()
    before = len(BOOT._calls)
    await eventually(lambda: len(BOOT._calls) > before + 3)
    assert not call.done()
    assert REGISTRY.find("tag", "t_slow") is None
    QUEUE.answer(asked.handle, "once")
    assert (await call)["result"]["id"] == "t_slow"
    assert [each["message"] for each in seen] == ["waiting for the person's approval"]


async def test_a_handle_reads_its_own_call_only(open_session):
    session, other = open_session(wait_s=0.0), open_session(wait_s=0.0)
    one, two = await register(session, "t_one"), await register(session, "t_two")
    handles = [reply["error"]["detail"]["handle"] for reply in (one, two)]
    QUEUE.answer(handles[1], "once")
    read = await session.call("read_approval", {"handle": handles[1]})
    assert read["result"]["id"] == "t_two"
    read = await session.call("read_approval", {"handle": handles[0], "wait_s": 0.0})
    assert read["error"]["code"] == "approval_pending"
    for asker, handle in ((session, "nosuchone"), (other, handles[0]), (other, handles[1])):
        read = await asker.call("read_approval", {"handle": handle})
        assert read["error"]["code"] == "not_found"


async def test_what_nobody_answers_expires(open_session):
    session = open_session(expires_s=0.05)
    assert (await register(session))["error"]["code"] == "approval_expired"


async def test_a_refusal_of_the_call_itself_is_its_answer(open_session):
    session = open_session(wait_s=0.0)
    reply = await register(session)
    repl_pair.tag("t_slow")
    QUEUE.answer(reply["error"]["detail"]["handle"], "once")
    args = {"handle": reply["error"]["detail"]["handle"]}
    assert (await session.call("read_approval", args))["error"]["code"] == "bad_id"
    REGISTRY.unregister("tag", "t_slow")


@pytest.mark.parametrize(
    ("op", "args", "code"),
    [
        ("register_tag", {"tag": "t_slow", "body": {}}, "bad_arguments"),
        ("register_tag", {"tag_id": "t_slow", "body": {"axes": 1}}, "bad_body"),
        ("register_tag", {"tag_id": "docs", "body": {}}, "bad_id"),
        ("unregister", {"kind": "tag", "id": "no_such"}, "not_found"),
        ("unregister", {"kind": "tag", "id": "docs"}, "cannot_run"),
        ("clear_kind", {"kind": "assertion"}, "not_found"),
    ],
)
async def test_what_can_only_be_refused_is_noted_and_the_person_not_asked(
    open_session, op, args, code
):
    before = len(LOG.latest(1_000))
    reply = await open_session().call(op, args)
    assert reply["error"]["code"] == code
    assert QUEUE.pending() == []
    assert len(LOG.latest(1_000)) == before + (code != "bad_arguments")


async def test_run_op_asks_for_nothing(open_session):
    args = {"op": "register_tag", "args": {"tag_id": "t_slow", "body": {}}}
    assert (await open_session().call("run_op", args))["error"]["code"] == "bad_arguments"
    assert QUEUE.pending() == []


async def test_a_cancelled_call_is_taken_back_and_a_cancelled_reading_is_not(open_session):
    session = open_session()
    call = asyncio.create_task(register(session))
    await waits()
    call.cancel()
    await waits(0)
    later = open_session(wait_s=0.0)
    handle = (await register(later))["error"]["detail"]["handle"]
    args, seen = {"handle": handle}, []
    reading = asyncio.create_task(later.call("read_approval", args, on_progress=seen.append))
    await eventually(lambda: seen)
    reading.cancel()
    [asked] = await waits()
    QUEUE.answer(asked.handle, "once")
    assert (await later.call("read_approval", args))["ok"]


async def test_a_call_that_is_cancelled_while_it_is_asked_for_leaves_no_question(open_session):
    session = open_session()
    link = await session.links.get()
    ask, gate = link.request, asyncio.Event()

    async def ask_slowly(op, args, **slots):
        reply = await ask(op, args, **slots)
        if op == "ask_approval":
            await gate.wait()
        return reply

    link.request = ask_slowly
    call = asyncio.create_task(register(session))
    await waits()
    call.cancel()
    await asyncio.wait([call])
    gate.set()
    await waits(0)


async def test_a_session_that_ends_takes_back_what_it_asked(open_session):
    session, other = open_session(wait_s=0.0), open_session(wait_s=0.0)
    mine, others = [
        (await register(each))["error"]["detail"]["handle"] for each in (session, other)
    ]
    await session.close()
    assert QUEUE.find(mine).state == "withdrawn"
    assert [one.handle for one in QUEUE.pending()] == [others]


async def test_what_is_approved_in_a_pause_runs_behind_it(open_session):
    session = open_session(wait_s=0.0)
    handle = (await register(session))["error"]["detail"]["handle"]
    repl_pair.pause()
    QUEUE.answer(handle, "once")
    args, code = {"handle": handle}, ""
    while code != "paused":
        assert code in ("", "approval_pending")
        reply = await session.call("read_approval", args | {"wait_s": 0.005})
        code = reply["error"]["code"]
    assert REGISTRY.find("tag", "t_slow") is None
    repl_pair.resume()
    assert (await session.call("read_approval", args))["result"]["id"] == "t_slow"


async def test_without_anybody_to_ask_it_reports_it():
    session = Session.direct(POLICY)
    reply = await register(session)
    await session.close()
    assert reply["error"]["code"] == "approval_unavailable"
    assert QUEUE.pending() == []


# --- an op that the bridge answers itself


@pytest.fixture
def made(monkeypatch):
    """What a gated op of the bridge did: `clean_up(folder=…)`, put into its table for a test."""
    done = []

    async def clean_up(call: BridgeCall, folder: str, kernel: str | None = None) -> list[str]:
        """Remove a folder."""
        if folder == "/":
            raise RequestError("cannot_run", "Not that one.")
        done.append(folder)
        return done

    ops.TABLE.op(access="write", toolset="kernel", lane="inline")(clean_up)
    descriptor = build_descriptor(ops.TABLE._ops["clean_up"])
    known = manifest.by_name() | {"clean_up": descriptor}
    monkeypatch.setattr(manifest, "by_name", lambda: known)
    yield done
    del ops.TABLE._ops["clean_up"]


def clean_up(session, folder="/tmp/a", **slots):
    return session.call("clean_up", {"folder": folder, **slots})


async def test_an_op_of_the_bridge_is_made_once_and_only_when_it_was_approved(open_session, made):
    session = open_session()
    call = asyncio.create_task(clean_up(session))
    [asked] = await waits()
    assert made == []
    assert (asked.op, asked.access) == ("clean_up", ("write",))
    assert preview_call(asked)["text"] == '{\n  "folder": "/tmp/a"\n}'
    QUEUE.answer(asked.handle, "once")
    reply = await call
    assert reply["result"] == made == ["/tmp/a"]
    assert reply["kernel"]["id"] == "here"
    assert QUEUE.find(asked.handle).state == "used"
    again = asyncio.create_task(clean_up(session, kernel="here"))
    [asked] = await waits()
    QUEUE.answer(asked.handle, "deny", "not now")
    assert (await again)["error"]["code"] == "approval_denied"
    assert made == ["/tmp/a"]


EVERY_MINUTE = {"every_s": 60}


@pytest.mark.parametrize(
    ("op", "args", "code"),
    [
        ("register_trigger", {"call": "list_stories", "on": {}}, "bad_arguments"),
        ("register_trigger", {"call": "list_stories", "on": {"changed": "no/such"}}, "not_found"),
        ("register_trigger", {"call": "nope", "on": EVERY_MINUTE}, "not_found"),
        ("register_trigger", {"call": "list_kernels", "args": {"x": 1}}, "bad_arguments"),
        ("register_trigger", {"call": "asks.first"}, "approval_unavailable"),
        ("unregister_trigger", {"trigger": "nope"}, "not_found"),
    ],
    ids=str,
)
async def test_the_person_is_not_asked_for_a_trigger_that_can_only_be_refused(
    open_session, op, args, code
):
    repl_pair.function("asks.first", expose=True, ask=True)(lambda: 1)
    args = {"on": EVERY_MINUTE, **args} if op == "register_trigger" else args
    reply = await open_session(wait_s=0).call(op, args)
    assert (reply["error"]["code"], QUEUE.pending()) == (code, [])


async def test_a_trigger_that_waits_for_the_person_is_not_there_yet(open_session):
    session = open_session(wait_s=0)
    asked = await session.call("register_trigger", {"call": "list_stories", "on": EVERY_MINUTE})
    assert (asked["error"]["code"], len(QUEUE.pending())) == ("approval_pending", 1)
    assert session.background.triggers.list() == ()


async def test_an_approved_op_of_the_bridge_is_refused_by_its_own_rules(open_session, made):
    session = open_session(wait_s=0)
    reply = await clean_up(session, "/")
    assert reply["error"]["code"] == "approval_pending"
    handle = reply["error"]["detail"]["handle"]
    QUEUE.answer(handle, "once")
    refused = await session.call("read_approval", {"handle": handle})
    assert (refused["error"]["code"], made) == ("cannot_run", [])


async def test_an_op_of_the_bridge_is_refused_where_no_kernel_can_ask(made, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    missing = str(tmp_path / "kernel-none.json")
    session = Session(POLICY, missing, approvals=ApprovalCalls())
    reply = await clean_up(session)
    await session.close()
    assert reply["error"]["code"] == "approval_unavailable"
    assert "kernel-none" in reply["error"]["message"]
    assert made == []


async def test_an_op_of_the_bridge_whose_gate_is_open_is_not_asked_for(made):
    session = Session.direct(Policy(allow=frozenset({"write"})), approvals=ApprovalCalls())
    reply = await clean_up(session)
    await session.close()
    assert reply["result"] == made == ["/tmp/a"]
    assert QUEUE.pending() == []
