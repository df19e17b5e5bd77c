"""What the person is shown as an agent's answer is what an agent gets, and leaves no trace."""

import sys
import threading
from uuid import uuid4

import pytest
from bounds import BOUND_S

from repl_pair.runtime.clients.activity import LOG
from repl_pair.runtime.clients.clients import CLIENTS, Client
from repl_pair.runtime.kernel.agents_answer import answer_as_agent
from repl_pair.runtime.kernel.host import Host
from repl_pair.runtime.kernel.lanes import LocalLanes
from repl_pair.runtime.secrets.handles import HANDLES
from repl_pair.wire import Request, View

INSPECTOR = View(principal="claude", access=frozenset({"read", "run", "inspect"}))
VALUES = {
    "orders": [{"sku": f"sku-{n}", "n": n} for n in range(60)],
    "letter": "It goes on. " * 4_000,
    "login": {"user": "ann", "password": "kestrel-4417-orchid"},
    "note": "the word is kestrel-4417-orchid, keep it",
    "api_token": "tok-5d0e7a913bc2",
}


@pytest.fixture
def person(monkeypatch):
    """The person's variables."""
    for name, value in VALUES.items():
        monkeypatch.setattr(sys.modules["__main__"], name, value, raising=False)


@pytest.fixture
def ask_host():
    """Calls an op as an agent does; gives the reply."""
    host = Host(lanes=LocalLanes(), publish=lambda _event: None)

    def ask(op, view=INSPECTOR, client=None, **args):
        got, done = [], threading.Event()
        request = Request(op=op, args=args, call=uuid4().hex, view=view, client=client)
        host.submit(request.to_wire(), lambda r: (got.append(r), done.set()), lambda _: None)
        assert done.wait(BOUND_S)
        return got[0]

    yield ask
    host.close()


def without_handles(value):
    """Put in the place of each handle what stands for it."""
    if isinstance(value, list):
        return [without_handles(item) for item in value]
    if isinstance(value, dict):
        return {k: "h-…" if k == "handle" else without_handles(v) for k, v in value.items()}
    return value


ASKED = [
    ("list_variables", {"limit": 200}),
    ("list_variables", {"values": True, "limit": 200}),
    *(("get_value", {"path": name}) for name in VALUES),
    ("get_value", {"path": "orders[3].sku"}),
    ("get_value", {"path": "ordres"}),
    ("get_value", {"path": "orders..sku"}),
    ("get_value", {"path": 3}),
]


@pytest.mark.parametrize(("op", "args"), ASKED, ids=str)
def test_the_reply_is_that_of_an_agent(person, ask_host, op, args):
    agents = without_handles(ask_host(op, **args))
    shown = answer_as_agent(op, args, INSPECTOR.access)
    assert "kestrel" not in str(shown)
    assert shown | {"seq": 0} == agents | {"seq": 0}


def test_without_inspect_a_value_is_not_shown(person):
    reply = answer_as_agent("list_variables", {"values": True}, frozenset({"read"}))
    assert reply["error"]["code"] == "bad_arguments"


def test_nothing_is_recorded_as_called_and_no_handle_is_used_up(person):
    before = LOG.latest(), len(HANDLES._kept)
    reply = answer_as_agent("get_value", {"path": "letter"}, INSPECTOR.access)
    assert reply["result"]["value"]["$elided"]["handle"] == "h-…"
    assert (LOG.latest(), len(HANDLES._kept)) == before


def test_what_an_agent_has_open_is_known_from_its_latest_call(ask_host):
    CLIENTS.add(Client(id="c1", principal="claude", pid=1, place="elsewhere"))
    try:
        assert CLIENTS.present()[0].access is None
        ask_host("list_variables", client="c1")
        assert CLIENTS.present()[0].access == INSPECTOR.access
        narrow = View(principal="claude", access=frozenset({"read", "run"}))
        assert not ask_host("get_value", view=narrow, client="c1", path="x")["ok"]
        assert CLIENTS.present()[0].access == narrow.access
        ask_host("list_variables", view=View(), client="c1")  # a probe of the bridge's own
        assert CLIENTS.present()[0].access == narrow.access
    finally:
        CLIENTS.remove("c1")
