"""The rules by which subscriptions are followed, each over a session of this very process."""

import asyncio
import json
import threading
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from bounds import BOUND_S
from mcp import Client, types
from waiting import eventually

import repl_pair
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.errors import KernelError
from repl_pair.mcp_server import pusher
from repl_pair.mcp_server.server import build
from repl_pair.mcp_server.uris import ROWS
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.wire import CHANGES_WINDOW_S, error_reply

LEGACY, MODERN = "legacy", "auto"
ERAS = [LEGACY, MODERN]
LOSS, RATE, HIDDEN = (f"surface://training/{name}" for name in ("loss", "rate", "hidden"))


class Followed(list):
    """The URIs that one subscriber was notified of."""

    ended = False


class Desk:
    """An app that publishes cells, and a client of the server beside it."""

    def __init__(self, session, client):
        self.session, self.client = session, client
        self.messages = Followed()
        train = repl_pair.surface("training")
        self.loss = train.cell("loss", float, default=0.0, expose=True)
        self.rate = train.cell("rate", float, default=0.0, expose=True)
        self.hidden = train.cell("hidden", float, default=0.0)
        self.train = train

    @property
    def requests(self):
        """The requests of the pusher that wait in the kernel now."""
        jobs = list(self.session.links._here._host._jobs.values())
        return [job.call.id for job in jobs if job.op.name == "await_members"]

    async def read(self, uri):
        return (await self.read_whole(uri))["value"]

    async def read_whole(self, uri):
        (content,) = (await self.client.read_resource(uri)).contents
        return json.loads(content.text)

    async def ask(self, kind, uri):
        params = {types.SubscribeRequest: types.SubscribeRequestParams}.get(
            kind, types.UnsubscribeRequestParams
        )
        await self.client.session.send_request(kind(params=params(uri=uri)), types.EmptyResult)

    @asynccontextmanager
    async def follow(self, *uris):
        """Follow URIs as one subscriber of the client's era."""
        if self.client.protocol_version != "2026-07-28":
            del self.messages[:]
            for uri in uris:
                await self.ask(types.SubscribeRequest, uri)
            yield self.messages
            for uri in uris:
                await self.ask(types.UnsubscribeRequest, uri)
            return
        followed = Followed()

        async def collect():
            async for event in stream:
                followed.append(event.uri)
            followed.ended = True

        async with self.client.listen(resource_subscriptions=uris) as stream:
            collecting = asyncio.create_task(collect())
            yield followed
            collecting.cancel()
            await asyncio.wait({collecting})


def talk(body, mode=MODERN, policy=None):
    """Run `body(desk)`, then check that nothing of the server is left behind."""

    async def main():
        session, messages = Session.direct(policy or Policy()), []

        async def keep(message):
            if isinstance(message, types.ResourceUpdatedNotification):
                messages[0].append(str(message.params.uri))

        async with asyncio.timeout(BOUND_S):
            async with Client(build(session), mode=mode, message_handler=keep) as client:
                desk = Desk(session, client)
                messages.append(desk.messages)
                await body(desk)
            await eventually(lambda: not desk.requests)
            await session.close()

    undo, before = REGISTRY.checkpoint(), set(threading.enumerate())
    try:
        asyncio.run(main())
        for thread in set(threading.enumerate()) - before:
            thread.join(BOUND_S)
            assert not thread.is_alive(), thread.name
    finally:
        undo()


def now():
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize("mode", ERAS)
def test_there_is_one_request_while_somebody_subscribes_and_none_otherwise(mode):
    async def body(desk):
        assert await desk.read(LOSS) == 0.0
        assert desk.requests == []
        async with desk.follow(LOSS), desk.follow(RATE):
            await eventually(lambda: len(desk.requests) == 1)  # one that is cancelled is gone soon
        await eventually(lambda: not desk.requests)

    talk(body, mode)


def test_a_late_answer_of_an_earlier_generation_does_nothing():
    async def body(desk):
        ask, late = desk.session.read_internal, []

        async def answer_late(op, args, *, wait_s=0.0):
            if not wait_s or late:
                return await ask(op, args, wait_s=wait_s)
            late.append(True)
            try:
                await asyncio.sleep(BOUND_S)
            except asyncio.CancelledError:  # it ends with an answer, as one that was on its way
                reply = await ask(op, args | {"wait_s": 0.0})
                reply["result"] = {"marks": [99], "changed": [0], "gone": [0]}
                late.append(True)
                return reply

        desk.session.read_internal = answer_late
        async with desk.follow(LOSS) as first:
            await eventually(lambda: late)
            async with desk.follow(RATE) as second:
                await eventually(lambda: len(late) == 2 and desk.requests)
                desk.loss.set(1.0)
                await eventually(lambda: first)
                assert (list(first), list(second)) == ([LOSS], [])

    talk(body)


