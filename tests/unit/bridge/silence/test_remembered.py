"""What was last known of a registry: for whom it is kept, how much of it, and when it is read."""

import asyncio

import pytest
from bounds import BOUND_S

from repl_pair.bridge.silence.remembered import ALWAYS_KNOWN, Memory, Refresher, reads_registry
from repl_pair.errors import next_step
from repl_pair.wire import Request, View, ok_reply

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")
WHY = "its threads have waited for the interpreter lock for 3.1 s"


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


def request(op="list_stories", view=AGENT, **args):
    return Request(op=op, args=args, call="c", view=view)


def reply(result="one", boot="b", seq=1):
    return ok_reply(
        result, boot=boot, seq=seq, notifications=["said"], next_steps=[next_step("list_stories")]
    )


def remember(*pairs):
    memory = Memory()
    for asked, answered in pairs:
        memory.keep(asked, answered)
    return memory


def test_the_last_answer_is_given_with_its_age_and_why():
    memory = remember((request(), reply("old")), (request(), reply("new")))
    known = memory.recall(request(), WHY)
    assert known.pop("age_s") >= 0.0
    assert known == ok_reply(
        "new",
        boot="b",
        seq=1,
        notifications=[f"Last known, 0 s old: {WHY}.", "said"],
        next_steps=[next_step("list_stories")],
    )


def test_an_answer_that_newer_replies_overtook_reports_it():
    memory = remember((request(), reply(seq=1)), (request("ping"), reply(seq=2)))
    assert memory.recall(request(), WHY)["notifications"][0] == (
        f"Last known, 0 s old: {WHY}. Something was registered or run since."
    )


@pytest.mark.parametrize(
    "other",
    [
        View(principal="other"),
        View(principal="agent", tier="ops"),
        View(principal="agent", policy=1),
        View(principal="agent", access=frozenset({"read"})),
    ],
    ids=["principal", "tier", "policy", "access"],
)
def test_no_other_view_is_given_an_answer(other):
    memory = remember((request(), reply()))
    assert memory.recall(request(view=other), WHY) is None


def test_another_question_has_no_answer_and_a_default_reported_aloud_is_the_same_one():
    memory = remember((request("list_variants"), reply()))
    assert memory.recall(request("list_variants", story_id="a"), WHY) is None
    assert memory.recall(request("list_variants", limit=25, story_id=None), WHY)


def test_another_life_of_the_kernel_clears_what_was_known_of_the_one_before():
    memory = remember((request(), reply(boot="b")), (request("list_tags"), reply(boot="c")))
    assert memory.recall(request(), WHY) is None
    assert memory.recall(request("list_tags"), WHY)
    assert memory.recall(Request(op="list_tags", call="c", view=AGENT, boot="b"), WHY) is None


def test_refusals_are_not_remembered():
    refused = {"ok": False, "error": {"code": "not_found", "message": ""}, "boot": "b"}
    assert remember((request(), refused)).recall(request(), WHY) is None


def test_only_what_lists_or_gets_registrations_is_remembered():
    ops = (*ALWAYS_KNOWN, "get_story", "get_variant")
    assert [op for op in ops if not reads_registry(op)] == []
    others = ("read_changes", "read_more", "read_failures", "tests_passing", "snapshot_identity")
    others += ("get_value", "list_variables", "list_kernels", "run_variant", "ping", "of_a_user")
    assert [op for op in others if reads_registry(op)] == []


def test_the_answers_that_were_asked_for_least_lately_give_way():
    memory = Memory(limit_bytes=3_500)
    for story in ("a", "b", "c"):
        memory.keep(request("get_story", story_id=story), reply("x" * 1_000))
    assert memory.recall(request("get_story", story_id="a"), WHY)
    memory.keep(request("get_story", story_id="d"), reply("x" * 1_000))
    left = [s for s in "abcd" if memory.recall(request("get_story", story_id=s), WHY)]
    assert left == ["a", "c", "d"]
    memory.keep(request("get_story", story_id="e"), reply("x" * 5_000))
    assert not any(memory.recall(request("get_story", story_id=s), WHY) for s in "abcde")


# --- reading anew


class Kernel:
    """Answers, in the place of a link."""

    def __init__(self):
        self.asked = []
        self.seq = 1
        self.lost = False
        self.idle = True

    async def ask(self, op, view):
        self.asked.append((op, view))
        return None if self.lost else reply(seq=self.seq)

    async def settle(self, count):
        async with asyncio.timeout(BOUND_S):
            while len(self.asked) < count:
                await asyncio.sleep(0.01)


@pytest.fixture
async def kernel():
    return Kernel()


@pytest.fixture
async def refresher(kernel, monkeypatch):
    monkeypatch.setattr("repl_pair.bridge.silence.remembered.PAUSE_S", 0.05)
    refresher = Refresher(kernel.ask, is_idle=lambda: kernel.idle)
    yield refresher
    await refresher.close()


async def test_a_registry_is_read_after_the_first_reply_and_again_once_it_changed(
    kernel, refresher
):
    refresher.note(AGENT, reply(seq=1))
    await kernel.settle(4)
    assert kernel.asked == [(op, AGENT) for op in ALWAYS_KNOWN]
    for _ in range(50):
        refresher.note(AGENT, reply(seq=1))
    kernel.seq = 3
    refresher.note(AGENT, reply(seq=2))
    await kernel.settle(8)
    refresher.note(AGENT, reply(seq=3))
    await asyncio.sleep(0)
    assert len(kernel.asked) == 8
    assert refresher.is_done


async def test_nothing_is_read_while_somebody_waits_for_the_kernel(kernel, refresher):
    kernel.idle = False
    refresher.note(AGENT, reply())
    async with asyncio.timeout(BOUND_S):
        while refresher._pause_s < 0.05:
            await asyncio.sleep(0.01)
    assert kernel.asked == []
    kernel.idle = True
    await kernel.settle(4)


async def test_a_kernel_that_is_lost_is_asked_once_and_again_after_the_next_reply(
    kernel, refresher
):
    kernel.lost = True
    refresher.note(AGENT, reply())
    await kernel.settle(1)
    async with asyncio.timeout(BOUND_S):
        while not refresher.is_done:
            await asyncio.sleep(0.01)
    assert len(kernel.asked) == 1
    kernel.lost = False
    refresher.note(AGENT, reply())
    await kernel.settle(1 + len(ALWAYS_KNOWN))


async def test_the_registries_of_the_four_views_that_asked_last_are_read(kernel, refresher):
    views = [View(principal=f"agent {n}") for n in range(6)]
    for view in views:
        refresher.note(view, reply())
    await kernel.settle(16)
    assert {view for _, view in kernel.asked} == set(views[2:])
