"""Several agents at one server over HTTP: what the person approves, and which tools come and go."""

import threading
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest
from bounds import BOUND_S
from mcp import types
from serving import ERAS, bounded, make_token, serve

SETUP = """
import repl_pair
from repl_pair.runtime.clients.approvals import QUEUE

def answer(handle, word):
    QUEUE.answer(handle, word)
def expose(id, tier=None):
    repl_pair.function(id, tier=tier, expose=True, mutates=False)(lambda: 5)
"""


def handle_of(reply):
    assert reply["error"]["code"] == "approval_pending", reply
    return reply["error"]["detail"]["handle"]


def register(agent, tag):
    return agent.ask("register_tag", tag_id=tag, body={"doc": "as it was"})


def test_the_person_approves_a_call_of_one_agent_and_it_is_no_other_ones(
    own_env, kernel, open_over_http
):
    opens = {"ask": ("write",), "kernels": (kernel.id,)}
    tokens = {name: make_token(own_env, name, **opens) for name in ("ada", "bob")}
    with (
        serve(own_env, "--ask-wait", 0) as server,
        open_over_http(server, tokens["ada"]) as ada,
        open_over_http(server, tokens["ada"], "legacy") as beside,
        open_over_http(server, tokens["bob"]) as bob,
    ):
        handle = handle_of(register(ada, "t_one"))
        foreign = bob.ask("read_approval", handle=handle)
        guessed = bob.ask("read_approval", handle="ap_guessed")
        assert foreign["error"]["code"] == guessed["error"]["code"] == "not_found"
        texts = [reply["error"]["message"] for reply in (foreign, guessed)]
        assert texts[0].replace(handle, "") == texts[1].replace("ap_guessed", "")
        kernel.cell(f"answer({handle!r}, 'session')")
        for agent in (ada, beside):
            assert agent.ask("read_approval", handle=handle)["result"]["id"] == "t_one"
        later = handle_of(register(beside, "t_two"))
        assert ada.ask("read_approval", handle=later)["ok"]
        assert bob.ask("read_approval", handle=handle)["error"]["code"] == "not_found"
        own = handle_of(register(bob, "t_three"))
        kernel.cell(f"answer({own!r}, 'deny')")
        assert bob.ask("read_approval", handle=own)["error"]["code"] == "approval_denied"
        assert ada.ask("read_approval", handle=own)["error"]["code"] == "not_found"


class Watcher:
    """A client that counts the notices that the list of tools changed."""

    def __init__(self):
        self.count, self.opened = 0, None

    async def keep(self, message):
        self.count += isinstance(message, types.ToolListChangedNotification)

    def tools(self):
        return [name for name in self.opened.tool_names() if "__" in name]


@contextmanager
def watch(server, token, era):
    """Open a client that is notified, in either era."""
    watcher, started = Watcher(), threading.Event()

    async def follow():
        async with watcher.opened.client.listen(tools_list_changed=True) as stream:
            started.set()
            async for _event in stream:
                watcher.count += 1

    if era == "legacy":
        with server.connect(token, era, watcher.keep) as watcher.opened:
            yield watcher
        return
    with server.connect(token, era) as watcher.opened:
        following = watcher.opened.portal.start_task_soon(follow)
        assert started.wait(BOUND_S)
        yield watcher
        following.cancel()


def has_counted(watcher, count):
    return watcher.count >= count


def test_functions_that_come_and_go_are_announced_to_each_client_that_sees_them(
    own_env, kernel, until
):
    tokens = {
        name: make_token(own_env, name, tier=tier, kernels=(kernel.id,))
        for name, tier in {"user": "user", "ops": "ops", "free": None}.items()
    }
    kernel.cell("expose('at.first')")
    patient = bounded("repl_pair.mcp_server.function_tools", LISTED_S=BOUND_S)
    with serve(own_env, program=patient) as server, ExitStack() as stack:
        watchers = {
            (name, era): stack.enter_context(watch(server, token, era))
            for name, token in tokens.items()
            for era in ERAS
        }
        for each in watchers.values():
            each.tools()
        eager = watchers["free", ERAS[0]]
        for tier, wanted in {"user": ("user", "free"), "ops": ("ops", "free")}.items():
            counts = {key: each.count for key, each in watchers.items()}
            for cell, has in {
                f"expose('come.{tier}', {tier!r})": True,
                f"repl_pair.registry.unregister('function', 'come.{tier}')": False,
            }.items():
                kernel.cell(cell)
                eager.tools()  # what one client is shown is news for the others
                for key, each in watchers.items():
                    if key[0] in wanted:
                        counts[key] += 1
                        until(partial(has_counted, each, counts[key]), f"a notice for {key}")
                    assert (f"come__{tier}" in each.tools()) == (has and key[0] in wanted), key
                assert {key: each.count for key, each in watchers.items()} == counts


@pytest.mark.parametrize("damage", ["{", None], ids=["cut", "open to others"])
def test_a_damaged_token_is_named_once_and_the_others_are_served_on(
    own_env, kernel, until, damage, tmp_path
):
    ada, bob = (make_token(own_env, name, kernels=(kernel.id,)) for name in ("ada", "bob"))
    file = tmp_path / "config" / "tokens" / "bob.json"
    with serve(own_env) as server, server.connect(ada) as opened:
        assert server.ask(bob, "tools/list").status == 200
        if damage is None:
            file.chmod(0o666)
        else:
            file.write_text(damage)
        assert server.ask(bob, "tools/list").status == 401
        assert opened.ask("list_stories")["ok"]
        until(lambda: str(file) in server.err, "the damage is named")
        for _ in range(3):
            assert server.ask(bob, "tools/list").status == 401
            assert server.ask(ada, "tools/list").status == 200
        file.unlink()
        carl = make_token(own_env, "carl")
        until(lambda: server.ask(carl, "tools/list").status == 200, "a token that came meanwhile")
        assert server.end() == 0
    assert server.err.count(str(file)) <= 1 + server.err.count("token remove bob")
    assert len([line for line in server.err.splitlines() if str(file) in line]) == 1
    assert "Traceback" not in server.err
