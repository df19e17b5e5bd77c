"""Two agents at one kernel: what belongs to one of them does not exist for the other."""

import json
from contextlib import ExitStack

import pytest
from mcp import types
from serving import make_token, serve as serve_http

SETUP = """
import repl_pair
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.results.last_results import last_result

@repl_pair.story("shop.total", tags=["test"])
def total(count: int = 2) -> list:
    return list(range(count))
repl_pair.variant("shop.total/Two")
repl_pair.variant("shop.total/Long", args={"count": 500})
"""
SEEN = """
from repl_pair.runtime.kernel.magics import status
print(last_result({variant!r}).asked_by)
print([each.asker.principal for each in QUEUE.pending()])
print(status())
"""
LARGE, TRIED, TAG = "shop.total/Long", "shop.total/Two", "t_one"
BELONGINGS = {
    "a value to be read on": ("read_more", {"handle": "LARGE"}, "not_found", "done"),
    "the result of a what-if run": ("read_assertions", {"variant_id": TRIED}, "cannot_run", "done"),
    "an entry, replaced": ("register_tag", {"tag_id": TAG, "body": {}}, "bad_id", "done"),
    "an entry, taken out": ("unregister", {"kind": "tag", "id": TAG}, "cannot_run", "done"),
    "entries of a kind": ("clear_kind", {"kind": "mode"}, "nothing", "done"),
    "all entries": ("clear_all", {}, "nothing", "done"),
    "a watch": ("watch_variant", {"on": False}, "nothing", "done"),
    # An approval belongs to one server: it is withdrawn when that server leaves.
    "a call that waits": (
        "read_approval",
        {"handle": "ASKED", "wait_s": 0},
        "not_found",
        "not_found",
    ),
}
"""What an agent has, and the call that reads or changes it: what becomes of that call when another
agent makes it, and when a new server of the same name does."""


@pytest.fixture
def serve(kernel, connect):
    """Starts servers of agents; `serve(name)` gives the agent and what ends its server."""
    gates = ("--allow", "write", "--ask", "inspect", "--ask-wait", 0)
    with ExitStack() as servers:

        def start(name):
            stack = servers.enter_context(ExitStack())
            words = ("--kernel", kernel.path, "--as", name, "--toolsets", "write,story", *gates)
            return stack.enter_context(connect(*words)), stack.close

        yield start
    kernel.cell("repl_pair.undo_agent()")


ENDING = ("clear_kind", "clear_all", "watch_variant")


def own_all(agent):
    """Have one of each; gives the two handles."""
    for tag in (TAG, "t_two"):
        agent.ask("register_tag", tag_id=tag, body={"doc": "as it was"})
    agent.ask("register_mode", mode_id="more/ten", body={"args": {"count": 10}})
    assert agent.ask("run_variant", variant_id=TRIED, overrides={"count": 3})["ok"]
    assert agent.ask("watch_variant", variant_id=TRIED)["result"]["on"]
    ran = agent.ask("run_variant", variant_id=LARGE)
    large = ran["result"]["result"][-1]["$elided"]["handle"]
    asked = agent.ask("get_value", path="repl_pair")
    assert asked["error"]["code"] == "approval_pending"
    return {"LARGE": large, "ASKED": asked["error"]["detail"]["handle"]}


def outcome_of(agent, op, args, handles):
    """Describe what became of a call: done, nothing, or the code of its refusal."""
    own = {
        slot: handles.get(value, value) if slot == "handle" else value
        for slot, value in args.items()
    }
    reply = agent.ask(op, **own)
    if not reply["ok"]:
        return reply["error"]["code"]
    done = reply["result"].get("ended", reply["result"].get("total"))
    return "nothing" if done in ([], 0) and op in ENDING else "done"


def outcomes(agent, handles):
    return {
        what: outcome_of(agent, op, args, handles) for what, (op, args, *_) in BELONGINGS.items()
    }


