"""The play panel without a browser: lines of a run, the one that failed first, and a walk."""

from functools import partial
from typing import Annotated

import pytest
from flushing import flush

import repl_pair
from repl_pair import Sensitive, check, step
from repl_pair.errors import RequestError
from repl_pair.panels.base.context import Focus
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.base.source_links import line_of_step
from repl_pair.panels.play.view import PlayView
from repl_pair.runtime.registry.model import Origin
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last_results import RESULTS
from repl_pair.wire import REDACTED


class Cart:
    def __init__(self):
        self.items = []
        self.total = 0.0

    def add(self, name: str, price: float = 1.0):
        self.items.append(name)
        self.total += price

    def drop(self):
        raise LookupError("nothing to drop")


@pytest.fixture
def cart():
    repl_pair.story("cart", component=Cart)
    fill = [
        step.dispatch("add", name="pear", price=1.5),
        check.path_equals("result.total", 1.5),
        step.dispatch("add", name="fig"),
        check.path_equals("result.items", ["pear", "plum"]),
        check.compare("result.total", "<", 2),
    ]
    later = {"steps": [step.dispatch("drop"), check.length("result.items", 0)], "auto_run": False}
    repl_pair.variant("cart/Filled", plays={"fill": fill, "later": later})
    repl_pair.variant("cart/Bare")


@pytest.fixture
def opened(cart, open_view):
    """Open the panel at a variant; return the view and what it sends."""
    return partial(open_view, PlayView)


def statuses(view):
    return [(row["name"], row["status"]) for row in view.on_lines()["rows"]]


def test_every_line_of_the_run_stands_there_and_the_first_failure_is_opened(opened):
    repl_pair.run("cart/Filled")
    view, _ = opened(variant="cart/Filled")
    answered = view.on_lines()
    assert statuses(view) == [
        ("dispatch", "done"), ("path_equals", "pass"), ("dispatch", "done"),
        ("path_equals", "fail"), ("compare", "fail"),
    ]  # fmt: skip
    assert answered["moment"] == view.context.focus.moment == 3
    head = answered["head"]
    assert (head["status"], head["passed"], head["total"], head["stale"]) == ("fail", 1, 3, False)
    assert [(play["name"], play["auto_run"], play["ran"]) for play in head["plays"]] == [
        ("fill", True, True), ("later", False, False),
    ]  # fmt: skip


def test_a_line_reports_how_it_differs_and_the_state_that_it_left(opened):
    repl_pair.run("cart/Filled")
    view, _ = opened(variant="cart/Filled")
    failed = view.on_moment(3)["outcome"]
    assert failed["difference"] == {
        "kind": "values",
        "changes": [{"path": "[1]", "before": "'plum'", "after": "'fig'"}],
        "more": 0,
    }
    answered = view.on_moment(2)
    assert answered["changes"] == [
        {"path": "items[1]", "after": "'fig'"},
        {"path": "total", "before": "1.5", "after": "2.5", "delta": 1.0},
    ]
    changed = {row["key"]: row["value"] for row in answered["state"] if row["change"]}
    assert changed == {"1": "'fig'", "total": "2.5"}
    view.handle_changes({RESULTS.name: frozenset({"cart/Filled"})})
    assert view.context.focus.moment == 2, "the run that is shown was announced once more"
    first = view.on_moment(-1)
    assert [row["value"] for row in first["state"]] == ["2 items", "[]", "0.0"]


def test_a_walk_goes_to_failures_and_to_lines_of_a_name(opened):
    repl_pair.run("cart/Filled")
    view, _ = opened(variant="cart/Filled")
    assert view.on_resume(-1, [], failures=True) == 3
    assert view.on_resume(3, [], failures=True) == 4
    assert view.on_resume(-1, ["compare", "no_such_line"], failures=False) == 4
    assert view.on_resume(0, ["dispatch"], failures=False) == 2


