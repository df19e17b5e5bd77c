"""The person's word on one exact call: used once, by who asked, in this life of the kernel."""

import threading

import pytest
from bounds import BOUND_S
from hypothesis import given, settings, strategies as st
from waiting import finish

from repl_pair.errors import ReplPairError
from repl_pair.runtime.clients.activity import ACTIVITY, ActivityLog
from repl_pair.runtime.clients.approval import Asker, hash_call
from repl_pair.runtime.clients.approvals import (
    APPROVALS,
    EXPIRES_S,
    GRANTS,
    KEPT,
    MAX_PENDING,
    Approvals,
)
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.stopping.waiting import WaitEvent
from repl_pair.runtime.store import STORE, Store

ANN = Asker(principal="agent", client="ann")
BEN = Asker(principal="agent", client="ben")
OP, ARGS = "register_tag", {"tag_id": "slow", "body": {"doc": "Slow"}}


class Clock:
    def __init__(self):
        self.now = 1000.0
        self.meanwhile = None

    def __call__(self):
        """Tell the time; what is to happen meanwhile happens between a look and a turn."""
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(clock):
    queue = make_queue(clock)
    yield queue
    OWN_CALLS.keep_only(())


def make_queue(clock=None, boot="this life"):
    store = Store()
    store.declare(APPROVALS)
    store.declare(GRANTS)
    store.declare(ACTIVITY)
    return Approvals(store, boot=lambda: boot, now=clock or Clock(), log=ActivityLog(store))


def ask(queue, asker=ANN, op=OP, args=ARGS, **slots):
    return queue.ask(op, args, asker=asker, access=("write",), **slots)


def code_of(fn, *args):
    """Return the code of a refusal; an answer fails the test."""
    with pytest.raises(ReplPairError) as caught:
        fn(*args)
    return caught.value.code


def test_nothing_is_opened_before_the_person_reported_so_and_then_once(queue):
    asked = ask(queue)
    assert code_of(queue.take, asked.handle, OP, ARGS, ANN) == "approval_pending"
    assert queue.answer(asked.handle, "once").state == "approved"
    assert queue.take(asked.handle, OP, ARGS, ANN) == {"write"}
    assert code_of(queue.take, asked.handle, OP, ARGS, ANN) == "approval_expired"
    assert queue.find(asked.handle).state == "used"


@pytest.mark.parametrize(
    ("op", "args", "asker"),
    [
        ("register_mode", ARGS, ANN),
        (OP, ARGS | {"tag_id": "slower"}, ANN),
        (OP, ARGS | {"body": {"doc": "Slow", "axis": "x"}}, ANN),
        (OP, {"tag_id": "slow"}, ANN),
        (OP, ARGS, BEN),
        (OP, ARGS, Asker(principal="other", client="ann")),
        (OP, ARGS, Asker(principal="agent")),
    ],
)
def test_another_call_or_caller_is_refused_and_the_approval_stays(queue, op, args, asker):
    asked = ask(queue)
    queue.answer(asked.handle, "once")
    assert code_of(queue.take, asked.handle, op, args, asker) == "not_found"
    assert queue.take(asked.handle, OP, ARGS, ANN) == {"write"}


def test_an_approval_whose_call_did_not_begin_is_used_later_and_goes_with_its_client(queue):
    asked = ask(queue)
    queue.answer(asked.handle, "once")
    for _ in range(2):
        queue.give_back(asked.handle)  # one that is not used stays as it is
        assert queue.take(asked.handle, OP, ARGS, ANN) == {"write"}
        queue.give_back(asked.handle)
    OWN_CALLS.keep_only(())
    assert code_of(queue.take, asked.handle, OP, ARGS, ANN) == "approval_expired"


def test_an_approval_of_another_life_opens_nothing(clock):
    before = make_queue(clock)
    asked = ask(before)
    before.answer(asked.handle, "once")
    after = Approvals(before._store, boot=lambda: "the next life", now=clock)
    assert code_of(after.take, asked.handle, OP, ARGS, ANN) == "not_found"
    assert code_of(make_queue(clock).take, asked.handle, OP, ARGS, ANN) == "not_found"


def test_what_is_denied_stays_denied_with_its_reason(queue):
    asked = ask(queue)
    assert queue.answer(asked.handle, "deny", "not that tag").reason == "not that tag"
    assert code_of(queue.take, asked.handle, OP, ARGS, ANN) == "approval_denied"
    for word in ("once", "session", "deny"):
        assert code_of(queue.answer, asked.handle, word) == "approval_expired"


