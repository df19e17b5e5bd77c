"""The snapshot panel without a browser: what waits, how it differs, and the person's decision."""

import base64
import json
from typing import Annotated

import pandas as pd
import pytest
from flushing import flush

import repl_pair
from repl_pair import Sensitive, check, step
from repl_pair.errors import RequestError
from repl_pair.panels.base.context import Focus, PanelContext
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.snapshot.view import SnapshotView
from repl_pair.records import replace
from repl_pair.runtime.snapshots.records import SnapshotKey, Stored
from repl_pair.runtime.snapshots.review import MAX_WAITING, waiting_snapshots
from repl_pair.runtime.snapshots.store import SNAPSHOTS

PLAY = [check.matches_snapshot()]
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setattr(SNAPSHOTS, "folder", tmp_path)
    return SNAPSHOTS


@pytest.fixture
def quote(store):
    """Register two variants with snapshots; gives what the component reads."""
    given = {"price": 2}

    def quote(n: int = 1, note: str = ""):
        return {"total": given["price"] * n, "n": n}

    repl_pair.story("quote", component=quote)
    repl_pair.variant("quote/One", play=PLAY)
    repl_pair.variant("quote/Two", args={"n": 2}, play=PLAY)
    run_both()
    return given


@pytest.fixture
def opened(quote, open_view):
    return open_view(SnapshotView, variant="quote/Two")


def run_both():
    return [repl_pair.run(f"quote/{name}").status for name in ("One", "Two")]


def rows(view):
    return {row["id"]: (row["why"], row["decided"]) for row in view.on_list()["rows"]}


def test_all_that_waits_is_listed_with_why(opened, quote):
    view, _ = opened
    assert rows(view) == {
        "quote/One": ("nothing is stored yet", ""),
        "quote/Two": ("nothing is stored yet", ""),
    }
    assert (view.on_list()["waiting"], view.on_list()["id"]) == (2, "quote/Two")
    repl_pair.accept_snapshot("quote/One")
    repl_pair.accept_snapshot("quote/Two")
    quote["price"] = 3
    repl_pair.variant("quote/Two", args={"n": 4}, play=PLAY)
    run_both()
    assert rows(view) == {
        "quote/One": ("the output changed", ""),
        "quote/Two": ("the variant changed", ""),
    }
    assert view.text() == (
        "| variant | why |\n| --- | --- |\n"
        "| `quote/One` | the output changed |\n| `quote/Two` | the variant changed |"
    )


def test_accepting_one_stores_it_and_is_undone_to_what_was_there(opened, quote):
    view, _ = opened
    view.on_accept(["quote/One"])
    assert rows(view) == {
        "quote/One": ("nothing is stored yet", "accepted"),
        "quote/Two": ("nothing is stored yet", ""),
    }
    assert run_both() == ["pass", "cannot_run"]
    view.on_undo(["quote/One"])
    assert rows(view) == {
        "quote/One": ("nothing is stored yet", ""),
        "quote/Two": ("nothing is stored yet", ""),
    }
    assert run_both() == ["cannot_run", "cannot_run"]


def test_what_is_accepted_is_what_was_shown(opened, quote):
    view, _ = opened
    view.on_compare("quote/One")
    quote["price"] = 7
    run_both()
    for decide in (view.on_accept, view.on_reject):
        with pytest.raises(RequestError, match="another output since it was shown"):
            decide(["quote/Two", "quote/One"])
    assert rows(view) == {
        "quote/One": ("nothing is stored yet", ""),
        "quote/Two": ("nothing is stored yet", ""),
    }
    assert '"total": 7' in view.on_compare("quote/One")["actual"]
    view.on_accept(["quote/One"])
    assert rows(view)["quote/One"] == ("nothing is stored yet", "accepted")


def test_a_decision_on_another_output_than_the_one_that_is_drawn_is_refused(opened, quote):
    view, _ = opened
    drawn = view.on_compare("quote/One")["digest"]
    quote["price"] = 7
    run_both()
    now = view.on_compare("quote/One")["digest"]  # its answer is on the way to the page
    for decide in (view.on_accept, view.on_reject):
        with pytest.raises(RequestError, match="another output since it was shown"):
            decide(["quote/One"], drawn)
    view.on_accept(["quote/One"], now)
    assert rows(view)["quote/One"] == ("nothing is stored yet", "accepted")


