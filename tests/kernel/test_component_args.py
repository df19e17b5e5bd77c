"""What a component is called with and gives: every form of signature, hint, class and result."""

import asyncio

import pytest
from bounds import BOUND_S

from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent", access=frozenset({"read", "inspect", "run"}))
STORIES = """
import threading
from dataclasses import dataclass
from enum import Enum
import numpy as np, pandas as pd
import repl_pair
from repl_pair import check
from numpy.typing import NDArray

def add(name, component, **slots):
    repl_pair.story(name, component=component)
    repl_pair.variant(f"{name}/It", **slots)

@repl_pair.decorator("louder")
def louder(component):
    return lambda **args: [component(**args)]

def placed(a, b=2, /, c=3): return [a, b, c]
add("placed", placed, args={"a": 1, "c": 4})
add("placed_wrapped", placed, args={"a": 1, "b": 5}, decorators=["louder"])
class Placed:
    def __init__(self, a, /): self.a = a
add("placed_class", Placed, args={"a": 1}, play=[check.path_equals("state.a", 1)])
def needs(x, y, z=0): return [x, y]
add("needs", needs, args={"x": 1})
class Needs:
    def __init__(self, x): self.x = x
add("needs_class", Needs)

def array(x: np.ndarray): return [type(x).__name__, x.sum()]
add("array", array, args={"x": np.array([1, 2])})
def floats(x: NDArray[np.float64]): return [str(x.dtype), x.sum()]
add("floats", floats, args={"x": [1, 2]})
def stamp(t: pd.Timestamp | None): return t and t.tz_localize("UTC").isoformat()
add("stamp", stamp, args={"t": "2020-01-01"})
def frame(df: pd.DataFrame, s: pd.Series = None): return [list(df.shape), s is not None]
add("frame", frame, args={"df": pd.DataFrame({"a": [1]})})

@dataclass
class Point:
    x: int = 0
class Size(Enum):
    SMALL = 1
def point(p: Point): return p.x
add("point", point, args={"p": Point(3)})
def size(s: Size): return s.value
add("size", size, args={"s": "SMALL"})

class Odd:
    def __getattr__(self, name): raise RuntimeError(f"no {name}")
def odd(): return Odd()
add("odd", odd)
add("odd_listed", lambda: [Odd()])
add("odd_state", Odd, play=[check.path_equals("state.x", 1)])
def nan(x: float = float("nan"), y: list = [float("inf")], z: float = 1.5): return z
add("nan", nan)

lock, rlock = threading.Lock(), threading.RLock()
generator = (i for i in range(3))
file = open("/dev/null")
space = globals()
"""
POSTPONED = """
from __future__ import annotations
from typing import Annotated, NotRequired, Required, TypedDict
class Conf(TypedDict):
    a: int
    b: NotRequired[str]
    c: Annotated[NotRequired[str], "doc"]
class Part(TypedDict, total=False):
    a: Required[int]
    b: str
class More(Conf):
    d: int
def conf(c: Conf, p: Part, m: More = {"a": 1, "d": 2}): return [c, p, m]
add("conf", conf, args={"c": {"a": 1}, "p": {"a": 1}, "m": {"a": 1, "d": 2}})
"""
PLAIN = """
class Point:
    def __init__(self, x): self.x = x * 10
class Size: pass
"""
RUNS = [
    ("placed", {}, [1, 2, 4]),
    ("placed", {"a": 7, "b": 8}, [7, 8, 4]),
    ("placed_wrapped", {}, [[1, 5, 3]]),
    ("placed_class", {}, {"a": 1}),
    ("needs", {"y": 2}, [1, 2]),
    ("array", {}, ["ndarray", 3]),
    ("array", {"x": [[1, 2], [3, 4]]}, ["ndarray", 10]),
    ("floats", {}, ["float64", 3.0]),
    ("floats", {"x": []}, ["float64", 0.0]),
    ("stamp", {}, "2020-01-01T00:00:00+00:00"),
    ("stamp", {"t": "2021-02-03 04:05"}, "2021-02-03T04:05:00+00:00"),
    ("stamp", {"t": None}, None),
    ("frame", {"df": {"a": [1, 2], "b": [3, 4]}, "s": [1, 2]}, [[2, 2], True]),
    ("frame", {"df": [{"a": 1}]}, [[1, 1], False]),
    ("point", {}, 3),
    ("size", {}, 1),
    ("odd", {}, "<Odd>"),
    ("odd_listed", {}, ["<Odd>"]),
    ("nan", {}, 1.5),
]
REFUSED = [
    ("needs", {}, "args: y is missing"),
    ("needs_class", {}, "args: x is missing"),
    ("array", {"x": "text"}, "args.x: expected ndarray as a list"),
    ("array", {"x": [[1], [2, 3]]}, "args.x: expected ndarray as a list: ValueError"),
    ("array", {"x": [{"a": 1}]}, "args.x: expected ndarray as a list: ValueError"),
    ("array", {"x": None}, "args.x: expected ndarray as a list"),
    ("floats", {"x": ["a"]}, "args.x: expected ndarray as a list"),
    ("stamp", {"t": "never"}, "args.t: expected Timestamp"),
    ("stamp", {"t": 5}, "args.t: expected Timestamp as ISO text"),
    ("frame", {"df": 5}, "args.df: expected DataFrame as a mapping of columns"),
    ("frame", {"df": {"a": 1}}, "args.df: expected DataFrame as a mapping of columns"),
]