def test_what_was_approved_can_be_taken_back_until_it_isused(queue):
    asked, used = ask(queue), ask(queue)
    for approval in (asked, used):
        queue.answer(approval.handle, "once")
    queue.answer(asked.handle, "deny", "after all not")
    assert code_of(queue.take, asked.handle, OP, ARGS, ANN) == "approval_denied"
    queue.take(used.handle, OP, ARGS, ANN)
    assert code_of(queue.answer, used.handle, "deny") == "approval_expired"


@pytest.mark.parametrize("approved", [False, True])
def test_an_approval_expires_asked_or_approved(queue, clock, approved):
    asked = ask(queue, expires_s=10.0)
    if approved:
        queue.answer(asked.handle, "once")
    clock.now += 9.9
    assert queue.find(asked.handle).state == ("approved" if approved else "pending")
    clock.now += 0.2
    assert code_of(queue.take, asked.handle, OP, ARGS, ANN) == "approval_expired"
    assert code_of(queue.answer, asked.handle, "once") == "approval_expired"
    assert queue.pending() == []


def test_nobody_may_wait_longer_than_ten_minutes(queue, clock):
    assert ask(queue, expires_s=1e9).expires_at == clock.now + EXPIRES_S == clock.now + 600


@pytest.mark.parametrize("approved", [False, True])
def test_with_its_client_goes_what_it_asked_and_was_granted(queue, approved):
    asked, others = ask(queue), ask(queue, BEN)
    if approved:
        queue.answer(asked.handle, "session")
    OWN_CALLS.keep_only({"ben", "agent"})
    assert queue.find(asked.handle).state == "withdrawn"
    assert code_of(queue.take, asked.handle, OP, ARGS, ANN) == "approval_expired"
    assert queue.grants() == []
    assert queue.pending() == [others]


def wait(queue, handle, asker, timeout_s):
    return finish(queue.wait(handle, asker, timeout_s, WaitEvent()))


def test_only_who_asked_gives_it_up_or_is_notified_of_it(queue):
    asked = ask(queue)
    assert code_of(queue.withdraw, asked.handle, BEN) == "not_found"
    assert code_of(queue.of, asked.handle, BEN) == "not_found"
    assert code_of(wait, queue, asked.handle, BEN, 0.0) == "not_found"
    queue.withdraw(asked.handle, ANN)
    assert code_of(queue.answer, asked.handle, "once") == "approval_expired"


def test_what_was_asked_for_and_not_made_is_in_the_log_of_calls(queue, clock):
    denied, withdrawn, expired, used = (ask(queue, args={"tag_id": f"t{n}"}) for n in range(4))
    queue.answer(denied.handle, "deny", "not that tag")
    queue.withdraw(withdrawn.handle, ANN)
    queue.answer(used.handle, "once")
    queue.take(used.handle, OP, {"tag_id": "t3"}, ANN)
    clock.now += EXPIRES_S
    assert queue.pending() == []
    noted = [(each.state, each.reason, each.args, each.approval) for each in queue._log.latest()]
    assert noted == [
        ("expired", "", 'tag_id="t2"', expired.handle),
        ("withdrawn", "its caller gave it up", 'tag_id="t1"', withdrawn.handle),
        ("denied", "not that tag", 'tag_id="t0"', denied.handle),
    ]


def test_for_the_session_later_calls_of_that_op_by_that_asker_need_no_asking(queue):
    asked = ask(queue)
    queue.answer(asked.handle, "session")
    assert queue.take(asked.handle, OP, ARGS, ANN) == {"write"}
    again = ask(queue, args=ARGS | {"tag_id": "other"})
    assert again.state == "approved"
    assert code_of(queue.take, again.handle, OP, ARGS, ANN) == "not_found"
    assert queue.take(again.handle, OP, again.args, ANN) == {"write"}
    assert ask(queue, BEN).state == "pending"
    assert ask(queue, op="register_mode").state == "pending"
    wider = queue.ask(OP, ARGS, asker=ANN, access=("eval", "write"))
    assert wider.state == "pending"


