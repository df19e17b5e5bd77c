"""Stored outputs: kept by variant and modes, accepted by the person, equal in every process."""

import os
import subprocess
import sys
import threading
import uuid
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
import polars as pl
import pytest
from IPython.display import HTML, JSON, Image, Javascript, Latex, Markdown, display
from matplotlib.figure import Figure

import repl_pair
from repl_pair import check
from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.needles import Rank
from repl_pair.runtime.snapshots.records import SnapshotKey
from repl_pair.runtime.snapshots.review import UPDATE, Rules, rules_of, waiting_snapshots
from repl_pair.runtime.snapshots.store import SNAPSHOTS


@pytest.fixture
def store(monkeypatch, tmp_path):
    """Keep snapshots in a store of the test's own."""
    monkeypatch.setattr(SNAPSHOTS, "folder", tmp_path)
    return SNAPSHOTS


@pytest.fixture
def quote():
    """Register a story with one snapshot, and give what the component reads."""
    given = {"price": 2}

    def quote(n: int = 1):
        return {"total": given["price"] * n, "n": n}

    repl_pair.story("quote", component=quote)
    repl_pair.variant("quote/One", play=[check.matches_snapshot()])
    return given


def outcome(variant_id="quote/One"):
    (found,) = repl_pair.run(variant_id).assertions
    return found


ACCEPT = "To accept what this run gave, the person calls repl_pair.accept_snapshot('quote/One')."


def test_what_is_compared_with_no_snapshot_cannot_run_and_states_how_one_is_accepted(store, quote):
    ran = repl_pair.run("quote/One")
    assert (ran.status, ran.reason) == (
        "cannot_run",
        f"matches_snapshot: there is no snapshot of quote/One yet. {ACCEPT}",
    )
    found = outcome()
    assert (found.passed, found.expected) == (False, None)
    assert found.actual == '{\n  "n": 1,\n  "total": 2,\n}\n'
    assert found.reason == f"there is no snapshot of quote/One yet. {ACCEPT}"
    assert not outcome().passed


def test_what_was_accepted_passes_until_the_output_changes(store, quote):
    outcome()
    assert repl_pair.accept_snapshot("quote/One") == '{\n  "n": 1,\n  "total": 2,\n}\n'
    assert outcome().passed
    quote["price"] = 3
    found = outcome()
    assert (found.passed, found.expected) == (False, '{\n  "n": 1,\n  "total": 2,\n}\n')
    assert repl_pair.run("quote/One").status == "fail"
    assert found.reason.splitlines() == [
        "quote/One is not as it was stored:",
        "--- stored", "+++ now", "@@ -2,3 +2,3 @@",
        '   "n": 1,', '-  "total": 2,', '+  "total": 3,', " }",
        ACCEPT,
    ]  # fmt: skip
    repl_pair.accept_snapshot("quote/One")
    assert outcome().passed


def test_what_the_variant_is_made_of_is_kept_beside_it_and_named_where_the_output_differs(
    store, quote
):
    outcome()
    repl_pair.accept_snapshot("quote/One")
    repl_pair.variant("quote/One", args={"n": 2}, play=[check.matches_snapshot()])
    reason = outcome().reason.splitlines()
    assert reason[0] == "quote/One is not as it was stored, and since then args.n is new: 2:"
    assert {'-  "n": 1,', '+  "n": 2,'} <= set(reason)


def test_a_tag_a_play_or_an_assertion_more_loses_no_snapshot_and_writes_nothing(store, quote):
    outcome()
    repl_pair.accept_snapshot("quote/One")
    before = files_of(store)
    repl_pair.tag("slow")
    play = [check.path_equals("result.n", 1), check.matches_snapshot()]
    repl_pair.variant("quote/One", tags=["slow"], play=play)
    assert repl_pair.run("quote/One").status == "pass"
    assert files_of(store) == before
    with rules_of(Rules(update="--update")):
        assert repl_pair.run("quote/One").status == "pass"
    after = files_of(store)
    assert "path_equals result.n" in after["quote.txt"].decode()
    assert [line for line in after["quote.txt"].splitlines() if line.startswith(b"  |")] == [
        b"  | {", b'  |   "n": 1,', b'  |   "total": 2,', b"  | }",
    ]  # fmt: skip


