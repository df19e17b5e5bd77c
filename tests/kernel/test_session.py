import asyncio
import json
import os

import pytest
from bounds import BOUND_S
from halting import halt

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.discovery import find_kernels
from repl_pair.bridge.kernels.target import resolve
from repl_pair.bridge.link.link import EVERYTHING
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.replies import reply_timeout_s
from repl_pair.bridge.session import Session
from repl_pair.errors import KernelError, RequestError, did_you_mean, next_step
from repl_pair.runtime.registry.registry import REGISTRY

pytestmark = pytest.mark.anyio

OPEN = Policy()
STORY = """
import repl_pair
@repl_pair.story("demo.double", args={"n": 2})
def double(n: int) -> int:
    return 2 * n
repl_pair.variant("demo.double/Two", args={}, play=[repl_pair.check.path_equals("result", 4)])
"""


@pytest.fixture
async def open_session():
    """Opens sessions: `open_session(policy, target)`."""
    opened = []

    def make(policy=OPEN, target=None):
        opened.append(Session(policy, target))
        return opened[-1]

    yield make
    for session in opened:
        await session.close()


@pytest.fixture(params=["kernel", "here"])
async def working(request):
    """A session over a kernel, and one over this process, each with one story."""
    if request.param == "kernel":
        kernel = request.getfixturevalue("kernel")
        request.getfixturevalue("sit_at")(kernel).run(STORY)
        session, forget = Session(OPEN, str(kernel.path)), lambda: None
    else:
        session, forget = Session.direct(OPEN), REGISTRY.checkpoint()
        exec(STORY, {"__name__": "demo_stories"})
    yield session
    await session.close()
    forget()


NO_NAMES = [
    "a\0b",
    "a\nb",
    "a\x1b[2Kb",
    "a\u2028b",
    "\ud800",
    "\udc80",
    "x" * 5_000,
    "9" * 5_000,
    "",
]
NAMES_OF_NONE = ["~nobody-of-this-name", "~nobody-of-this-name/a.ipynb", "x" * 300, "9" * 300, "²³"]


@pytest.mark.parametrize("name", [*NO_NAMES, *NAMES_OF_NONE], ids=lambda name: ascii(name)[:12])
async def test_what_can_name_no_kernel_is_refused_by_every_op(
    open_session, tmp_path, monkeypatch, name
):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    session = open_session()
    refused = {"bad_arguments"} if name in NO_NAMES else {"bad_arguments", "no_kernel"}
    for descriptor in session.descriptors():
        reply = await session.call(descriptor["name"], {"kernel": name})
        if name in NO_NAMES or not reply["ok"]:
            error = reply["error"]
            assert error["code"] in refused, (descriptor["name"], error)
            assert len(error["message"]) < 1_000, descriptor["name"]
            assert name not in NO_NAMES or "kernel is an id, pid" in error["message"]
    if name in NO_NAMES:
        with pytest.raises(RequestError, match="kernel is an id, pid"):
            open_session(target=name)


# --- the same over a kernel and in this process


async def test_a_story_is_listed_run_and_identified(working):
    listed = await working.call("list_variants", {})
    ran = await working.call("run_variant", {"variant_id": "demo.double/Two"})
    identity = await working.call("snapshot_identity", {"variant_id": "demo.double/Two"})
    assert [item["id"] for item in listed["result"]["items"]] == ["demo.double/Two"]
    assert (ran["result"]["status"], ran["result"]["result"]) == ("pass", 4)
    assert identity["result"]["content_hash"].startswith("rp1:")
    kernels = [reply["kernel"] for reply in (listed, ran, identity)]
    assert kernels == [{**kernels[0], "boot": listed["boot"]}] * 3


async def test_a_refusal_of_the_kernels_is_a_reply_that_names_the_kernel(working):
    reply = await working.call("get_story", {"story_id": "demo.dubble"})
    assert (reply["ok"], reply["error"]["code"]) == (False, "not_found")
    assert "demo.double" in reply["error"]["message"]
    assert set(reply["kernel"]) == {"id", "name", "boot"}