@pytest.mark.parametrize("by_denying", [False, True])
def test_a_grant_is_listed_and_taken_back(queue, by_denying):
    asked = ask(queue)
    queue.answer(asked.handle, "session")
    queue.take(asked.handle, OP, ARGS, ANN)
    assert [(g.handle, g.op, g.asker) for g in queue.grants()] == [(asked.handle, OP, ANN)]
    if by_denying:
        queue.answer(asked.handle, "deny")
    else:
        assert queue.withdraw_grant(asked.handle)
    assert not queue.withdraw_grant(asked.handle)
    assert queue.grants() == []
    assert ask(queue).state == "pending"


def test_one_client_cannot_flood_the_person_and_others_are_not_kept_out(queue):
    for _ in range(MAX_PENDING):
        ask(queue)
    assert code_of(ask, queue) == "approval_unavailable"
    assert ask(queue, BEN).state == "pending"


def test_of_many_takers_at_once_one_gets_it(queue):
    asked = ask(queue)
    queue.answer(asked.handle, "once")
    start, outcomes = threading.Barrier(8), []

    def take():
        start.wait()
        try:
            outcomes.append(queue.take(asked.handle, OP, ARGS, ANN))
        except ReplPairError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count({"write"}) == 1
    assert outcomes.count("approval_expired") == 7


@pytest.mark.parametrize("meanwhile", ["taken", "denied", "withdrawn"])
def test_what_turns_between_a_look_and_a_turn_is_not_overwritten(queue, clock, meanwhile):
    asked = ask(queue)
    queue.answer(asked.handle, "once")
    clock.meanwhile = {
        "taken": lambda: queue.take(asked.handle, OP, ARGS, ANN),
        "denied": lambda: queue.answer(asked.handle, "deny"),
        "withdrawn": lambda: queue.withdraw(asked.handle, ANN),
    }[meanwhile]
    assert code_of(queue.take, asked.handle, OP, ARGS, ANN) == "approval_expired"
    assert queue.find(asked.handle).state == {"taken": "used"}.get(meanwhile, meanwhile)


def test_who_waits_is_reported_of_the_answer_and_of_no_answer(queue):
    asked, waited = ask(queue), []
    assert wait(queue, asked.handle, ANN, 0.0).state == "pending"
    waiter = threading.Thread(
        target=lambda: waited.append(wait(queue, asked.handle, ANN, BOUND_S).state)
    )
    waiter.start()
    ask(queue, BEN)
    queue.answer(asked.handle, "once")
    waiter.join(BOUND_S)
    assert waited == ["approved"]


def test_what_is_settled_is_kept_for_a_while(queue, clock):
    asked = []
    for _ in range(3):
        clock.now += 1
        asked.append(ask(queue))
    for _ in range(KEPT + 10):
        queue.answer(ask(queue).handle, "deny")
    assert queue.pending() == asked
    assert len(queue._store.keys(APPROVALS.name)) == KEPT + 3


def test_what_is_gone_since_it_was_listed_keeps_nobody_from_asking(queue, monkeypatch):
    asked, keys = ask(queue), queue._store.keys
    monkeypatch.setattr(queue._store, "keys", lambda name: ["gone", *keys(name)])
    assert queue.pending() == [asked]
    assert ask(queue, BEN).state == "pending"


def test_nothing_of_the_queue_is_a_change_that_agents_follow():
    from repl_pair.runtime.clients.approvals import QUEUE

    seq = STORE.seq
    QUEUE.answer(ask(QUEUE).handle, "session")
    OWN_CALLS.keep_only(())
    assert STORE.seq == seq
    with pytest.raises(KeyError):
        STORE.snapshot(APPROVALS.name)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
calls = st.tuples(st.sampled_from(["a", "b"]), st.dictionaries(st.text(), json_values, max_size=3))


def exact(value):
    """Return a value with its types, which `==` does not tell apart."""
    if isinstance(value, dict):
        return {key: exact(inner) for key, inner in value.items()}
    return [exact(v) for v in value] if isinstance(value, list | tuple) else repr(value)


@settings(max_examples=200)
@given(calls, calls)
def test_two_calls_have_one_hash_only_if_they_are_the_same(one, other):
    assert (hash_call(*one) == hash_call(*other)) == (exact(one) == exact(other))


@given(calls)
def test_the_order_of_keys_is_nothing_to_a_hash(call):
    op, args = call
    assert hash_call(op, dict(reversed(args.items()))) == hash_call(op, args)
