"""Large values: their reply keeps names, shape and status, and what is read of them is bounded."""

import json

import pytest

SETUP = """
import array, os, sys, threading, time, tracemalloc
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
import repl_pair

MILLION, MANY = range(1_000_000), range(300_000)
class Fields:
    def __init__(self):
        vars(self).update((f"field_{n}", n) for n in MANY)
by_number = dict.fromkeys(MILLION, 1)
by_pair = {(n, n): 1 for n in MANY}
by_text = {f"key {n}": n for n in MANY}
by_big_number = {10 ** 5000: 1}
numbers = array.array("d", range(3_000_000))
nested = [[*range(50_000)] for _ in range(40)]
rows = [{"sku": n, "note": f"note {n}"} for n in range(100_000)]
fields = Fields()
raw = bytearray(50_000_000)
text = "a word " * 10_000_000
texts = [f"{n} a word " * 100_000 for n in range(40)]

for n in range(60):
    globals()[f"long_{n:02}"] = f"{n} long " * 1_000
def clean(): pass
class Order: pass

@repl_pair.story("big.it", thread_safe=True)
def it(what: str = "texts_by_name"):
    print("printed " * 200)
    if what == "axes":
        return plt.subplots(3, 3)[1]
    if what == "chat":
        return [{"role": "user", "content": f"{n} words " * 300} for n in range(40)]
    if what == "deep":
        leaf = {"c": [{"d": "e" * 90}] * 20}
        return {f"a{n}": {f"b{m}": dict(leaf) for m in range(20)} for n in range(20)}
    return {f"name {n}": f"{n} long " * 300 for n in range(50)}
for what in ("axes", "chat", "deep", "texts_by_name"):
    repl_pair.variant(f"big.it/{what}", args={"what": what})
"""
BIG = (
    *("by_number", "by_pair", "by_text", "by_big_number", "numbers", "nested", "rows", "fields"),
    *("raw", "text", "texts"),
)
MAX_BYTES = 30_000_000
"""What a read of any value may allocate on its way; a copy of any of `BIG` takes more."""


@pytest.fixture(scope="module")
def agent(kernel, connect):
    with connect(
        "--kernel", kernel.path, "--allow", "inspect", "--toolsets", "values,story"
    ) as agent:
        yield agent


def names_in(node):
    """Return every key in an answer."""
    if isinstance(node, dict):
        return set(node).union(*map(names_in, node.values()))
    return set().union(*map(names_in, node)) if isinstance(node, list) else set()


def read_on(agent, node):
    """Return what the first handle in a value leads to."""
    text = json.dumps(node)
    handle = text.partition('"handle": "')[2].partition('"')[0]
    page = agent.ask("read_more", handle=handle)["result"]
    return page.get("text") or page["items"]


def test_a_read_copies_no_more_of_a_value_than_what_leaves_and_its_margin(kernel, agent):
    agent.ask("get_value", path="MILLION")
    kernel.cell("tracemalloc.start(1)")
    used = {}
    for name in BIG:
        kernel.cell("tracemalloc.reset_peak(); before = tracemalloc.get_traced_memory()[0]")
        reply = agent.ask("get_value", path=name)
        assert reply["ok"], reply
        assert "$overflow" not in reply["result"], name
        used[name] = int(kernel.cell("print(tracemalloc.get_traced_memory()[1] - before)"))
    kernel.cell("tracemalloc.stop()")
    assert {name: n for name, n in used.items() if n > MAX_BYTES} == {}


def test_many_long_values_are_listed_with_all_their_names(agent):
    reply = agent.ask("list_variables", values=True, limit=100)
    items = {item["id"]: item for item in reply["result"]["items"]}
    assert {f"long_{n:02}" for n in range(60)} <= items.keys()
    assert read_on(agent, items["long_07"]).startswith("7 long 7 long")
    assert reply["result"]["functions"] == ["clean", "it"]
    assert reply["result"]["classes"] == ["Fields", "Order"]
    few = agent.ask("list_variables", values=True)["result"]["items"]
    assert len(few) > 20


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("axes", {"shape", "head"}),
        ("chat", {"role", "content"}),
        ("deep", {f"a{n}" for n in range(20)}),
        ("texts_by_name", {f"name {n}" for n in range(50)}),
    ],
)
def test_a_large_result_keeps_status_names_and_shape_and_is_read_on(agent, what, names):
    result = agent.ask("run_variant", variant_id=f"big.it/{what}")["result"]
    assert (result["status"], result["effective_args"]) == ("pass", {"what": what})
    assert names <= names_in(result["result"])
    assert what == "axes" or read_on(agent, result["result"])  # axes are a word each
    again = agent.ask("read_assertions", variant_id=f"big.it/{what}")["result"]
    assert again["status"] == "pass"
