"""Which component a run calls: the one that was given, or its re-definition."""

import asyncio

import pytest
from bounds import BOUND_S

from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent", access=frozenset({"read", "inspect", "run"}))
STORIES = """
import functools
import repl_pair

def add(name, component):
    repl_pair.story(name, component=component)
    repl_pair.variant(f"{name}/It")

def traced(fn):
    @functools.wraps(fn)
    def wrapper(): return ["traced", fn()]
    return wrapper

class Shop:
    def __init__(self, name): self.name = name
    def show(self): return self.name
    @classmethod
    def make(cls): return cls.word
    word = "first"
    def __call__(self): return f"called {self.name}"
add("bound", Shop("a").show)
add("instance", Shop("b"))
add("partial", functools.partial(Shop.show, Shop("c")))
add("of_class", Shop.make)

for n in (1, 2, 3):
    def looped(n=n): return n
    add(f"loop.{'abc'[n - 1]}", looped)
for n in (1, 2, 3):
    @repl_pair.story(f"decorated.{'abc'[n - 1]}")
    def decorated(n=n): return n
    repl_pair.variant(f"decorated.{'abc'[n - 1]}/It")
for word in "xy":
    class Looped:
        def __init__(self): self.word = self.look()
        def look(self, word=word): return word
    repl_pair.story(f"class.{word}", component=Looped, state=lambda one: one.word)
    repl_pair.variant(f"class.{word}/It", play=[repl_pair.check.path_equals("state", word)])

def plain(): return "plain"
add("plain", plain)
add("traced", traced(plain))

@traced
@repl_pair.story("inside")
def inside(): return "inside"
repl_pair.variant("inside/It")

@repl_pair.story("outside")
@traced
def outside(): return "outside"
repl_pair.variant("outside/It")

def wrapped_later(): return "later"
add("wrapped_later", wrapped_later)
wrapped_later = traced(wrapped_later)

def other(): return "other"
def rebound(): return "rebound"
add("rebound", rebound)
rebound = other

def gone(): return "gone"
add("gone", gone)
"""
GIVEN = {
    "bound": "a",
    "instance": "called b",
    "partial": "c",
    "of_class": "first",
    **{f"loop.{'abc'[n - 1]}": n for n in (1, 2, 3)},
    **{f"decorated.{'abc'[n - 1]}": n for n in (1, 2, 3)},
    "plain": "plain",
    "traced": ["traced", "plain"],
    "inside": "inside",
    "outside": ["traced", "outside"],
    "wrapped_later": "later",
    "rebound": "rebound",
    "gone": "gone",
}
REDEFINED = """
def plain(): return "new"
def looped(): return "new"
def decorated(): return "new"
@traced
def outside(): return "new"
def wrapped_later(): return "new"
class Shop:
    word = "second"
    def show(self): return "new"
    @classmethod
    def make(cls): return cls.word
del gone
"""
FOLLOWED = {
    "of_class": "second",
    "plain": "new",
    "outside": ["traced", "new"],
    "wrapped_later": "new",
}


async def in_thread(fn, *args):
    return await asyncio.to_thread(fn, *args)


async def ask(link, op, **args):
    reply = await link.request(op, args, view=AGENT, timeout_s=BOUND_S)
    assert reply["ok"], str(reply)
    return reply["result"]


async def results(link, names):
    ran = {name: await ask(link, "run_variant", variant_id=f"{name}/It") for name in names}
    assert {one["status"] for one in ran.values()} == {"pass"}, ran
    return {name: one["result"] for name, one in ran.items()}


async def test_a_run_calls_what_was_given_or_its_redefinition(link, person):
    await in_thread(person.run, STORIES)
    assert await results(link, GIVEN) == GIVEN
    await results(link, ("class.x", "class.y"))
    await in_thread(person.run, REDEFINED)
    assert await results(link, GIVEN) == GIVEN | FOLLOWED
    await in_thread(person.run, STORIES)
    assert await results(link, GIVEN) == GIVEN


async def test_a_component_whose_name_is_deleted_still_runs_and_is_reported(link, person):
    await in_thread(person.run, STORIES + "del gone")
    ran = await ask(link, "run_variant", variant_id="gone/It")
    text = "__main__.gone (stale: its name is gone)"
    assert (ran["status"], ran["result"]) == ("pass", "gone")
    assert ran["warnings"] == [f"{text}: what was registered has run."]
    assert (await ask(link, "get_story", story_id="gone"))["component"] == text
    for name in ("plain", "rebound", "bound", "partial", "traced", "loop.a"):
        assert "warnings" not in await ask(link, "run_variant", variant_id=f"{name}/It")
    await in_thread(person.run, "def gone(): return 'back'")
    assert await results(link, ["gone"]) == {"gone": "back"}


EDITED = """
import importlib, pathlib, sys
import repl_pair
pathlib.Path({file!r}).write_text("def price(): return 4")
sys.path.insert(0, {folder!r})
import edited_shop
repl_pair.story("edited", component=edited_shop.price)
repl_pair.variant("edited/It", play=[repl_pair.check.path_equals("result", 4)])
"""


async def test_a_run_of_a_module_that_was_edited_and_not_reloaded_is_reported_and_no_verdict(
    link, person, tmp_path
):
    file = tmp_path / "edited_shop.py"
    await in_thread(person.run, EDITED.format(file=str(file), folder=str(tmp_path)))
    await ask(link, "run_variant", variant_id="edited/It")
    assert (await ask(link, "tests_passing", story_id="edited"))["status"] == "pass"
    file.write_text("def price(): return 5555")
    ran = await ask(link, "run_variant", variant_id="edited/It")
    assert (ran["status"], ran["reason"]) == (
        "pass",
        f"not run: {file} as it was edited after its module was loaded; reload that, run again",
    )
    swept = await ask(link, "run_variants", story_id="edited")
    assert [row["reason"] for row in swept["items"]] == [ran["reason"]]
    assert (await ask(link, "snapshot_identity", variant_id="edited/It"))["code_hash"] == "unknown"
    assert (await ask(link, "tests_passing", story_id="edited"))["status"] == "cannot_run"
    await in_thread(person.run, "importlib.reload(edited_shop)")
    assert (await ask(link, "tests_passing", story_id="edited"))["status"] == "cannot_run"
    assert (await ask(link, "run_variant", variant_id="edited/It"))["status"] == "fail"