def test_lines_behind_one_that_raised_stand_as_not_done(opened):
    repl_pair.run("cart/Filled", plays=["later"])
    view, _ = opened(variant="cart/Filled")
    assert statuses(view) == [("dispatch", "error"), ("length", "not_done")]
    assert view.on_lines()["moment"] == 0
    assert "nothing to drop" in view.on_moment(0)["error"]


def test_an_assertion_that_could_not_be_asked_stands_as_not_done(opened):
    @repl_pair.assertion("needs_net")
    def needs_net(settled):
        raise RequestError("cannot_run", "there is no net")

    repl_pair.variant("cart/Asks", play=[["needs_net"]])
    assert repl_pair.run("cart/Asks").status == "cannot_run"
    view, _ = opened(variant="cart/Asks")
    assert statuses(view) == [("needs_net", "not_done")]


def test_a_what_if_run_is_named_as_one(opened):
    repl_pair.run("cart/Filled", modes=[])
    view, _ = opened(variant="cart/Filled")
    assert (view.on_lines()["head"]["what_if"], "of its own" in view.text()) == (False, False)
    repl_pair.run("cart/Filled", plays=["later"])
    assert (view.on_lines()["head"]["what_if"], "of its own" in view.text()) == (True, True)


def test_global_args_make_a_shown_run_stale(opened):
    repl_pair.run("cart/Bare")
    view, sent = opened(variant="cart/Bare")
    assert not view.on_lines()["head"]["stale"]
    repl_pair.global_args(currency="EUR")
    assert flush(PANEL_THREAD)
    repl_pair.global_args()
    assert sent[-1]["head"]["stale"]


def test_another_run_is_sent_and_a_stale_one_is_marked(opened):
    repl_pair.run("cart/Filled")
    view, sent = opened(variant="cart/Filled")
    view.on_lines()
    repl_pair.run("cart/Filled")
    assert flush(PANEL_THREAD)
    assert [list(message) for message in sent] == [["run"]]
    assert sent[0]["run"]["moment"] == 3
    repl_pair.variant("cart/Filled", play=[])
    assert flush(PANEL_THREAD)
    assert list(sent[-1]) == ["head"]
    assert sent[-1]["head"]["stale"]
    assert len(view.on_lines()["rows"]) == 5, "the lines are those of the run"
    repl_pair.run("cart/Bare")
    assert flush(PANEL_THREAD)
    assert len(sent) == 2, "the run of another variant is no news here"


def test_another_variant_is_followed_and_another_moment_sent(opened):
    repl_pair.run("cart/Filled")
    view, sent = opened(variant="cart/Bare")
    view.on_lines()
    view.context.set_focus(Focus(variant="cart/Filled"))
    assert flush(PANEL_THREAD)
    assert sent[-1]["run"]["moment"] == 3
    view.on_moment(1)
    assert flush(PANEL_THREAD)
    assert list(sent[-1]) == ["run"], "who moved knows it already"
    view.context.set_focus(Focus(variant="cart/Filled", moment=0))
    assert flush(PANEL_THREAD)
    assert sent[-1] == {"moment": 0}


def test_what_was_not_run_or_is_not_there_is_reported(opened):
    view, _ = opened()
    assert view.on_lines()["head"]["variant"] is None
    view, _ = opened(variant="cart/Bare")
    answered = view.on_lines()
    assert (answered["rows"], answered["head"]["registered"], "status" in answered["head"]) == (
        [],
        True,
        False,
    )
    assert view.on_moment(0) is None
    view, _ = opened(variant="cart/Gone")
    assert not view.on_lines()["head"]["registered"]


def test_one_named_play_is_run_as_the_variant_is_shown(opened):
    view, _ = opened(variant="cart/Filled")
    asked = []
    view.context.call = lambda op, args, *, done: asked.append((op, args))
    view.on_run("cart/Filled", "later")
    view.on_run("cart/Filled")
    assert [args.get("plays") for _, args in asked] == [["later"], None]
    with pytest.raises(RequestError, match=r"cart/Bare is not in focus any more"):
        view.on_run("cart/Bare", "later")
    assert len(asked) == 2