def test_undo_leaves_what_was_stored_since(opened):
    view, _ = opened
    view.on_accept(["quote/One", "quote/Two"])
    key = SnapshotKey(variant_id="quote/One")
    # As another process does: what this one runs again waits, and its decision is forgotten.
    SNAPSHOTS.write(key, replace(SNAPSHOTS.find(key), text="another"))
    for ids in (["quote/Two", "quote/One"], ["quote/One"]):
        with pytest.raises(RequestError, match="another output was stored since"):
            view.on_undo(ids)
        assert {decided for _, decided in rows(view).values()} == {"accepted"}
    assert SNAPSHOTS.find(key).text == "another"
    view.on_undo(["quote/Two"])
    view.on_leave()
    for act in (lambda: view.on_undo(["quote/One"]), lambda: view.on_run("quote/One")):
        with pytest.raises(RequestError, match="can't be undone any more"):
            act()


def test_a_table_that_shows_no_difference_is_not_offered(store, open_view):
    given = {"last": 1}
    repl_pair.story("wide", component=lambda: [{f"c{at:02}": at for at in range(60)} | given])
    repl_pair.variant("wide/A", play=PLAY)
    repl_pair.run("wide/A")
    repl_pair.accept_snapshot("wide/A")
    given["last"] = 2
    repl_pair.run("wide/A")
    view, _ = open_view(SnapshotView, variant="wide/A")
    found = view.on_compare("wide/A")
    assert (found["text"]["kind"], found["table"]) == ("text", None)


def test_undo_brings_an_older_baseline_back(opened, quote):
    view, _ = opened
    view.on_accept(["quote/One", "quote/Two"])
    view.on_leave()
    quote["price"] = 5
    run_both()
    view.on_accept(["quote/One"])
    view.on_undo(["quote/One"])
    quote["price"] = 2
    assert run_both() == ["pass", "pass"]


def test_rejecting_keeps_the_baseline_and_drops_what_waits(opened, quote):
    view, _ = opened
    view.on_accept(["quote/One", "quote/Two"])
    view.on_leave()
    quote["price"] = 5
    run_both()
    view.on_reject(["quote/One", "quote/Two"])
    assert rows(view) == {
        "quote/One": ("the output changed", "rejected"),
        "quote/Two": ("the output changed", "rejected"),
    }
    assert waiting_snapshots() == {}
    view.on_undo(["quote/Two"])
    assert list(waiting_snapshots()) == ["quote/Two"]
    view.on_leave()
    assert rows(view) == {"quote/Two": ("the output changed", "")}, (
        "what was left can't be taken back"
    )
    quote["price"] = 2
    assert run_both() == ["pass", "pass"]


def test_what_was_decided_can_still_be_compared(opened, quote):
    view, _ = opened
    view.on_accept(["quote/One"])
    view.on_leave()
    quote["price"] = 3
    run_both()
    before = view.on_compare("quote/One")
    view.on_accept(["quote/One"])
    assert view.on_compare("quote/One") == before


def test_what_does_not_wait_any_more_is_refused(opened):
    view, _ = opened
    with pytest.raises(RequestError, match="quote/Gone does not wait any more"):
        view.on_accept(["quote/Gone"])


def test_changes_are_sent_whoever_makes_them(opened):
    view, sent = opened
    repl_pair.accept_snapshot("quote/One")
    assert flush(PANEL_THREAD)
    assert sent[-1]["list"]["waiting"] == 1
    view.context.set_focus(Focus(variant="quote/One"))
    assert flush(PANEL_THREAD)
    assert sent[-1] == {"focus": None}


def test_baseline_and_actual_are_compared(opened, quote):
    view, _ = opened
    assert view.on_compare("quote/One")["baseline"] is None
    view.on_accept(["quote/One"])
    view.on_leave()
    quote["price"] = 3
    run_both()
    compared = view.on_compare("quote/One")
    assert (compared["baseline"], compared["actual"]) == (
        '{\n  "n": 1,\n  "total": 2,\n}\n', '{\n  "n": 1,\n  "total": 3,\n}\n',
    )  # fmt: skip
    (changed,) = [row for row in compared["text"]["rows"] if not row["same"]]
    assert changed["left"]["parts"] == [('  "total": ', False), ("2", True), (",", False)]


def changed_slots(identity):
    return {slot["slot"]: slot["changes"] for slot in identity["slots"] if slot["changed"]}


