"""The live values of an app, as an agent lists, reads and awaits them."""

import asyncio

import pytest

from repl_pair.errors import next_step
from repl_pair.wire import PERSON, View

pytestmark = pytest.mark.anyio

APP = """
import repl_pair as rp
import threading, time
from dataclasses import dataclass

@dataclass
class Row:
    n: int
    label: str = ""

train = rp.surface("training", doc="One run of it.")
loss = train.cell("loss", float, default=0.5, doc="Mean of the last batch.")
best = train.cell("best", float)
rows = train.collection("rows", dict[str, Row])
log = train.stream("log", str, keep=5)
done = train.event("done", dict[str, int])
train.cell("hidden", int, default=7)
train.cell("_private", int, default=8, expose=True)
train.expose("loss", "best", "rows", "log", "done")

def later(fn, *args):
    threading.Timer(0.3, fn, args).start()
"""
PAUSES = """
from repl_pair.runtime.clients.clients import pause, resume
def pause_and_set():
    pause()
    loss.set(0.125)
"""
RUNNING = """
for number in range(7):
    rows[f"r{number}"] = Row(number)
    log.push(f"line {number}")
done.emit({"epoch": 1})
done.emit({"epoch": 2})
"""
MISSING = "There is no member 'training/{}'."


def wait_step(member, since, **args):
    return next_step("read_member", member=member, **args, since=since, wait_s=45)


async def read(link, member, **args):
    return await link.get("read_member", member=f"training/{member}", **args)


async def test_surfaces_are_listed_with_what_a_view_sees_of_them(link):
    await link.define(APP)
    await link.define(RUNNING)
    reply = await link.ask("list_surfaces")
    (surface,) = reply["result"]["items"]
    members = {member["id"].partition("/")[2]: member for member in surface.pop("members")}
    assert surface == {"id": "training", "doc": "One run of it."}
    assert list(members) == ["best", "done", "log", "loss", "rows"]
    since = members["loss"].pop("revision")
    assert members["loss"] == {
        "id": "training/loss",
        "kind": "cell",
        "doc": "Mean of the last batch.",
        "schema": {"type": "number"},
    }
    assert members["rows"]["keys"] == 7
    assert members["rows"]["schema"]["properties"]["n"] == {"type": "integer"}
    assert reply["next_steps"] == [next_step("read_member", member="training/done")]
    assert (await read(link, "loss"))["next"] == since
    persons = await link.get("list_surfaces", view=View(principal=PERSON))
    assert persons["total"] == 7


async def test_an_agent_that_sees_none_learns_how_one_is_exposed_and_not_whether_there_are(link):
    empty = await link.ask("list_surfaces")
    await link.define("import repl_pair as rp; rp.surface('training').cell('hidden', int)")
    hidden = await link.ask("list_surfaces")
    assert hidden["result"] == empty["result"] == {"items": [], "total": 0}
    assert hidden["notifications"] == empty["notifications"]
    assert "expose=True" in empty["notifications"][0]


async def test_a_long_list_of_members_comes_in_pages_of_the_same_surfaces(link):
    await link.define(
        "import repl_pair as rp\n"
        "for s in ('a', 'a.b', 'a_b'):\n"
        "    surface = rp.surface(s)\n"
        "    for number in range(4):\n"
        "        surface.cell(f'm{number}', int, default=number, expose=True)\n"
        "rp.surface('empty')\n"
    )
    found, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        page = await link.get("list_surfaces", limit=3, cursor=cursor)
        assert page["total"] == 12
        found += [(line["id"], one["id"]) for line in page["items"] for one in line["members"]]
        cursor, pages = page.get("cursor"), pages + 1
    assert pages == 4
    assert len(set(found)) == len(found) == 12
    assert all(id.rpartition("/")[0] == surface for surface, id in found)
    first = await link.get("list_surfaces", limit=3)
    await link.define("rp.surface('a').cell('new', int, expose=True)")
    error = await link.refusal("list_surfaces", limit=3, cursor=first["cursor"])
    assert error["code"] == "stale_cursor"


async def test_each_kind_is_read_as_it_is_and_followed_by_the_wait_for_its_next_change(link):
    await link.define(APP)
    await link.define(RUNNING)
    for name, slots in {
        "loss": {"kind": "cell", "value": 0.5},
        "log": {"kind": "stream", "entries": [f"line {n}" for n in range(2, 7)]},
        "done": {"kind": "event", "entries": [{"epoch": 1}, {"epoch": 2}]},
    }.items():
        reply = await link.ask("read_member", member=f"training/{name}")
        at = reply["result"]["revision"]
        assert reply["result"] == slots | {"revision": at, "next": at}
        assert reply["next_steps"] == [wait_step(f"training/{name}", at)]
        again = await read(link, name, since=at)
        timed_out = {"kind": slots["kind"], "revision": at, "next": at, "timed_out": True}
        assert again == timed_out
    one = await read(link, "rows", key="r3")
    assert one["value"] == {"n": 3, "label": ""}
    await link.define("rows['r1'] = Row(10)")
    assert (await read(link, "rows", key="r3", since=one["next"]))["timed_out"]
    assert (await read(link, "rows", key="r1", since=one["next"]))["value"]["n"] == 10