def test_what_is_declared_secret_is_hidden_wherever_it_stands(opened):
    class Door:
        pin: Annotated[str, Sensitive]

        def __init__(self, pin: Annotated[str, Sensitive]):
            self.pin = pin
            self.tries = 0

        def turn(self, pin: Annotated[str, Sensitive]):
            self.pin, self.tries = pin, self.tries + 1

    repl_pair.story("door", component=Door)
    play = [step.dispatch("turn", pin="q8-y"), check.path_equals("state.pin", "r7-w")]
    repl_pair.variant("door/It", args={"pin": "s5-z"}, play=play)
    repl_pair.run("door/It")
    view, _ = opened(variant="door/It")
    answered = [
        view.on_lines(),
        view.on_moment(-1),
        view.on_moment(0),
        view.on_moment(1),
        view.text(),
    ]
    assert not [pin for pin in ("q8-y", "r7-w", "s5-z") if pin in str(answered)]
    assert view.on_moment(1)["outcome"]["expected"] == REDACTED
    assert {"path": "tries", "before": "0", "after": "1", "delta": 1} in view.on_moment(0)[
        "changes"
    ]


def test_a_missed_snapshot_leads_to_the_snapshots(opened):
    repl_pair.variant("cart/Stored", play=[check.matches_snapshot()])
    repl_pair.run("cart/Stored")
    view, _ = opened(variant="cart/Stored")
    assert view.on_moment(0)["snapshot"]
    received = []
    view.context.follow(received.append)
    view.on_snapshot()
    assert flush(PANEL_THREAD)
    assert {"panels/opened": frozenset({"snapshot"})} in received


def test_its_text_has_neither_times_nor_addresses(opened):
    repl_pair.variant("cart/Whole", play=[check.path_equals("state", {"total": 1})])
    repl_pair.run("cart/Whole")
    first = opened(variant="cart/Whole")[0].text()
    assert first.startswith("`cart/Whole` **fail**, 1 assertions")
    assert "0x…" in first
    repl_pair.run("cart/Whole")
    assert opened(variant="cart/Whole")[0].text() == first


def test_a_line_leads_to_where_it_is_written(tmp_path, monkeypatch, opened):
    source = (
        "import repl_pair\n"
        "from repl_pair import check\n"
        "repl_pair.story('placed', component=lambda: {})\n"
        "repl_pair.variant(\n"
        "    'placed/It',\n"
        "    play=[\n"
        "        check.result_equals({}),\n"
        "        check.result_equals(1),\n"
        "    ],\n"
        ")\n"
    )
    (tmp_path / "placed_stories.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    __import__("placed_stories")
    repl_pair.run("placed/It")
    view, _ = opened(variant="placed/It")
    link = view.on_moment(1)["link"]
    assert link["label"] == "placed_stories:8"
    assert link["text"] == f"{tmp_path / 'placed_stories.py'}:8"


def test_a_play_that_is_made_elsewhere_leads_to_its_registration():
    origin = Origin(key="module:made", label="made", line=1)
    assert line_of_step(origin, "", 0) is None


def test_a_function_of_the_persons_own_leads_to_its_registration(opened):
    @repl_pair.assertion("is_cheap")
    def is_cheap(settled, most):
        return settled.result.total < most

    repl_pair.variant("cart/Cheap", play=[["is_cheap", 0]])
    repl_pair.run("cart/Cheap")
    view, _ = opened(variant="cart/Cheap")
    answered = view.on_moment(0)
    assert answered["function"]["line"] == REGISTRY.get("assertion", "is_cheap").origin.line
    repl_pair.run("cart/Filled")
    assert opened(variant="cart/Filled")[0].on_moment(1)["function"] is None