def files_of(store):
    return {
        path.relative_to(store.folder).as_posix(): path.read_bytes()
        for path in sorted(store.folder.rglob("*"))
        if path.is_file()
    }


def test_an_output_is_of_a_set_of_modes_in_whatever_order(store):
    for name in ("usd", "dark"):
        repl_pair.mode(name, args={name: True})
    repl_pair.story(
        "moded", component=lambda usd=False, dark=False: [usd, dark], modes=["usd", "dark"]
    )
    repl_pair.variant("moded/It", play=[check.matches_snapshot()])
    for modes in (["usd", "dark"], ["usd"], []):
        repl_pair.run("moded/It", modes=modes)
    with pytest.raises(RequestError, match=r"modes=\['dark', 'usd'\] or modes=\['usd'\]"):
        repl_pair.accept_snapshot("moded/It")
    repl_pair.accept_snapshot("moded/It", modes=["usd", "dark"])
    repl_pair.accept_snapshot("moded/It", modes=["usd"])
    assert repl_pair.run("moded/It", modes=["dark", "usd"]).status == "pass"
    assert repl_pair.run("moded/It", modes=["usd"]).status == "pass"
    (found,) = repl_pair.run("moded/It", modes=["dark"]).assertions
    call = "repl_pair.accept_snapshot('moded/It', modes=['dark'])"
    advice = f"To accept what this run gave, the person calls {call}."
    assert found.reason == f"there is no snapshot of moded/It[dark] yet. {advice}"


def test_two_outputs_under_one_name_are_not_stored_over_each_other(store):
    given = iter(range(10))
    repl_pair.story("counting", component=lambda: next(given))
    repl_pair.variant("counting/It", play=[check.matches_snapshot()])
    with rules_of(Rules(update="--update")):
        first, second = (outcome("counting/It") for _ in range(2))
    assert (first.passed, second.passed) == (True, False)
    assert "gave two outputs that differ in one update: give each its own name" in second.reason
    assert store.find(SnapshotKey(variant_id="counting/It")).text == "0\n"


UNREADABLE = {
    "conflict": (b"quote/One", b"<<<<<<< HEAD\nquote/One", 3, "conflict markers"),
    "cut": (b"\nend\n", b"", 13, "it was cut"),
    "cut in a line": (b"  | }\n\nend\n", b"  ", 12, "not of its form"),
    "twice": (b"\nend\n", b"\nquote/One\n  | 1\n\nend\n", 14, "there twice"),
    "version": (b"outputs 1", b"outputs 7", 1, "'repl-pair outputs 7'"),
    "no text": (b"quote/One", b"\xff", 3, "not UTF-8"),
    "bad JSON": (b'{"play": [', b'{"play: [', 7, "bad JSON"),
}


