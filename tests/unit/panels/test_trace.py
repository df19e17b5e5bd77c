"""The trace panel without a browser: what a run did and put out, filtered and copied."""

import json
import logging
import sys
import warnings
from functools import partial
from itertools import pairwise
from typing import Annotated

import pytest
from flushing import flush

import repl_pair
from repl_pair import Sensitive, step
from repl_pair.errors import RequestError
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.trace.view import KINDS, MAX_COPIED, PAGE, TraceView


class Post:
    def send(self, to: str, times: int = 1):
        print("sending", to)
        print("warned", file=sys.stderr)
        logging.getLogger("post").warning("sent to %s", to)
        warnings.warn("slow post", UserWarning, stacklevel=1)
        for _ in range(times):
            repl_pair.effect("mail/send", to=to)


@pytest.fixture
def post():
    repl_pair.story("post", component=Post)

    @repl_pair.effect.impl("mail/send")
    def mail(to: str):
        return {"sent": True}

    repl_pair.variant("post/One", play=[step.dispatch("send", to="ann")])
    repl_pair.variant("post/Broken", play=[step.call("no_such")])
    repl_pair.variant("post/Talks", play=[step.call("send", to="ann", times=600)])


@pytest.fixture
def opened(post, open_view):
    return partial(open_view, TraceView)


def test_all_that_a_run_did_and_put_out_is_a_row_each(opened):
    repl_pair.run("post/One")
    view, _ = opened(variant="post/One")
    counts = view.on_start()["counts"]
    assert counts == {
        "phase": 6, "event": 1, "effect": 1, "warning": 1,
        "log": 1, "stdout": 1, "stderr": 1, "beside": 0,
    }  # fmt: skip
    answered = view.on_rows([kind for kind in KINDS if kind != "phase"])
    assert [(row["kind"], row["text"]) for row in answered["rows"]] == [
        ("event", "send(to='ann')"),
        ("effect", "mail/send(to='ann') → {'sent': True}"),
        ("warning", "UserWarning: slow post"),
        ("log", "WARNING post: sent to ann"),
        ("stdout", "sending ann"),
        ("stderr", "warned"),
    ]


def test_rows_are_chosen_by_kind_and_by_every_word(opened):
    repl_pair.run("post/One")
    view, _ = opened(variant="post/One")
    assert view.on_rows(KINDS, "ANN sen")["total"] == 4
    assert [row["kind"] for row in view.on_rows(["log", "event"], "ann")["rows"]] == [
        "event",
        "log",
    ]
    assert view.on_rows(KINDS, "nobody") == {"total": 0, "start": 0, "rows": []}


def test_a_row_gives_all_there_is_to_it(opened):
    repl_pair.run("post/One")
    view, _ = opened(variant="post/One")
    (effect,) = view.on_rows(["effect"])["rows"]
    assert view.on_row(effect["at"]) == {
        "kind": "effect", "place": 0, "name": "mail/send", "stubbed": False,
        "payload": {"to": "ann"}, "response": {"sent": True},
    }  # fmt: skip
    assert view.on_row(10_000) == {}


def test_phases_are_spans_one_behind_the_other_and_the_failed_one_is_reported(opened):
    repl_pair.run("post/Broken")
    view, _ = opened(variant="post/Broken")
    spans = view.on_start()["spans"]
    assert [span["phase"] for span in spans] == [
        "setup", "load", "events", "render", "play", "teardown",
    ]  # fmt: skip
    for before, after in pairwise(spans):
        assert after["begin"] == before["begin"] + before["ms"]
    assert [span["phase"] for span in spans if span["failed"]] == ["play"]
    failed = [row for row in view.on_rows(["phase"])["rows"] if row["failed"]]
    assert "no_such" in view.on_row(failed[0]["at"])["error"]["message"]


def test_many_rows_come_in_pages_and_are_copied_up_to_a_bound(opened):
    repl_pair.run("post/Talks")
    view, _ = opened(variant="post/Talks")
    first, second = (view.on_rows(["effect"], start=start) for start in (0, PAGE))
    assert (first["total"], len(first["rows"]), len(second["rows"])) == (600, PAGE, 100)
    assert second["rows"][0]["place"] == PAGE
    copied = view.on_json(["effect"], "")
    assert len(json.loads(copied["text"])) == 600 <= MAX_COPIED
    assert copied["left"] == 0


def test_another_run_is_sent_without_its_rows(opened):
    view, sent = opened(variant="post/One")
    assert view.on_start()["head"] == {
        "variant": "post/One", "running": False, "registered": True,
    }  # fmt: skip
    assert flush(PANEL_THREAD)
    sent.clear()  # the head that a late change of the registry called for
    repl_pair.run("post/One")
    assert flush(PANEL_THREAD)
    (message,) = sent
    assert message["run"]["head"]["status"] == "pass"
    assert message["run"]["counts"]["event"] == 1
    repl_pair.variant("post/One")
    assert flush(PANEL_THREAD)
    assert list(sent[-1]) == ["head"]
    assert sent[-1]["head"]["stale"]
    repl_pair.registry.unregister("variant", "post/One")
    assert flush(PANEL_THREAD)
    assert not sent[-1]["head"]["registered"]


def test_what_is_declared_secret_is_hidden(opened):
    class Vault:
        def open(self, pin: Annotated[str, Sensitive]):
            repl_pair.effect("vault/try", pin=pin)

    @repl_pair.effect.impl("vault/try")
    def attempt(pin: Annotated[str, Sensitive]):
        return "tried"

    repl_pair.story("vault", component=Vault)
    repl_pair.variant("vault/It", play=[step.dispatch("open", pin="q8-y")])
    repl_pair.run("vault/It")
    view, _ = opened(variant="vault/It")
    assert view.on_rows(["event"])["rows"][0]["text"] == "open(pin='[redacted]')"
    copied = view.on_json(KINDS)["text"]
    assert ("q8-y" in copied, copied.count("[redacted]")) == (False, 2)


def test_its_text_counts_rows_and_has_no_times(opened):
    repl_pair.run("post/One")
    text = opened(variant="post/One")[0].text()
    assert "| effect | 1 |" in text
    assert "ms" not in text
    assert opened()[0].text() == "Nothing has been run yet."


def test_the_variant_that_is_drawn_is_run_or_none(opened):
    view, _ = opened(variant="post/One")
    asked = []
    view.context.call = lambda op, args, *, done: asked.append(args["variant_id"])
    view.on_run("post/One")
    with pytest.raises(RequestError, match=r"post/Talks is not in focus any more"):
        view.on_run("post/Talks")
    assert asked == ["post/One"]