async def test_a_cancelled_call_is_cancelled_and_the_next_answers(working):
    seq = (await working.call("read_changes"))["result"]["next"]
    waiting = asyncio.create_task(working.call("read_changes", {"since": seq, "wait_s": 20.0}))
    assert (await working.call("list_stories"))["ok"]
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await working.call("list_stories"))["ok"]


@pytest.mark.unbound("bridge.link.watch.ARRIVE_S")
async def test_a_subscriber_receives_what_changes_until_it_leaves(working):
    link = await working.links.get()
    heard, changed = [], asyncio.Event()
    undo = link.subscribe(lambda event: (heard.append(event), changed.set()))
    await asyncio.wait_for(changed.wait(), BOUND_S)
    assert (heard[0].member, heard[0].change) == (EVERYTHING, "subscribed")
    changed.clear()
    reply = await working.call("run_variant", {"variant_id": "demo.double/Two"})
    await asyncio.wait_for(changed.wait(), BOUND_S)
    assert heard[1].member != EVERYTHING
    assert heard[1].boot == reply["boot"]
    undo()
    changed.clear()
    await working.call("run_variant", {"variant_id": "demo.double/Two"})
    await working.call("list_stories")
    assert not changed.is_set()


async def test_a_caller_is_answered_at_its_bound_and_the_late_answer_is_dropped(working):
    link = await working.links.get()
    seq = (await working.call("read_changes"))["result"]["next"]
    args = {"since": seq, "wait_s": 1.0}
    late = await link.request("read_changes", args, view=OPEN.view(), timeout_s=0.2)
    assert late["error"]["code"] == "kernel_unresponsive"
    replies = await asyncio.gather(working.call("read_changes", args), working.call("list_stories"))
    assert [set(reply["result"]) for reply in replies] == [
        {"items", "total", "next"},
        {"items", "total"},
    ]


async def test_the_status_states_what_the_kernel_is_doing(working):
    status = (await working.call("kernel_status"))["result"]
    assert status["alive"] is True
    assert status["boot"] == (await working.call("list_stories"))["boot"]
    assert status["counts"]["story"] == 1


async def test_the_list_of_kernels_holds_the_one_in_use(working):
    await working.call("list_stories")
    listed = (await working.call("list_kernels"))["result"]
    assert listed["total"] == 1
    item = listed["items"][0]
    known = {"id", "name", "pid", "alive", "state", "runtime", "attached"}
    assert set(item) - {"age_s", "channel"} == known
    assert (item["alive"], item["runtime"], item["attached"]) == (True, True, True)


async def test_a_refused_op_reads_like_one_that_does_not_exist(working):
    visible = [descriptor["name"] for descriptor in working.descriptors()]
    assert "get_value" not in visible
    for op in ("get_value", "got_value"):
        text = f"There is no op {op!r}.{did_you_mean(op, visible)}"
        assert await working.call(op, {"path": "x"}) == {
            "ok": False,
            "error": {"code": "not_found", "message": text},
            "next_steps": [next_step("describe_op")],
            "hints": Policy().closed_hints(),
        }


async def test_internal_ops_are_not_for_callers(working):
    assert (await working.call("ping"))["error"]["code"] == "not_found"
    assert (await working.call("describe"))["error"]["code"] == "not_found"


async def test_a_denied_parameter_reads_like_one_that_does_not_exist(working):
    denied = await working.call("list_variables", {"values": True})
    unknown = await working.call("list_variables", {"valuez": True})
    assert denied["error"]["code"] == unknown["error"]["code"] == "bad_arguments"
    text = json.dumps(denied["error"]).replace("values", "valuez")
    assert text == json.dumps(unknown["error"])


async def test_what_must_be_asked_for_runs_nothing_and_states_how_to_open_it(working):
    working.policy = Policy(ask=frozenset({"inspect"}))
    for op, args in (("get_value", {"path": "x"}), ("list_variables", {"values": True})):
        reply = await working.call(op, args)
        assert reply["error"]["code"] == "approval_unavailable"
        assert "--allow inspect" in reply["hints"][0]


# --- which kernel