@pytest.mark.parametrize(("old", "new", "line", "what"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_named_fails_and_is_renewed_by_an_update(
    store, quote, old, new, line, what
):
    outcome()
    repl_pair.accept_snapshot("quote/One")
    path = store.folder / "quote.txt"
    good = path.read_bytes()
    bad = good.replace(old, new, 1)
    path.write_bytes(bad)
    found = outcome()
    assert (found.passed, found.compared) == (False, False)
    assert f"quote.txt:{line} can't be read: " in found.reason
    assert what in found.reason
    assert path.read_bytes() == bad, "nothing is written over it unasked"
    with rules_of(Rules(update="--update")):
        assert outcome().reason == "it was stored now: --update"
    assert path.read_bytes() == good


def test_a_variant_has_several_snapshots_by_name(store, quote):
    repl_pair.variant(
        "quote/Two", play=[check.matches_snapshot("first"), check.matches_snapshot("second")]
    )
    repl_pair.run("quote/Two")
    repl_pair.accept_snapshot("quote/Two", "first")
    assert [o.passed for o in repl_pair.run("quote/Two").assertions] == [True, False]


def test_only_what_a_run_gave_is_accepted_and_only_once(store, quote):
    outcome()
    repl_pair.accept_snapshot("quote/One")
    for id in ("quote/One", "quote/Oen"):
        with pytest.raises(RequestError, match="waits to be accepted") as refused:
            repl_pair.accept_snapshot(id)
        assert refused.value.code == "not_found"


def test_a_run_stores_what_it_gives_only_where_the_environment_asks_for_it(
    store, quote, monkeypatch
):
    monkeypatch.setenv(UPDATE, "0")
    assert not outcome().passed
    monkeypatch.setenv(UPDATE, "1")
    found = outcome()
    assert (found.passed, found.reason) == (True, f"it was stored now: {UPDATE} is set")
    monkeypatch.delenv(UPDATE)
    assert (outcome().passed, outcome().reason) == (True, "")


@dataclass
class Account:
    name: str
    pin: Annotated[str, repl_pair.Sensitive]


class Plain:
    pass


def rich():
    print("not a part of it")
    return {
        "account": Account("ann", "1234"),
        "set": {"b", "a", "c"},
        "array": np.array([[1.0, float("nan")], [2, 3]]),
        "object": Plain(),
        "text": f"{Plain()!r} holds {os.environ['SNAPSHOT_API_KEY']}",
        "password": "short",
        "about": "short, and no more",
        "view": ("Password changed", {"Location": "/accounts/ann-1"}),
        "page": {"The token is not valid": ["see /accounts/ann-2"]},
        "reset": {"Passwords of the two admins": ["hunter2-prod", b"swordfish88q", 8675309123]},
    }


RICH = """{
  "about": "[redacted], and no more",
  "account": Account(name="ann", pin=[redacted]),
  "array": ndarray([[1.0, nan], [2.0, 3.0]], dtype=float64, shape=(2, 2)),
  "object": Plain(),
  "page": {"The token is not valid": ["see /accounts/ann-2"]},
  "password": [redacted],
  "reset": {"Passwords of the two admins": ["[redacted]", [redacted], [redacted]]},
  "set": {"a", "b", "c"},
  "text": "<MODULE.Plain object at 0x…> holds [redacted]",
  "view": ("Password changed", {"Location": "/accounts/ann-1"}),
}
"""


def test_a_snapshot_holds_no_secret_no_address_and_all_of_a_table(store, monkeypatch):
    monkeypatch.setenv("SNAPSHOT_API_KEY", "k7Qz-snapshot-91xW")
    repl_pair.story("rich", component=rich)
    repl_pair.variant("rich/It", play=[check.matches_snapshot()])
    (found,) = repl_pair.run("rich/It").assertions
    text = RICH.replace("MODULE", Plain.__module__)
    assert found.actual == text
    assert repl_pair.accept_snapshot("rich/It") == text
    assert repl_pair.run("rich/It").status == "pass"


class Chart:
    def __init__(self):
        self._spec = {"api_token": "hun7r"}

    def _repr_html_(self):
        return f"<p>{self._spec['api_token']}</p>"


def test_what_the_text_of_a_result_hides_is_hidden_in_what_is_shown_of_it_too(store):
    repl_pair.story("chart", component=Chart)
    repl_pair.variant("chart/It", play=[check.matches_snapshot()])
    (found,) = repl_pair.run("chart/It").assertions
    assert '_spec={"api_token": [redacted]}' in found.actual
    assert "<p>[redacted]</p>" in found.actual


class Refused(Exception):
    def __init__(self, api_token):
        super().__init__(f"refused {api_token}")
        self.api_token = api_token


def refuse():
    raise Refused("xW3kZ9pL2qR1")


def print_and_emit():
    print("sent xW3kZ9pL2qR1")
    repl_pair.effect("send", api_token="xW3kZ9pL2qR1")


@pytest.mark.parametrize(
    ("component", "play", "places"),
    [
        (refuse, [check.raises(Refused)], "raised.message"),
        (lambda: print("xW3kZ9pL2qR1") or Refused("xW3kZ9pL2qR1"), [], "result.message, stdout"),
        (print_and_emit, [], "stdout, effects"),
    ],
)
def test_no_secret_stands_in_what_was_raised_printed_or_emitted(component, play, places):
    repl_pair.effect.impl("send")(lambda api_token: None)
    repl_pair.story("tells", component=component)
    repl_pair.variant("tells/It", play=[*play, check.no_secret()])
    *_, found = repl_pair.run("tells/It").assertions
    assert found.reason.startswith(f"a secret stands at {places}")


NAMED = pd.DataFrame({"id": [1, 2], "name": ["region", "api_token"], "value": ["eu", "hun7r"]})
FIELDS = np.array([(1, ("hun7r",))], [("id", "i4"), ("login", [("password", "U9")])])
TABLES = {
    "names and values": NAMED,
    "names as labels": NAMED.set_index("name"),
    "two columns of names": pd.concat([NAMED[["id"]].set_axis(["name"], axis=1), NAMED], axis=1),
    "rows of names and values": NAMED.T,
    "a series of a name and a value": NAMED.T[1],
    "polars": pl.DataFrame(NAMED.to_dict("list")),
    "fields of names and values": np.array(
        [*NAMED.itertuples(index=False, name=None)],
        [("id", "i4"), ("name", "U9"), ("value", "U9")],
    ),
    "a field in a field": FIELDS,
    "a grid of fields": FIELDS.reshape(1, 1),
    "a row of fields": FIELDS[0],
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_secret_in_a_table_is_found_and_is_in_no_snapshot(store, table):
    repl_pair.story("table", component=lambda: table)
    repl_pair.variant("table/It", play=[check.no_secret(), check.matches_snapshot()])
    found, snapshot = repl_pair.run("table/It").assertions
    assert "a secret stands at result" in found.reason
    assert "hun7r" not in snapshot.actual
    assert "[redacted]" in snapshot.actual


UNSET = {"name": ["db_password", "api_token"], "value": [None, True]}


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(UNSET),
        pd.DataFrame(UNSET).T,
        pl.DataFrame(UNSET, strict=False),
        np.array([("api_token", True)], [("name", "U9"), ("value", "?")]),
    ],
    ids=["frame", "rows", "polars", "fields"],
)
def test_what_is_missing_or_true_beside_the_name_of_a_secret_is_none(store, table):
    repl_pair.story("table", component=lambda: table)
    repl_pair.variant("table/It", play=[check.no_secret(), check.matches_snapshot()])
    found, snapshot = repl_pair.run("table/It").assertions
    assert found.passed, found.reason
    assert "[redacted]" not in snapshot.actual


@pytest.mark.parametrize(
    "value",
    [
        pd.DataFrame({"password": [None, float("nan")], "n": 1}),
        pd.Series([float("nan")], name="password"),
    ],
    ids=["frame", "series"],
)
def test_a_missing_cell_under_the_name_of_a_secret_is_none(value):
    repl_pair.story("table", component=lambda: value)
    repl_pair.variant("table/It", play=[check.no_secret()])
    (found,) = repl_pair.run("table/It").assertions
    assert found.passed, found.reason


def test_text_outputs_are_a_part_of_it(store):
    class Rich:
        def _repr_markdown_(self):
            return "# 3 items"

    repl_pair.story("shows", component=Rich)
    repl_pair.variant("shows/It", play=[check.matches_snapshot()])
    (found,) = repl_pair.run("shows/It").assertions
    assert found.actual.endswith("--- output 0\n# 3 items\n")


class OnlyHtml:
    def __init__(self, text):
        self.text = text

    def _repr_html_(self):
        return f"<i>{self.text}</i>"


class Bundle:
    def __init__(self, data):
        self._data = data

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self._data


PLAIN, VEGA = "text/plain", "application/vnd.vegalite.v5+json"
VEGA_LITE = "<VegaLite 5 object>\n\nIf you see this message, the renderer is not enabled.\n"
SHOWN = {
    "HTML": (lambda text: HTML(f"<b>{text}</b>"), "<b>{}</b>"),
    "Markdown": (lambda text: Markdown(f"**{text}**"), "**{}**"),
    "JSON": (lambda text: JSON({"total": text}), '{{\n  "total": "{}",\n}}'),
    "LaTeX": (lambda text: Latex(f"${text}$"), "${}$"),
    "JavaScript": (lambda text: Javascript(f"draw({text})"), "application/javascript:\ndraw({})\n"),
    "a chart": (lambda text: Bundle({VEGA: {"mark": text}}), VEGA + ':\n{{\n  "mark": "{}",\n}}\n'),
    "several kinds": (
        lambda text: Bundle({VEGA: {"a": 1}, "text/x-b": text}),
        VEGA + ':\n{{\n  "a": 1,\n}}\ntext/x-b:\n{}\n',
    ),
    "PDF": (lambda text: Bundle({"application/pdf": text.encode() * 40}), "b'{}"),
    "a chart of altair": (lambda text: Bundle({VEGA: text, PLAIN: "alt.Chart(...)"}), ":\n{}\n"),
    "the same in JSON": (lambda text: Bundle({VEGA: text, PLAIN: VEGA_LITE}), ":\n{}\n"),
    "a text with an address": (
        lambda text: Bundle({PLAIN: "Table(<Body object at 0x7f0123456789>)", "text/html": text}),
        "output 0\n{}\n",
    ),
    "an object of the person's": (OnlyHtml, "<i>{}</i>"),
    "a styled table": (lambda text: pd.DataFrame({"a": [text]}).style, ">{}</td>"),
}


@pytest.mark.parametrize(("make", "shown"), SHOWN.values(), ids=SHOWN)
def test_what_is_shown_beside_a_default_repr_is_compared(store, monkeypatch, make, shown):
    repl_pair.story("shows", component=lambda: display(make(os.environ["SHOWN"])))
    repl_pair.variant("shows/It", play=[check.matches_snapshot()])
    monkeypatch.setenv("SHOWN", "12")
    assert shown.format("12") in outcome("shows/It").actual
    repl_pair.accept_snapshot("shows/It")
    assert repl_pair.run("shows/It").status == "pass"
    monkeypatch.setenv("SHOWN", "13")
    assert repl_pair.run("shows/It").status == "fail"


PNG = b"\x89PNG\r\n\x1a\n" + bytes(3_000_000)
CUT = {
    "text/markdown of 4000001 characters": lambda: display(Markdown("x" * 4_000_001)),
    "image/png of 4000012 characters": lambda: display(Image(PNG)),
    "figure of 6000 x 6000 pixels": lambda: display(Figure(figsize=(60, 60), dpi=100)),
    "1 more outputs": lambda: display(*range(201)),
}


@pytest.mark.parametrize(("what", "component"), CUT.items(), ids=CUT)
def test_what_was_not_kept_whole_is_not_stored(store, what, component):
    repl_pair.story("shows", component=component)
    repl_pair.variant("shows/It", play=[check.matches_snapshot()])
    with rules_of(Rules(update="--update")):
        ran = repl_pair.run("shows/It")
    assert ran.status == "cannot_run"
    assert f"shows/It can't be stored: an output was not kept whole: [{what}" in ran.reason
    assert list(store.listed()) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["x"], ["x "]),
        (["x"], ["x\u2028"]),
        (["x", "y"], ["x\n--- output 1\ny"]),
        (["x\n--- output 1\ny"], ["x\n\\--- output 1\ny"]),
    ],
)
def test_outputs_that_differ_in_an_end_or_a_heading_have_different_texts(store, one, other):
    repl_pair.story("shows", component=lambda texts: display(*map(Markdown, texts)))
    for texts in (one, other):
        name = f"shows/{'One' if texts is one else 'Other'}"
        repl_pair.variant(name, args={"texts": texts}, play=[check.matches_snapshot()])
    assert outcome("shows/One").actual != outcome("shows/Other").actual