def test_the_identity_reports_slot_by_slot_what_changed(opened, quote):
    view, _ = opened
    view.on_accept(["quote/Two"])
    view.on_leave()
    play = [step.wait(1), *PLAY]
    repl_pair.tag("slow")
    repl_pair.variant("quote/Two", args={"n": 3, "note": "x"}, play=play, tags=["slow"])
    run_both()
    identity = view.on_compare("quote/Two")["identity"]
    assert changed_slots(identity) == {
        "args": [
            {"path": "n", "before": "2", "after": "3", "delta": 1},
            {"path": "note", "after": "'x'"},
        ],
        "plays": [
            {"path": "play[0]", "before": "'matches_snapshot'", "after": "'wait'"},
            {"path": "play[1]", "after": "'matches_snapshot'"},
        ],
        "tags": [{"path": "[0]", "after": "'slow'"}],
    }
    assert [(each["slot"], each["changed"]) for each in identity["hashes"]] == [
        ("content_hash", True), ("code_hash", False),
    ]  # fmt: skip


def test_a_change_of_the_output_alone_changes_no_slot(opened, quote):
    view, _ = opened
    view.on_accept(["quote/One"])
    view.on_leave()
    quote["price"] = 3
    run_both()
    identity = view.on_compare("quote/One")["identity"]
    assert (changed_slots(identity), identity["is_kept"]) == ({}, True)
    assert not any(each["changed"] for each in identity["hashes"])


def test_a_baseline_without_its_identity_is_reported(opened, quote, store):
    view, _ = opened
    key = waiting_snapshots()["quote/One"].key
    store.write(key, Stored(text="older\n"))
    identity = view.on_compare("quote/One")["identity"]
    assert (identity["has_baseline"], identity["is_kept"]) == (True, False)
    assert changed_slots(identity) == {}


def test_what_is_kept_beside_a_text_holds_no_secret(store, monkeypatch):
    monkeypatch.setenv("SNAPSHOT_API_KEY", "k7Qz-snapshot-91xW")

    def login(pin: Annotated[str, Sensitive], note: str):
        return "in"

    repl_pair.story("login", component=login)
    repl_pair.variant(
        "login/It",
        args={"pin": "r7-w", "note": "has k7Qz-snapshot-91xW"},
        play=[*PLAY, check.path_equals("args.pin", "r7-w")],
    )
    repl_pair.run("login/It")
    kept = json.dumps(waiting_snapshots()["login/It"].about)
    assert "r7-w" not in kept
    assert "k7Qz" not in kept
    assert "path_equals args.pin" in kept


def test_tables_and_images_are_compared_as_such(store):
    given = {"n": 1}
    png = {1: base64.b64encode(b"one").decode(), 2: base64.b64encode(b"two").decode()}
    frames = {n: pd.DataFrame({"price": [1.0, float(n)]}) for n in (1, 2)}
    repl_pair.story("frame", component=lambda: frames[given["n"]])
    repl_pair.story("image", component=lambda: {"image/png": png[given["n"]]})
    for id in ("frame/It", "image/It"):
        repl_pair.variant(id, play=PLAY)
        repl_pair.run(id)
        repl_pair.accept_snapshot(id)
    given["n"] = 2
    repl_pair.run("frame/It")
    repl_pair.run("image/It")
    view = SnapshotView(PanelContext(), print)
    assert view.on_compare("frame/It")["table"]["changed"] == 1
    urls = [f"data:image/png;base64,{png[n]}" for n in (1, 2)]
    assert view.on_compare("image/It")["images"] == [
        {"name": "result", "baseline": urls[0], "actual": urls[1], "same": False}
    ]


def test_images_that_were_put_out_are_held_against_those_of_their_name(store):
    given = {"images": {"image/png": PIXEL}}

    class Drawn:
        def _repr_mimebundle_(self, **_kwargs):
            return given["images"]

    repl_pair.story("drawn", component=Drawn)
    repl_pair.variant("drawn/It", play=PLAY)
    repl_pair.run("drawn/It")
    view = SnapshotView(PanelContext(), print)
    (image,) = view.on_compare("drawn/It")["images"]
    assert (image["baseline"], image["actual"]) == (None, f"data:image/png;base64,{PIXEL}")
    repl_pair.accept_snapshot("drawn/It")
    given["images"] = {"text/plain": "no image"}
    repl_pair.run("drawn/It")
    (image,) = view.on_compare("drawn/It")["images"]
    assert (image["actual"], image["same"]) == (None, False)


def test_only_so_many_wait_and_the_oldest_goes_first(store):
    repl_pair.story("many", component=lambda n: n)
    for n in range(MAX_WAITING + 1):
        repl_pair.variant(f"many/V{n}", args={"n": n}, play=PLAY)
        repl_pair.run(f"many/V{n}")
    listed = waiting_snapshots()
    assert (len(listed), "many/V0" in listed, "many/V1" in listed) == (MAX_WAITING, False, True)


def test_nothing_that_waits_is_reported(store):
    assert SnapshotView(PanelContext(), print).text() == "No snapshot waits."