async def test_a_collection_comes_in_pages_by_key_whose_cursor_knows_when_it_is_stale(link):
    await link.define(APP)
    await link.define(RUNNING)
    page = await read(link, "rows", limit=3)
    assert [item["key"] for item in page["items"]] == ["r0", "r1", "r2"]
    assert page["total"] == 7
    await link.define("rows['r3'] = Row(30)")
    after = await read(link, "rows", limit=3, cursor=page["cursor"])
    assert [item["value"]["n"] for item in after["items"]] == [30, 4, 5]
    await link.define("rows['r33'] = Row(33)")
    error = await link.refusal(
        "read_member", member="training/rows", limit=3, cursor=page["cursor"]
    )
    assert error["code"] == "stale_cursor"


async def test_a_reader_of_a_stream_begins_with_its_tail_and_learns_of_a_gap(link):
    await link.define(APP)
    began = (await read(link, "log"))["next"]
    await link.define(RUNNING)
    tail = await read(link, "log", limit=2)
    assert tail["entries"] == ["line 5", "line 6"]
    missed = await read(link, "log", since=began, limit=2)
    assert (missed["entries"], missed["gap"]) == (["line 2", "line 3"], True)
    rest = await read(link, "log", since=missed["next"], limit=200)
    assert rest["entries"] == ["line 4", "line 5", "line 6"]
    assert "gap" not in rest
    assert rest["next"] == tail["next"]


async def test_no_value_no_key_and_no_member_are_distinguished_for_who_may_see_the_member(link):
    await link.define(APP)
    await link.define(RUNNING)
    reply = await link.ask("read_member", member="training/best")
    assert reply["error"]["message"] == "training/best has no value yet."
    (step,) = reply["next_steps"]
    assert step["args"]["wait_s"] == 45
    reply = await link.ask("read_member", member="training/rows", key="r33")
    assert reply["error"]["message"].startswith("training/rows has no key 'r33'. Nearest: r3")
    seen = {}
    for name in ("hidden", "_private", "nothing"):
        for args in ({}, {"key": "r1"}, {"since": 0}, {"cursor": "x"}):
            asked = {"member": f"training/{name}", **args}
            reply = await link.ask("read_member", **asked)
            error = reply["error"]
            assert error["message"].startswith(MISSING.format(name))
            assert (error["code"], reply["next_steps"]) == (
                "not_found",
                [next_step("list_surfaces")],
            )
            seen.setdefault(name, set()).add(error["message"].partition("Nearest")[0])
    assert {len(found) for found in seen.values()} == {1}
    person = View(principal=PERSON)
    assert (await link.get("read_member", view=person, member="training/hidden"))["value"] == 7


async def test_keys_and_cursors_are_refused_for_what_is_no_collection(link):
    await link.define(APP)
    for name, args in (("loss", {"key": "a"}), ("log", {"cursor": "a"}), ("done", {"key": ""})):
        reply = await link.ask("read_member", member=f"training/{name}", **args)
        assert reply["error"]["code"] == "bad_arguments"
        assert f"training/{name} is a" in reply["error"]["message"]
        assert reply["next_steps"] == [next_step("read_member", member=f"training/{name}")]


async def test_a_wait_ends_with_the_change_whatever_the_kind(link):
    await link.define(APP)
    for name, change, wanted in (
        ("loss", "later(loss.set, 0.25)", {"value": 0.25}),
        ("best", "later(best.set, 0.75)", {"value": 0.75}),
        ("log", "later(log.push, 'first')", {"entries": ["first"]}),
        ("done", "later(done.emit, {'epoch': 3})", {"entries": [{"epoch": 3}]}),
        ("rows", "later(rows.update, {'a': Row(1)})", {"total": 1}),
    ):
        (line,) = (await link.get("list_surfaces"))["items"]
        at = {one["id"]: one.get("revision") for one in line["members"]}[f"training/{name}"]
        at = (await read(link, name))["next"] if at is None else at
        await link.define(change)
        news = await read(link, name, since=at, wait_s=15)
        assert wanted.items() <= news.items()
        assert news["next"] > at