class Plainly(OnlyHtml):
    def __repr__(self):
        return f"<Plainly: {self.text}>"


def test_what_is_shown_has_no_secret_and_a_repr_of_its_own_comes_first(store, monkeypatch):
    monkeypatch.setenv("SNAPSHOT_API_KEY", "k7Qz-snapshot-91xW")
    made = {"password": "hun7r", "key": "k7Qz-snapshot-91xW"}

    class OnlyJson:
        def _repr_json_(self):
            return made

    def show():
        display(HTML(f"<b>{made['key']}</b>"), Plainly("it"), OnlyJson())

    repl_pair.story("shows", component=show)
    repl_pair.variant("shows/It", play=[check.matches_snapshot()])
    _, *texts = outcome("shows/It").actual.split("--- output ")
    assert texts == [
        "0\n<b>[redacted]</b>\n",
        "1\n<Plainly: it>\n",
        '2\n{\n  "key": "[redacted]",\n  "password": [redacted],\n}\n',
    ]


def show_rest(key, password):
    made_up = str(uuid.uuid4())
    script = f"draw('{key}', '{made_up}'); close('{made_up}')"
    display(
        Javascript(script),
        Bundle({VEGA: {"key": [key], "password": password}}),
        Bundle({"application/octet-stream": f"\0{key}".encode()}),
        Bundle({"application/vnd.jupyter.widget-view+json": {"model_id": made_up}}),
        Bundle({"image/png": b"1"}),
    )