@pytest.mark.parametrize("mode", ERAS)
def test_a_hot_member_is_notified_once_in_a_window_and_its_last_change_never_lost(mode):
    async def body(desk):
        async with desk.follow(LOSS) as followed:
            await eventually(lambda: desk.requests)
            began, step = now(), 0
            while len(followed) < 3:
                step += 1
                desk.loss.set(float(step))
                await asyncio.sleep(0)
            count = len(followed)
            await eventually(lambda: len(followed) > count)
            assert await desk.read(LOSS) == step
            assert len(followed) <= (now() - began) / CHANGES_WINDOW_S + 1

    talk(body, mode)


def test_answers_that_follow_each_other_closely_keep_the_window_too():
    async def body(desk):
        ask = desk.session.read_internal

        async def answer_at_once(op, args, *, wait_s=0.0):
            reply = await ask(op, args | {"wait_s": 0.0})
            reply["result"]["changed"] = [0] if wait_s else []
            return reply

        desk.session.read_internal = answer_at_once
        began = now()
        async with desk.follow(LOSS) as followed:
            await eventually(lambda: len(followed) >= 4)
            assert now() - began >= 3 * 0.9 * CHANGES_WINDOW_S
            desk.session.read_internal = ask

    talk(body)


def test_a_single_change_arrives_within_one_window_and_a_half():
    async def body(desk):
        async with desk.follow(LOSS) as followed:
            await eventually(lambda: desk.requests)
            took = []
            while not took or min(took) > 1.5 * CHANGES_WINDOW_S:  # on a busy machine not each does
                count, began = len(followed), now()
                desk.loss.set(len(took) + 1.0)
                await eventually(lambda count=count: len(followed) > count)
                took.append(now() - began)
            assert min(took) >= 0.95 * CHANGES_WINDOW_S

    talk(body)


@pytest.mark.parametrize("mode", ERAS)
def test_what_the_view_does_not_see_wakes_no_request(mode):
    async def body(desk):
        async with desk.follow(LOSS) as followed:
            await eventually(lambda: desk.requests)
            await asyncio.sleep(CHANGES_WINDOW_S)
            (request,) = desk.requests
            desk.hidden.set(1.0)
            desk.train.cell("other", float, default=2.0)
            desk.train.cell("hidden", str, default="x")
            await asyncio.sleep(2 * CHANGES_WINDOW_S)
            assert (desk.requests, list(followed)) == ([request], [])

    talk(body, mode)


def test_what_fails_is_tried_again_by_one_timer_as_long_as_somebody_subscribes(monkeypatch):
    monkeypatch.setattr(pusher, "RETRY_S", 0.02)

    async def body(desk):
        ask, failed = desk.session.read_internal, []

        async def fail(op, args, *, wait_s=0.0):
            if not wait_s:
                return await ask(op, args)
            failed.append(now())
            return error_reply(KernelError("kernel_gone", "It died."))

        desk.session.read_internal = fail
        async with desk.follow(LOSS, RATE) as followed:
            await eventually(lambda: len(failed) > 20)
            gaps = [later - earlier for earlier, later in pairwise(failed)]
            assert min(gaps) >= 0.9 * pusher.RETRY_S
            desk.loss.set(1.0)
            desk.session.read_internal = ask
            await eventually(lambda: followed)
            assert list(followed) == [LOSS]
        desk.session.read_internal = fail
        tries = len(failed)
        await asyncio.sleep(5 * pusher.RETRY_S)
        assert len(failed) == tries

    talk(body)


OWN = "surface://repl_pair/"
OF_A = ("results/shop/A", "stories/shop", "variants/shop/A")
OWN_URIS = [*(row.uri for row in ROWS if row.watched), *(OWN + name for name in OF_A)]
RUNS = {"failures", "results/shop/A", "variants", "variants/shop/A"}
COUNTS = {"stories", "stories/shop", "variants"}
CHANGES = [
    (lambda: repl_pair.run("shop/A"), RUNS),
    (lambda: repl_pair.story("shop", component=give, tags=["quick"]), RUNS | COUNTS),
    (lambda: repl_pair.variant("base/One", tags=["quick"]), RUNS),
    (lambda: repl_pair.variant("shop/B", tags=["slow"]), COUNTS),
    (lambda: repl_pair.tag("slow", default_filter="exclude"), {"variants", "tags"}),
    (lambda: repl_pair.registry.unregister("variant", "shop/B"), COUNTS - {"variants"}),
    (lambda: repl_pair.mode("eur", args={"size": 5}), RUNS | {"modes"}),
    (
        lambda: repl_pair.decorator("plain", kind="frame_setup", init=[["end"]]),
        RUNS | {"decorators"},
    ),
    (lambda: repl_pair.global_args(size=9), RUNS),
    (lambda: repl_pair.global_decorators("plain"), RUNS),
    (lambda: repl_pair.surface("training", doc="A run."), {"surfaces"}),
    (lambda: repl_pair.registry.unregister("member", "training/rate"), {"surfaces"}),
    (lambda: repl_pair.function("act.new", expose=True)(lambda: 1), {"pair://functions"}),
    (lambda: repl_pair.workspace("desk/B", layout="grid", variants=["shop/A"]), {"workspaces"}),
]


