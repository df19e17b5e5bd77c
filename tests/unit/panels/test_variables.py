"""The variables panel without a browser: what agents list and read, as it would cross."""

import json
import sys
import types
from functools import partial

import pytest
from flushing import flush
from pydantic import SecretStr

from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.base.widget import answer
from repl_pair.panels.variables.view import MAX_LISTED, PAGE, VariablesView
from repl_pair.records import replace
from repl_pair.runtime.clients.activity import LOG
from repl_pair.runtime.clients.approval import Asker
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.clients.clients import CLIENTS, Client, pause, resume
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.wire import Request, View

PASSWORD = "plover-7730-larch"


@pytest.fixture
def person(monkeypatch):
    """The person's namespace, empty at first."""
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    return vars(main)


@pytest.fixture
def opened(open_view):
    """Opens the panel, and closes it at the end."""
    views = []

    def open_panel():
        view, sent = open_view(VariablesView)
        views.append(view)
        assert flush(PANEL_THREAD)
        sent.clear()  # what late changes of an earlier test called for
        return view, sent

    yield open_panel
    for view in views:
        view.close()


@pytest.fixture
def attached():
    """Attaches clients: `attached("claude", {"read", "inspect"})`."""
    ids = []

    def attach(principal, access=None):
        ids.append(f"client {len(ids)}")
        CLIENTS.add(Client(id=ids[-1], principal=principal, pid=1, place="elsewhere"))
        if access is not None:
            CLIENTS.note_access(ids[-1], frozenset(access))
        return ids[-1]

    yield attach
    for client_id in ids:
        CLIENTS.remove(client_id)


def test_rows_are_the_lines_of_the_op_and_state_why_one_is_protected(person, opened):
    class Basket:
        pass

    person.update(
        orders=(orders := [1, 2]), api_token=PASSWORD, pin=SecretStr("q8-y"), Basket=Basket, _own=1
    )
    page = opened()[0].on_rows()
    size = {"size": 2, "bytes": sys.getsizeof(orders)}
    assert page == {
        "list": "",
        "total": 3,
        "start": 0,
        "rows": [
            {"slots": {"id": "api_token", "type": "str"}, "why": "its name is that of a secret"},
            {"slots": {"id": "orders", "type": "list", **size}, "why": ""},
            {"slots": {"id": "pin", "type": "SecretStr"}, "why": "its type is that of a secret"},
        ],
        "beside": {"classes": ["Basket"]},
    }


def test_a_value_is_what_an_agent_is_answered(person, opened):
    person.update(
        login={"user": "ann", "password": PASSWORD},
        note=f"the word is {PASSWORD}",
        api_token=PASSWORD,
        pin=SecretStr("q8-y"),
        lines=[{"n": n} for n in range(120)],
    )
    view = opened()[0]
    read = view.on_value("login")["slots"]
    assert read["value"] == {"user": "ann", "password": "[redacted]"}
    assert (read["type"], read["size"]) == ("dict", 2)
    assert view.on_value("note")["slots"]["value"] == "the word is [redacted]"
    whys = {path: view.on_value(path)["why"] for path in ("api_token", "pin", "login.password")}
    assert whys == {
        "api_token": "its name is that of a secret",
        "pin": "its type is that of a secret",
        "login.password": "its name is that of a secret",
    }
    person["copied"] = PASSWORD
    assert view.on_value("copied")["why"].startswith("it is declared a secret, or holds one")
    long = view.on_value("lines")
    marker = long["slots"]["value"][-1]["$elided"]
    assert (marker["type"], marker["size"], marker["handle"]) == ("list", 120, "h-…")
    (path,) = long["paths"]
    assert view.on_value(path)["slots"]["value"][0] == {"n": len(long["slots"]["value"]) - 1}


def test_a_path_that_an_agent_is_refused_is_refused_alike(person, opened):
    person.update(orders={"tea": 1}, _own=2)
    view = opened()[0]
    assert "Nearest: orders" in view.on_value("order")["refusal"]
    assert "There is no 'te' in orders. Nearest: tea." in view.on_value("orders.te")["refusal"]
    assert view.on_value("_own")["refusal"]
    assert "A valid form" in view.on_value("orders..tea")["refusal"]
    assert view.on_value("orders..tea")["slots"] == {}


def test_any_page_is_read_by_a_cursor_that_is_moved_there(person, opened, monkeypatch):
    person.update({f"n{n:04}": n for n in range(10 * PAGE)})
    view = opened()[0]
    first = view.on_rows()
    calls = []
    module = sys.modules[VariablesView.__module__]
    real = module.answer_as_agent
    monkeypatch.setattr(module, "answer_as_agent", lambda *a: calls.append(a) or real(*a))
    page = view.on_rows(start=7 * PAGE)
    assert [row["slots"]["id"] for row in page["rows"]] == [f"n{700 + n:04}" for n in range(PAGE)]
    assert (len(calls), page["list"], page["total"]) == (1, first["list"], 10 * PAGE)
    person["a_new_one"] = 1
    page = view.on_rows(start=7 * PAGE)
    assert page["rows"][0]["slots"]["id"] == "n0699"
    assert (page["total"], page["list"] == first["list"]) == (10 * PAGE + 1, False)
    assert view.on_rows(start=99 * PAGE)["rows"] == []