async def test_no_kernel_is_reported_with_what_to_do(runtime_dir, open_session):
    session = open_session()
    assert session.descriptors()
    reply = await session.call("list_stories")
    assert reply["error"]["code"] == "no_kernel"
    assert "%load_ext repl_pair" in " ".join(reply["hints"])
    assert "kernel" not in reply
    assert (await session.call("list_kernels"))["result"] == {"items": [], "total": 0}


async def test_a_kernel_that_comes_later_is_found_by_the_next_call(start_kernel, open_session):
    session = open_session()
    assert not (await session.call("list_stories"))["ok"]
    kernel = await asyncio.to_thread(start_kernel)
    assert (await session.call("list_stories"))["kernel"]["id"] == kernel.id


async def test_two_kernels_are_refused_also_for_reads_and_then_chosen(start_kernel, open_session):
    one = start_kernel(notebook="/home/ann/one.ipynb")
    two = start_kernel(notebook="/home/ann/two.ipynb")
    session = open_session()
    refused = await session.call("list_stories")
    assert refused["error"]["code"] == "ambiguous_kernel"
    for word in (one.id, two.id, "one.ipynb", "two.ipynb"):
        assert word in refused["error"]["message"]
    assert [step["op"] for step in refused["next_steps"]] == ["list_kernels", "use_kernel"]
    once = await session.call("list_stories", {"kernel": "two.ipynb"})
    assert once["kernel"]["id"] == two.id
    assert (await session.call("list_stories"))["error"]["code"] == "ambiguous_kernel"
    used = await session.call("use_kernel", {"kernel": one.id})
    assert used["kernel"]["id"] == used["result"]["id"] == one.id
    assert (await session.call("list_stories"))["kernel"]["id"] == one.id
    assert (await session.call("list_stories", kernel=two.id))["kernel"]["id"] == two.id
    assert (await session.call("list_stories"))["kernel"]["id"] == one.id


@pytest.mark.full
async def test_a_file_left_over_is_no_second_kernel(start_kernel, open_session):
    living, killed = start_kernel(), start_kernel()
    killed.kill()
    session = open_session()
    assert (await session.call("list_stories"))["kernel"]["id"] == living.id
    gone = await session.call("list_stories", kernel=killed.id)
    assert gone["error"]["code"] == "kernel_gone"


@pytest.mark.full
async def test_a_chosen_kernel_is_kept_when_others_come_and_when_it_dies(
    start_kernel, open_session
):
    first = start_kernel()
    session = open_session()
    assert (await session.call("list_stories"))["kernel"]["id"] == first.id
    await asyncio.to_thread(start_kernel)
    assert (await session.call("list_stories"))["kernel"]["id"] == first.id
    first.kill()
    reply = await session.call("list_stories")
    assert reply["error"]["code"] == "kernel_gone"
    assert reply["kernel"]["id"] == first.id
    status = (await session.call("kernel_status"))["result"]
    assert (status["id"], status["alive"], status["code"]) == (first.id, False, "kernel_gone")
    for named in (first.id, str(first.path)):
        chosen = await session.call("use_kernel", {"kernel": named})
        assert chosen["error"]["code"] == "kernel_gone"
    assert (await session.call("list_stories"))["kernel"]["id"] == first.id


async def test_a_target_names_its_kernel_among_others(start_kernel, open_session):
    start_kernel(notebook="/home/ann/other.ipynb")
    meant = start_kernel(notebook="/home/ann/prices.ipynb")
    path, id = meant.path, meant.id
    files = (str(path), os.path.relpath(path), "/home/ann/prices.ipynb", "prices.ipynb")
    for word in (*files, id, id[:6], str(meant.pid)):
        reply = await open_session(target=word).call("list_stories")
        assert reply["ok"], (word, reply)
        assert reply["kernel"]["id"] == id, word