async def in_thread(fn, *args):
    return await asyncio.to_thread(fn, *args)


async def ask(link, op, **args):
    reply = await link.request(op, args, view=AGENT, timeout_s=BOUND_S)
    assert reply["ok"], str(reply)
    return reply["result"]


async def run(link, name, overrides):
    args = {"overrides": overrides} if overrides else {}
    return await ask(link, "run_variant", variant_id=f"{name}/It", **args)


async def test_args_and_results_of_every_form_are_taken_or_refused_by_place(link, person):
    await in_thread(person.run, STORIES)
    for name, overrides, result in RUNS:
        ran = await run(link, name, overrides)
        assert (ran["status"], ran.get("result")) == ("pass", result), (name, overrides, ran)
    for name, overrides, reason in REFUSED:
        ran = await run(link, name, overrides)
        assert ran["status"] == "cannot_run", (name, overrides, ran)
        assert ran["reason"].startswith(reason), (name, overrides, ran)
    assert (await run(link, "odd_state", {}))["status"] == "fail"


async def test_a_class_that_is_redefined_as_another_kind_is_built_or_refused(link, person):
    await in_thread(person.run, STORIES + PLAIN)
    assert (await run(link, "point", {}))["result"] == 30
    refused = await run(link, "point", {"p": {"y": 1}})
    assert refused["reason"] == "args.p: Point has no field 'y'. It has: x."
    schema = (await ask(link, "get_story", story_id="point"))["args_schema"]
    assert schema["properties"]["p"]["required"] == ["x"]
    gone = await run(link, "size", {})
    what = "args.s: Size was defined again and is not an enumeration now."
    assert (gone["status"], gone["reason"]) == ("cannot_run", what)
    assert "enum" not in str(await ask(link, "get_story", story_id="size"))


async def test_schemas_know_what_is_not_required_and_hold_json_only(link, person):
    await in_thread(person.run, STORIES)
    await in_thread(person.run, POSTPONED)
    assert (await run(link, "conf", {}))["status"] == "pass"
    fields = (await ask(link, "get_story", story_id="conf"))["args_schema"]["properties"]
    assert {n: f["required"] for n, f in fields.items()} == {
        "c": ["a"],
        "p": ["a"],
        "m": ["a", "d"],
    }
    fields = (await ask(link, "get_story", story_id="nan"))["args_schema"]["properties"]
    assert {n: f.get("default") for n, f in fields.items()} == {"x": None, "y": None, "z": 1.5}


async def test_a_variable_that_is_listed_is_there(link, person):
    await in_thread(person.run, STORIES)
    listed = {one["id"]: one["type"] for one in (await ask(link, "list_variables"))["items"]}
    for name in ("lock", "rlock", "generator", "file", "space"):
        value = await ask(link, "get_value", path=name)
        assert value == {"path": name, "type": listed[name], "value": f"<{listed[name]}>"}