def test_what_is_left_of_a_bundle_has_no_secret_and_no_made_up_id(store, monkeypatch):
    monkeypatch.setenv("SNAPSHOT_API_KEY", "k7Qz-snapshot-91xW")
    repl_pair.story("shows", component=lambda: show_rest("k7Qz-snapshot-91xW", "hun7r"))
    repl_pair.variant("shows/It", play=[check.matches_snapshot()])
    _, *texts = outcome("shows/It").actual.split("--- output ")
    plain = f"<{Bundle.__module__}.Bundle at 0x…>"
    assert texts == [
        "0\napplication/javascript:\ndraw('[redacted]', 'id1'); close('id1')\n",
        f'1\n{VEGA}:\n{{\n  "key": ["[redacted]"],\n  "password": [redacted],\n}}\n',
        "2\napplication/octet-stream:\nAG[redacted]w==\n",
        f"3\n{plain}\n",
        f"4\n{plain}\n",
    ]


def test_an_output_whose_file_cannot_be_written_waits_on(store, quote, tmp_path, monkeypatch):
    repl_pair.run("quote/One")
    (tmp_path / "file").touch()
    monkeypatch.setattr(store, "folder", tmp_path / "file" / "below")
    with pytest.raises(RequestError, match="quote/One was not stored, and waits on") as refused:
        repl_pair.accept_snapshot("quote/One")
    assert refused.value.code == "cannot_run"
    monkeypatch.setattr(store, "folder", tmp_path)
    repl_pair.accept_snapshot("quote/One")
    assert repl_pair.run("quote/One").status == "pass"