def give(size=1):
    return size


def define_shop():
    repl_pair.mode("eur", args={"size": 1})
    repl_pair.decorator("plain", kind="frame_setup", init=[["begin"]])
    repl_pair.story("base", component=give)
    repl_pair.variant("base/One")
    repl_pair.story("shop", component=give)
    play, uses = [repl_pair.check.path_equals("result", 3)], {"decorators": ["plain"]}
    repl_pair.variant("shop/A", extends="base/One", play=play, modes=["eur"], **uses)


def test_each_uri_whose_read_differs_after_a_change_is_notified_once():
    async def body(desk):
        define_shop()
        for change, differ in CHANGES:
            await asyncio.to_thread(repl_pair.run, "shop/A", modes=["eur"])
            before = {uri: await desk.read_whole(uri) for uri in OWN_URIS}
            async with desk.follow(LOSS, *OWN_URIS) as followed:
                await asyncio.to_thread(change)
                after = {uri: await desk.read_whole(uri) for uri in OWN_URIS}
                changed = {uri for uri in OWN_URIS if after[uri] != before[uri]}
                assert {uri.removeprefix(OWN) for uri in changed} == differ
                await eventually(lambda told=followed, uris=changed: uris <= {*told})
                desk.loss.set(desk.loss.get() + 1.0)
                await eventually(lambda told=followed: LOSS in told)
                assert len(followed) == len({*followed})

    try:
        talk(body)
    finally:
        repl_pair.global_args()
        repl_pair.global_decorators()


@pytest.mark.parametrize("mode", ERAS)
def test_nothing_is_replayed(mode):
    async def body(desk):
        desk.loss.set(1.0)
        async with desk.follow(LOSS) as followed:
            await eventually(lambda: desk.requests)
            desk.loss.set(2.0)
            await eventually(lambda: followed)
        desk.loss.set(3.0)
        async with desk.follow(LOSS, RATE) as followed:
            desk.rate.set(1.0)
            await eventually(lambda: followed)
            assert list(followed) == [RATE]

    talk(body, mode)


@pytest.mark.parametrize("mode", ERAS)
def test_an_exposure_that_is_tightened_ends_what_it_forbids(mode):
    async def body(desk):
        async with desk.follow(LOSS, RATE) as followed:
            await eventually(lambda: desk.requests)
            desk.train.cell("loss", float, default=0.0)
            await eventually(lambda: followed)
            for value in (1.0, 2.0):
                desk.train.cell("loss", float, default=value, expose=True)
            desk.rate.set(1.0)
            await eventually(lambda: RATE in followed)
            assert list(followed) == [LOSS, RATE]

    talk(body, mode)


def test_a_stream_ends_when_nothing_is_left_that_it_may_follow():
    async def body(desk):
        async with desk.follow(LOSS) as followed:
            await eventually(lambda: desk.requests)
            repl_pair.registry.unregister("member", "training/loss")
            await eventually(lambda: followed.ended)
            assert list(followed) == [LOSS]
            await eventually(lambda: not desk.requests)

    talk(body)


@pytest.mark.parametrize("mode", ERAS)
def test_whoever_unsubscribes_in_the_middle_of_a_request_gets_no_more(mode):
    async def body(desk):
        async with desk.follow(RATE) as rates:
            async with desk.follow(LOSS):
                await eventually(lambda: desk.requests)
                desk.loss.set(1.0)
            desk.rate.set(1.0)
            await eventually(lambda: rates)
            assert list(rates) == [RATE]

    talk(body, mode)


def test_two_subscribers_of_one_uri_are_both_notified_and_leave_on_their_own():
    async def body(desk):
        async with desk.follow(LOSS) as first:
            async with desk.follow(LOSS, RATE) as second:
                await eventually(
                    lambda: len(desk.requests) == 1
                )  # one that is cancelled is gone soon
                desk.loss.set(1.0)
                await eventually(lambda: first and second)
            desk.loss.set(2.0)
            await eventually(lambda: len(first) == 2)
            assert (list(first), list(second)) == ([LOSS, LOSS], [LOSS])

    talk(body)


@pytest.mark.parametrize("mode", ERAS)
def test_the_end_of_the_server_leaves_no_task_and_no_request(mode):
    async def body(desk):
        async with desk.follow(LOSS):
            await eventually(lambda: desk.requests)

    async def main():
        session = Session.direct(Policy())
        before = asyncio.all_tasks()
        async with Client(build(session), mode=mode) as client:
            desk = Desk(session, client)
            for _ in range(20):
                await body(desk)
            listening = desk.follow(LOSS)
            await listening.__aenter__()
            await eventually(lambda: desk.requests)
        await eventually(lambda: not desk.requests and asyncio.all_tasks() <= before)
        await session.close()

    undo = REGISTRY.checkpoint()
    try:
        asyncio.run(asyncio.wait_for(main(), BOUND_S))
    finally:
        undo()