@pytest.mark.full
def test_what_belongs_to_an_agent_over_http_is_there_for_each_client_of_its_token_and_no_other(
    kernel, own_env, open_over_http
):
    opens = {"allow": ("write",), "ask": ("inspect",), "toolsets": ("write", "story")}
    opens["kernels"] = (kernel.id,)
    tokens = {name: make_token(own_env, name, **opens) for name in ("ann", "ben")}
    with (
        serve_http(own_env, "--ask-wait", 0) as server,
        open_over_http(server, tokens["ann"]) as ann,
        open_over_http(server, tokens["ann"], "legacy") as again,
        open_over_http(server, tokens["ben"]) as ben,
    ):
        handles, before = own_all(ann), registered(kernel)
        assert outcomes(ben, handles) == {what: row[2] for what, row in BELONGINGS.items()}
        assert registered(kernel) == before
        guessed = dict.fromkeys(handles, "h_guessed")
        for op in ("read_more", "read_approval"):
            foreign, unknown = (
                ben.ask(op, handle=of["LARGE" if op == "read_more" else "ASKED"])
                for of in (handles, guessed)
            )
            assert masked(foreign, handles) == masked(unknown, guessed)
        owned = dict.fromkeys(BELONGINGS, "done") | {"a call that waits": "approval_pending"}
        assert outcomes(again, handles) == owned
    kernel.cell("repl_pair.undo_agent()")


def masked(reply, handles):
    """Write a reply without what names one of the handles."""
    text = json.dumps({slot: reply[slot] for slot in reply if slot not in ("id", "ms")})
    for handle in handles.values():
        text = text.replace(handle, "HANDLE")
    return text


def registered(kernel):
    return kernel.cell("print({k: dict(repl_pair.registry.snapshot(k)) for k in ('tag', 'mode')})")


def test_what_belongs_to_an_agent_is_there_for_a_new_server_of_its_name_and_for_no_other(
    kernel, serve, until
):
    ann, leave = serve("ann")
    ben, _ = serve("ben")
    handles, before = own_all(ann), registered(kernel)
    assert outcomes(ben, handles) == {what: row[2] for what, row in BELONGINGS.items()}
    assert registered(kernel) == before
    assert (
        "agent ann registered it" in ben.ask("unregister", kind="tag", id=TAG)["error"]["message"]
    )
    assert TAG in {tag["id"] for tag in ben.ask("list_tags")["result"]["items"]}
    seen = kernel.cell(SEEN.format(variant=TRIED)).splitlines()
    assert seen[:2] == ["ann", "['ann']"]
    assert ", attached: ann (watches shop.total/Two), ben." in seen[2]
    again, _ = serve("ann")
    assert again.ask("list_stories")["ok"]
    leave()
    until(lambda: kernel.cell("print(len(QUEUE.pending()))") == "0\n", "that the first server left")
    assert outcomes(again, handles) == {what: row[3] for what, row in BELONGINGS.items()}


SURFACE = "repl_pair.surface('{0}').cell('level', int, default=1, expose=True)"


@pytest.mark.full
def test_besides_the_kernels_that_are_named_none_exists_for_an_agent(
    start_own_kernel, connect, own_env, open_over_http
):
    one, two, other = (
        start_own_kernel("import repl_pair", SURFACE.format(name)) for name in ("one", "two", "far")
    )
    names = (one.id, two.id)
    token = make_token(own_env, "bound", kernels=names)
    with ExitStack() as stack:
        stdio = connect(*(word for name in names for word in ("--kernel", name)))
        server = stack.enter_context(serve_http(own_env))
        agents = [stack.enter_context(each) for each in (stdio, open_over_http(server, token))]
        for agent in agents:
            listed = agent.ask("list_kernels", dead=True)["result"]["items"]
            assert sorted(each["id"] for each in listed) == sorted(names)
            for name in names:
                assert agent.ask("list_stories", kernel=name)["ok"]
                assert agent.ask("run_op", op="kernel_status", args={"kernel": name})["ok"]
            calls = [("list_stories", {}), ("read_op", {"op": "kernel_status"})]
            calls += [("use_kernel", {}), ("run_op", {"op": "detach_kernel"})]
            for op, args in calls[: 2 if agent is agents[1] else None]:
                for target in (other.id, str(other.path), other.id[:8]):
                    foreign = agent.ask(op, **args, kernel=target)
                    unknown = agent.ask(op, **args, kernel="0" * len(target))
                    assert not foreign["ok"]
                    assert foreign["error"]["code"] == unknown["error"]["code"], op
                    assert other.id not in json.dumps(foreign).replace(target, "")
            found = agent.portal.call(agent.client.list_resources).resources
            assert not [each for each in found if "far" in str(each.uri)]
            ref = types.ResourceTemplateReference(uri="surface://{surface}/{member}")
            argument = {"name": "surface", "value": "f"}
            completed = agent.portal.call(agent.client.complete, ref, argument).completion.values
            assert "far" not in completed
        assert other.cell(PRESENT) == "0\n"


PRESENT = """
import sys
found = sys.modules.get("repl_pair.runtime.clients.clients")
print(len(found.CLIENTS.present()) if found else 0)
"""