def test_names_that_change_faster_than_they_are_read_refuse_nothing(person, opened, monkeypatch):
    person.update({f"n{n:04}": n for n in range(3 * PAGE)})
    view = opened()[0]
    module = sys.modules[VariablesView.__module__]
    real = module.answer_as_agent

    def add_and_answer(*args):
        person[f"z{len(person)}"] = 1
        return real(*args)

    monkeypatch.setattr(module, "answer_as_agent", add_and_answer)
    assert len(view.on_rows()["rows"]) == PAGE
    page = view.on_rows(start=PAGE)
    assert (page["rows"], page["total"] > 3 * PAGE) == ([], True)


def test_names_are_filtered_by_a_part_of_them(person, opened):
    person.update({f"n{n:04}": n for n in range(3 * PAGE)}, Orders=1, order_lines=2)
    view = opened()[0]
    found = view.on_rows(match="ORDER")
    assert [row["slots"]["id"] for row in found["rows"]] == ["Orders", "order_lines"]
    assert view.on_rows(start=PAGE, match="n0")["rows"][0]["slots"]["id"] == f"n{PAGE:04}"
    assert view.on_rows(start=PAGE, match="order")["rows"] == []
    assert view.on_rows(match="nothing")["total"] == 0


def test_what_is_known_of_the_gate_is_shown_and_nothing_more(attached, opened):
    view, sent = opened()
    assert view.on_gate() == {"agents": [], "paused": False, "refused": False}
    attached("claude", {"read", "run", "inspect"})
    attached("claude")
    asker = Asker(principal="cursor", client=attached("cursor", {"read", "run"}))
    assert [(a["principal"], a["inspect"]) for a in view.on_gate()["agents"]] == [
        ("claude", "open"),
        ("claude", "unknown"),
        ("cursor", "closed"),
    ]
    asked = QUEUE.ask("get_value", {"path": "x"}, asker=asker, access=("inspect",))
    QUEUE.answer(asked.handle, "session")
    assert view.on_gate()["agents"][-1]["inspect"] == "granted"
    assert flush(PANEL_THREAD)
    assert sent[-1] == {"gate": view.on_gate()}
    QUEUE.withdraw_grant(asked.handle)
    pause()
    assert flush(PANEL_THREAD)
    assert (sent[-1]["gate"]["paused"], sent[-1]["gate"]["agents"][-1]["inspect"]) == (
        True,
        "closed",
    )
    resume()


def test_the_end_of_each_cell_is_sent_without_any_row_until_it_is_closed(person, opened):
    person["orders"] = [1]
    view, sent = opened()
    end = partial(CELLS._end, None, None)
    end()
    end()
    assert flush(PANEL_THREAD)
    assert sent == [{"ended": 1}, {"ended": 2}]
    view.close()
    end()
    assert flush(PANEL_THREAD)
    assert len(sent) == 2


def test_rows_may_have_changed_when_code_of_an_agent_ended(opened, monkeypatch):
    evaluating = replace(TABLE.get("list_variables"), name="eval_code", access="eval")
    monkeypatch.setitem(TABLE._ops, "eval_code", evaluating)
    _, sent = opened()
    answers = []
    for op, access in (("list_variables", "read"), ("eval_code", "eval")):
        view = View(principal="claude", access=frozenset({access}))
        answers.append(LOG.follow(Request(op=op, call=op, view=view), lambda _reply: None))
    assert flush(PANEL_THREAD)
    assert sent == []
    for answer_call in answers:
        answer_call({"ok": True, "result": None})
    assert flush(PANEL_THREAD)
    assert sent == [{"ended": 1}]


def test_what_the_panel_asks_is_no_call_of_an_agent(person, opened):
    person["orders"] = [1]
    before = LOG.latest()
    view = opened()[0]
    view.on_rows(), view.on_value("orders"), view.text()
    assert LOG.latest() == before


def test_every_answer_is_json_whatever_the_names_and_values(person, opened):
    class Hostile:
        __slots__ = ()

        def __getattribute__(self, name):
            raise AssertionError(f"{name} was asked for")

        __repr__ = __str__ = __len__ = __eq__ = __hash__ = None

    person.update({"a b": 1, "x" * 5_000: 2, "": 3, "é": 4}, odd=Hostile())
    view = opened()[0]
    page = answer(view, "rows", {})["answer"]
    assert page["total"] == 5
    for name in ("a b", "x" * 5_000, "é", "odd", "", "]["):
        reading = answer(view, "value", {"path": name})["answer"]
        assert reading["slots"] or reading["refusal"], name
    assert "$elided" in json.dumps(page["rows"])
    person.update({f"{'long' * 200}{n}": n for n in range(PAGE)})
    page = answer(view, "rows", {})["answer"]
    assert len(page["rows"]) == PAGE
    assert len(json.dumps(page)) < 40_000
    assert str(view.text()).count("| … | int |") == MAX_LISTED - 2


def test_its_text_has_names_types_and_sizes_and_no_value(person, opened):
    view = opened()[0]
    assert view.text() == "No variables yet."
    person.update(orders=[41, 42], api_token=PASSWORD, word="forty")
    assert view.text().splitlines()[2:] == [
        "| `api_token` | str | [redacted] |",
        "| `orders` | list | 2 |",
        "| `word` | str | 5 |",
    ]
    person.update({f"n{n:03}": n for n in range(MAX_LISTED)})
    assert view.text().endswith("… and 3 more variables.")
    assert view.start() == {}
