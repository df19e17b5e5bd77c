"""What a tier hides changes no answer: not a count, not what is near, not what is offered."""

import json

import pytest

from repl_pair.bridge import manifest

SETUP = """
import repl_pair
from repl_pair import check

def add(a: int = 1, b: int = 2) -> int:
    return a + b

repl_pair.tag("seen", tier="ops")
repl_pair.mode("mode/seen", args={"a": 3}, axis="size", tier="ops")
repl_pair.story("shop.sum", component=add, tags=["seen"], modes=["mode/seen"], tier="ops")
for n in range(3):
    repl_pair.variant(f"shop.sum/V{n}", args={"a": n}, tags=["seen"], tier="ops",
                      play=[check.result_equals(n + 2)])
repl_pair.workspace("shop/desk", layout="variants_grid", story="shop.sum", tier="ops")
for n in range(3):
    repl_pair.run(f"shop.sum/V{n}")
app = repl_pair.surface("app", tier="ops")
app.cell("seen", int, default=0, expose=True)
"""
HIDE = """
repl_pair.tag("seem", tier="mine")
repl_pair.mode("mode/seem", args={"a": 4}, axis="size", tier="mine")
repl_pair.story("shop.sump", component=add, tags=["seem"], tier="mine")
for n in range(7):
    repl_pair.variant(f"shop.sum/W{n}", args={"a": n}, tags=["seen"], tier="mine",
                      play=[check.result_equals(-1)])
    repl_pair.variant(f"shop.sump/V{n}", extends="shop.sum/V0", tags=["seen"], tier="mine")
    repl_pair.run(f"shop.sum/W{n}")
    repl_pair.variant(f"shop.sum/W{n}", args={"a": n}, tags=["seen"], tier="mine",
                      play=[check.result_equals(n + 2)])
    repl_pair.run(f"shop.sum/W{n}")  # it passes now, of which there is a notice
repl_pair.workspace("shop/desks", layout="variants_grid", story="shop.sump", tier="mine")
repl_pair.panel("panel/seem", title="Seem", placement="right", render=lambda: "", tier="mine")
repl_pair.decorator("deco/seem", wrap=lambda inner, context: inner, tier="mine")
app.cell("see", int, default=1)
repl_pair.surface("appz", tier="mine").cell("seem", int, default=1, expose=True)
repl_pair.surface("apps", tier="ops").cell("seem", int, default=1)
repl_pair.function("app.seem", tier="ops")(add)
"""
ARGS = {
    "story_id": ["shop.sum", "shop.sumps", "shop.sump"],
    "variant_id": ["shop.sum/V0", "shop.sum/W", "shop.sum/W0", "shop.sump/V0"],
    "workspace_id": ["shop/desk", "shop/deskz", "shop/desks"],
    "decorator_id": ["deco/seen", "deco/seem"],
    "op": ["list_variants", "list_tags"],
    **{slot: ["nothing"] for slot in ("annotation_id", "domain", "review_id", "run", "session_id")},
    "member": ["app/seen", "app/see", "appz/seem", "apps/seem"],
}
NO_SAME = {"read_more", "read_approval", "read_changes", "use_kernel", "list_kernels", "get_value"}
ALWAYS_NEW = {
    "boot",
    "seq",
    "kernel",
    "revision",
    "cursor",
    "elapsed_ms",
    "run_id",
    "at",
    "next",
    "idle_s",
}


def without_what_is_new(node):
    if isinstance(node, dict):
        kept = {key: part for key, part in node.items() if key not in ALWAYS_NEW}
        return {key: without_what_is_new(part) for key, part in kept.items()}
    return [without_what_is_new(part) for part in node] if isinstance(node, list) else node


def answers(agent):
    found = {}
    for entry in manifest.load():
        required = entry["input_schema"]["required"]
        if entry["access"] != "read" or entry.get("internal") or entry["name"] in NO_SAME:
            continue
        for given in ARGS[required[0]] if required else [None]:
            args = {} if given is None else {required[0]: given}
            reply = without_what_is_new(agent.ask(entry["name"], **args))
            found[entry["name"], given] = json.dumps(reply, sort_keys=True)
    return found


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(SETUP)


def test_what_a_tier_hides_changes_no_answer(kernel, connect):
    options = ("--tier", "ops", "--toolsets", "values,story,surface")
    with connect("--kernel", kernel.path, *options) as agent:
        before = answers(agent)
        kernel.cell(HIDE)
        after = answers(agent)
    changed = {asked: (before[asked], after[asked]) for asked in before}
    changed = {asked: both for asked, both in changed.items() if both[0] != both[1]}
    assert changed == {}, "\n".join(f"{asked}\n {a}\n {b}" for asked, (a, b) in changed.items())