def test_a_tolerance_of_the_environment_that_is_no_share_fails_and_is_named(store, monkeypatch):
    repl_pair.story("one", component=lambda: 1)
    repl_pair.variant("one/It", play=[check.matches_snapshot()])
    monkeypatch.setenv("REPL_PAIR_IMAGE_TOLERANCE", "2%")
    found = outcome("one/It")
    assert not found.passed
    assert "REPL_PAIR_IMAGE_TOLERANCE is a share from 0 to 1, not '2%'." in found.reason


@pytest.mark.parametrize("given", [5, -1, float("nan"), float("inf"), True, "0.1"], ids=str)
def test_a_tolerance_that_is_no_share_is_refused_where_it_is_registered(given):
    repl_pair.story("one", component=lambda: 1)
    with pytest.raises(AuthoringError, match="matches_snapshot: tolerance is a share from 0 to 1"):
        repl_pair.variant("one/It", play=[check.matches_snapshot(tolerance=given)])
    for share in (0, 1, 0.5):
        repl_pair.variant(f"one/{share}", play=[check.matches_snapshot(tolerance=share)])


ELSEWHERE = """
import os, platform
import repl_pair
from repl_pair.runtime.snapshots.records import SnapshotKey
from repl_pair.runtime.snapshots.store import SNAPSHOTS
if __name__ == "__main__":
    os.makedirs("../beside/.repl_pair")
    os.chdir("../beside")
    repl_pair.story("a", component=platform.node)
    repl_pair.variant("a/B", play=[repl_pair.check.matches_snapshot()])
    with repl_pair.process_pool(1) as pool:
        print(*(row.status for row in repl_pair.run_variants(["a/B"], executor=pool).rows))
        repl_pair.accept_snapshot("a/B")
        print(*(row.status for row in repl_pair.run_variants(["a/B"], executor=pool).rows))
    print(SNAPSHOTS.path_of(SnapshotKey(variant_id="a/B")))
"""


