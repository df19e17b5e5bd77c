"""The agents' panel without a browser: its text, and which answers of the person it takes."""

import asyncio

import pytest
from flushing import flush

import repl_pair
from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.errors import RequestError
from repl_pair.panels.agent.view import AgentView
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.runtime.clients.activity import LOG
from repl_pair.runtime.clients.approval import Asker
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.clients.clients import CLIENTS, Client, pause, resume
from repl_pair.runtime.kernel import attach
from repl_pair.wire import Request, View

EVAL = View(principal="claude", access=frozenset({"read", "run", "eval"}))


def send(*codes, **args):
    async def talk():
        link = DirectLink()
        try:
            for code in codes:
                await link.request("eval_code", {"code": code, **args}, view=EVAL)
        finally:
            await link.close()

    asyncio.run(talk())


def test_the_code_that_agents_sent_stands_under_what_they_called(monkeypatch, open_view):
    monkeypatch.setenv("SHOP_TOKEN", "k-9384-fresh-secret")
    odd = "```\u202e k-9384-fresh-secret"
    send(f"text = '''{odd}'''\nlen(text)", "1 / 0")
    assert (
        open_view(AgentView)[0].text()
        == """\
| agent | called | times |
| --- | --- | --- |
| claude | `eval_code` | 2 |

claude: error

```python
1 / 0
```

claude: ok

````python
text = '''```<U+202E> [redacted]'''
len(text)
````"""
    )


def test_invisible_characters_of_what_agents_called_are_spelled_out(open_view):
    view, sent = open_view(AgentView)
    spoof = Request(
        op="see\u202etxt", args={"id": "a\u202eb"}, call="c", view=View(principal="x\u202e")
    )
    LOG.note(spoof, "denied", "why\nnot")
    assert flush(PANEL_THREAD)
    (call,) = view.on_state()["calls"]
    assert [call] == sent[-1]["calls"]
    assert [call[slot] for slot in ("principal", "op", "args", "reason")] == [
        "x<U+202E>", "see<U+202E>txt", 'id="a<U+202E>b"', "why<U+000A>not",
    ]  # fmt: skip
    assert "\u202e" not in view.text()


def ask(op, **args):
    return QUEUE.ask(op, args, asker=Asker(principal="claude"), access=("write",)).handle


def test_calls_that_wait_stand_before_what_was_called_with_how_to_approve_them(
    monkeypatch, open_view
):
    monkeypatch.setattr(CLIENTS, "present", lambda: [Client(id="c1", principal="claude", pid=1)])
    view, _ = open_view(AgentView)
    handle = ask("eval_code", code="1 + 1", scope="user")
    pause()
    try:
        assert (
            view.text()
            == f"""\
1 attached: claude

Agents are paused.

| waits for you | agent | handle | answer in a terminal |
| --- | --- | --- | --- |
| run code in your namespace | claude | `{handle}` | `repl-pair approve {handle}` |

No agent called anything."""
        )
    finally:
        resume()
    QUEUE.answer(handle, "deny")
    assert "repl-pair approve" not in view.text()


def test_an_approval_is_refused_where_the_call_would_do_something_else_than_was_shown(open_view):
    @repl_pair.story("shop.sum")
    def add(a: int = 1) -> int:
        return a + 1

    view, sent = open_view(AgentView)
    handle = ask("register_variant", variant_id="shop.sum/Two", body={"args": {"a": 2}})
    (shown,) = view.on_state()["pending"]
    repl_pair.variant("shop.sum/Two", args={"a": 1})
    for decision in ("once", "session"):
        with pytest.raises(RequestError, match="changed since it was shown"):
            view.on_answer(handle, decision, shown["mark"])
    assert QUEUE.find(handle).state == "pending"
    (now,) = sent[-1]["overview"]["pending"]
    assert '-    "a": 1' in now["text"]
    assert view.on_answer(handle, "once", now["mark"]) == "approved"
    assert view.on_outcome(handle) == "approved"


def test_a_call_is_denied_whatever_was_shown_of_it(open_view):
    view, _ = open_view(AgentView)
    handle = ask("eval_code", code="1 + 1")
    assert view.on_answer(handle, "deny", "") == "denied"


def test_a_detach_is_done_only_where_the_person_agreed_to_just_what_ends(monkeypatch, open_view):
    detached = []
    monkeypatch.setattr(attach, "detach", lambda: detached.append(True))
    view, _ = open_view(AgentView)
    first = ask("eval_code", code="1 + 1")
    shown = view.on_detach()
    assert shown == {"detached": False, "loses": "calls that wait for you are withdrawn: 1"}
    second = ask("eval_code", code="2 + 2")
    now = view.on_detach(agreed=shown["loses"])
    assert now == {"detached": False, "loses": "calls that wait for you are withdrawn: 2"}
    assert not detached
    assert view.on_detach(agreed=now["loses"])["detached"]
    for handle in (first, second):
        QUEUE.answer(handle, "deny")
    assert view.on_detach(agreed=now["loses"]) == {"detached": True, "loses": ""}
    assert len(detached) == 2