async def test_a_wait_in_which_the_person_pauses_agents_reads_nothing(link):
    await link.define(APP + PAUSES)
    at = (await read(link, "loss"))["next"]
    await link.define("later(pause_and_set)")
    refused = await link.refusal("read_member", member="training/loss", since=at, wait_s=15)
    assert refused["code"] == "paused"
    await link.define("resume()")
    assert (await read(link, "loss"))["value"] == 0.125


async def test_a_wait_for_a_key_ends_with_its_birth_and_with_its_removal(link):
    await link.define(APP)
    at = (await read(link, "rows"))["next"]
    await link.define("rows['other'] = Row(1); later(rows.update, {'a': Row(2)})")
    born = await read(link, "rows", key="a", since=at, wait_s=15)
    assert born["value"]["n"] == 2
    await link.define("later(rows.pop, 'a')")
    error = await link.refusal(
        "read_member", member="training/rows", key="a", since=born["next"], wait_s=15
    )
    assert error["message"].startswith("training/rows has no key 'a'.")


@pytest.mark.parametrize(
    "change",
    [
        "train.expose()",
        "rp.registry.unregister('member', 'training/loss')",
        "rp.surface('training', tier='ops').cell('loss', float)",
    ],
)
async def test_a_wait_ends_at_once_where_the_member_is_seen_no_more(link, change):
    await link.define(APP)
    at = (await read(link, "loss"))["next"]
    asked = asyncio.ensure_future(
        link.ask("read_member", member="training/loss", since=at, wait_s=40)
    )
    await link.define(f"later(exec, {change!r}, globals())")
    reply = await asyncio.wait_for(asked, 15)
    assert reply["error"]["code"] == "not_found"
    assert reply["error"]["message"].startswith(MISSING.format("loss"))


async def test_a_new_declaration_is_news_whose_number_is_higher(link):
    await link.define(APP)
    await link.define("for n in range(5): loss.set(float(n))")
    at = (await read(link, "loss"))["next"]
    await link.define("later(lambda: train.stream('loss', str))")
    news = await read(link, "loss", since=at, wait_s=15)
    assert (news["kind"], news["entries"], news["gap"]) == ("stream", [], True)
    assert news["next"] > at
    assert "gap" not in (await read(link, "loss", since=news["next"]))


async def test_a_projection_is_read_like_any_surface(link):
    await link.define(APP)
    await link.define(
        "rp.project('agent', train, loss='loss', red=rp.derive(lambda v: v > 0.7, 'loss'),\n"
        "           tail=rp.mapped('log', str.upper), odd=rp.derive(lambda v: 1 / 0, 'loss'))"
    )
    ask = lambda name, **args: link.get("read_member", member=f"agent/{name}", **args)  # noqa: E731
    red = await ask("red")
    assert red["value"] is False
    await link.define("later(loss.set, 0.9)")
    assert (await ask("red", since=red["next"], wait_s=15))["value"] is True
    assert (await ask("loss"))["value"] == 0.9
    await link.define("log.push('x')")
    assert (await ask("tail"))["entries"] == ["X"]
    error = await link.refusal("read_member", member="agent/odd")
    assert (error["code"], error["message"]) == (
        "unreadable",
        "agent/odd: ZeroDivisionError: division by zero",
    )
    await link.define("rp.registry.unregister('member', 'training/loss')")
    error = await link.refusal("read_member", member="agent/red")
    assert error["message"].startswith("There is no member 'agent/red'.")


async def test_what_is_computed_of_a_sensitive_member_is_hidden_too(link):
    await link.define(
        """
import repl_pair as rp
from typing import Annotated
s = rp.surface("gate")
s.cell("door", Annotated[int, rp.Sensitive], default=48213)
s.cell("phrase", Annotated[str, rp.Sensitive], default="tulip")
s.cell("users", dict[str, Annotated[str, rp.Sensitive]], default={"bob": "daisy"})
feed = s.stream("feed", Annotated[str, rp.Sensitive])
feed.push("daisy")
def fail(v): raise ValueError(f"cannot use {v}")
w = rp.project("w", s, expose=True, door=rp.derive(lambda v: v, "door"),
    word=rp.derive(lambda v: v, "phrase"), feed=rp.mapped("feed", lambda v: v),
    count=rp.derive(len, "users"))
rp.project("w2", w, expose=True, word=rp.derive(lambda v: v, "word"), odd=rp.derive(fail, "word"))
"""
    )
    for member in ("w/door", "w/word", "w2/word"):
        assert (await link.get("read_member", member=member))["value"] == "[redacted]"
    assert (await link.get("read_member", member="w/feed"))["entries"] == ["[redacted]"]
    assert (await link.get("read_member", member="w/count"))["value"] == 1
    refused = await link.refusal("read_member", member="w2/odd")
    assert refused["message"] == "w2/odd: ValueError"