@pytest.mark.parametrize(
    ("mark", "kept_in"), [("pyproject.toml", "shop"), (None, "shop/deep/beside")]
)
def test_without_a_folder_they_are_kept_with_the_project_that_a_process_and_its_workers_start_in(
    tmp_path, mark, kept_in
):
    """Or with the one they work in, where they start in none."""
    (tmp_path / "shop" / "deep" / "er").mkdir(parents=True)
    if mark:
        (tmp_path / "shop" / mark).touch()
    ran = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], cwd=tmp_path / "shop" / "deep" / "er",
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    path = tmp_path / kept_in / ".repl_pair" / "snapshots" / "a.txt"
    assert ran.stdout == f"cannot_run\npass\n{path}\n", ran.stderr


SOURCE = """
from collections.abc import Set
import repl_pair
from repl_pair import check
WORDS = {"pear", "apple", "fig", "plum"}
class Bag(set): pass
class Kit(frozenset): pass
class Pouch:
    def __reduce__(self):
        return Pouch, (list(WORDS),)
Set.register(Pouch)
class Sum:
    def __init__(self):
        self.total, self.error, self.tag, self.unit = 3, 0.1, "a", "m"
    def __getstate__(self):
        return {name: getattr(self, name) for name in {"total", "error", "tag", "unit"}}
def made():
    bag = Bag(WORDS)
    bag.size = 4
    more = [bag, Kit(WORDS), Pouch(), Sum()]
    return {"words": WORDS, "keys": dict.fromkeys({"x", "y", "z"}, 1), "more": more}
repl_pair.story("made", component=made)
repl_pair.variant("made/It", play=[check.matches_snapshot()])
print(repl_pair.run("made/It").status)
"""


def test_a_snapshot_of_one_process_holds_in_another(tmp_path):
    def ask(seed, **more):
        return subprocess.run(
            [sys.executable, "-c", SOURCE], cwd=tmp_path, capture_output=True, text=True,
            check=True, timeout=60, env={**os.environ, "PYTHONHASHSEED": seed, **more},
        ).stdout  # fmt: skip

    (tmp_path / "pyproject.toml").touch()
    assert ask("1") == "cannot_run\n"
    assert ask("2", REPL_PAIR_UPDATE_SNAPSHOTS="1") == "pass\n"
    assert [ask(seed) for seed in ("3", "4")] == ["pass\n", "pass\n"]


def test_what_only_one_process_knows_for_a_secret_is_no_difference_or_is_named(store, monkeypatch):
    given = {"text": "order-in-production"}
    repl_pair.story("known", component=lambda: dict(given))
    repl_pair.variant("known/It", play=[check.matches_snapshot()])
    repl_pair.run("known/It")
    repl_pair.accept_snapshot("known/It")
    NEEDLES.add("order-in-production", rank=Rank.GIVEN)
    assert repl_pair.run("known/It").status == "pass"
    given["text"] = "order-in-production, late"
    (found,) = repl_pair.run("known/It").assertions
    assert "order-in" not in found.actual
    repl_pair.accept_snapshot("known/It")
    assert repl_pair.run("known/It").status == "pass"
    given["text"] = "another, late"
    (found,) = repl_pair.run("known/It").assertions
    assert "knew a secret that this one does not" in found.reason
    given["text"] = "another, early"
    (found,) = repl_pair.run("known/It").assertions
    assert "knew a secret" not in found.reason


def test_a_result_that_has_no_state_to_store_cannot_run_and_names_its_place(store):
    repl_pair.story("locked", component=lambda: {"lock": threading.Lock()})
    repl_pair.variant("locked/It", play=[check.matches_snapshot()])
    ran = repl_pair.run("locked/It")
    (found,) = ran.assertions
    assert ran.status == "cannot_run"
    assert found.reason.startswith("locked/It can't be stored: result.lock is a lock, which has no")
    assert "locked/It" not in waiting_snapshots()