@pytest.mark.full
async def test_a_given_kernel_is_the_only_one_that_there_is(start_kernel, open_session):
    other, given = start_kernel(notebook="/home/ann/other.ipynb"), start_kernel()
    session = open_session(target=given.id)
    (line,) = (await session.call("list_kernels"))["result"]["items"]
    assert line["id"] == given.id
    for word in (other.id, str(other.path), str(other.pid), "other.ipynb", other.id[:8]):
        for op in ("use_kernel", "list_stories", "kernel_status", "detach_kernel"):
            refused = await session.call(op, {"kernel": word})
            assert refused["error"]["code"] == "no_kernel", (op, word)
            assert other.id not in str(refused).replace(word, "")
    assert (await session.call("list_stories", {"kernel": given.id}))["ok"]


@pytest.mark.full
async def test_a_kernel_is_attached_once_for_calls_that_come_together(kernel, open_session):
    session = open_session()
    replies = await asyncio.gather(*(session.call("list_stories") for _ in range(10)))
    assert {reply["boot"] for reply in replies} == {replies[0]["boot"]}
    assert all(reply["ok"] for reply in replies)


async def test_the_status_of_a_stopped_kernel_states_why_there_is_none(kernel, open_session):
    session = open_session(target=str(kernel.path))
    boot = (await session.call("list_stories"))["boot"]
    halt(kernel.pid)
    status = (await session.call("kernel_status"))["result"]
    assert (status["alive"], status["code"], status["boot"]) == (True, "kernel_unresponsive", boot)
    assert "stopped" in status["why"]


async def test_a_word_that_is_no_kernel_is_refused_for_what_it_is(kernel, open_session):
    session = open_session()
    wrong_type = await session.call("list_stories", {"kernel": ["x"]})
    assert wrong_type["error"]["code"] == "bad_arguments"
    near = await session.call("list_stories", {"kernel": kernel.id[:-1] + "_"})
    assert near["error"]["code"] == "no_kernel"
    assert kernel.id in near["error"]["message"]


# --- words against kernels, without any


def kernel_info(id, **slots):
    base = {"name": "python3", "pid": None, "path": f"/run/kernel-{id}.json", "notebook": None}
    return KernelInfo(id=id, **(base | {"alive": True} | slots))


def code_of(word, *kernels):
    with pytest.raises(KernelError) as caught:
        resolve(word, kernels)
    return caught.value.code


def test_a_living_kernel_wins_over_a_dead_one_of_the_same_notebook():
    dead = kernel_info("aaaaaaaa", notebook="/n/a.ipynb", alive=False)
    living = kernel_info("bbbbbbbb", notebook="/n/a.ipynb")
    assert resolve("a.ipynb", [dead, living]) is living


def test_ambiguous_unknown_and_dead_words_are_distinguished():
    one = kernel_info("aaaaaaaa-1", notebook="/n/x/a.ipynb")
    two = kernel_info("aaaaaaaa-2", notebook="/n/y/a.ipynb")
    dead = kernel_info("cccccccc", alive=False)
    assert code_of("a.ipynb", one, two) == "ambiguous_kernel"
    assert code_of("aaaaaaaa", one, two) == "ambiguous_kernel"
    assert resolve("y/a.ipynb", [one, two]) is two
    assert code_of("b.ipynb", one, two) == "no_kernel"
    assert code_of("cccccccc", one, dead) == "kernel_gone"
    assert code_of("aaaaa", one) == "no_kernel"


def test_an_exact_id_wins_over_ids_that_begin_with_it():
    one, two = kernel_info("abcdef"), kernel_info("abcdef-2")
    assert resolve("abcdef", [two, one]) is one


def test_a_call_is_waited_for_as_long_as_its_own_waits_allow():
    properties = {"wait_s": {"default": 30.0}, "timeout_s": {"default": 30.0}}
    run = {"input_schema": {"properties": properties}}
    assert reply_timeout_s(run, {}) == 65.0
    assert reply_timeout_s(run, {"timeout_s": 100, "wait_s": 0}) == 105.0
    assert reply_timeout_s(run, {"timeout_s": 1, "wait_s": 1}) == 15.0
    assert reply_timeout_s({"input_schema": {"properties": {}}}, {}) == 15.0


async def test_discovery_and_sessions_leave_every_file_where_it_was(start_kernel, open_session):
    killed = start_kernel()
    killed.kill()
    await open_session().call("list_stories")
    assert [k.path for k in find_kernels()] == [str(killed.path)]
