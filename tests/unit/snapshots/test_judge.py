"""Stored outputs: kept by variant and content, accepted by the person, equal in every process."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

import repl_pair
from repl_pair import check
from repl_pair.errors import RequestError
from repl_pair.runtime.snapshots.review import UPDATE
from repl_pair.runtime.snapshots.store import SNAPSHOTS, SnapshotKey, SnapshotStore, Stored


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


def test_a_missing_snapshot_fails_and_states_how_it_is_accepted(store, quote):
    found = outcome()
    assert (found.passed, found.expected) == (False, None)
    assert found.actual == '{\n  "n": 1,\n  "total": 2\n}\n'
    assert found.reason == f"there is no snapshot of quote/One yet. {ACCEPT}"
    assert not outcome().passed


def test_what_was_accepted_passes_until_the_output_changes(store, quote):
    outcome()
    assert repl_pair.accept_snapshot("quote/One") == '{\n  "n": 1,\n  "total": 2\n}\n'
    assert outcome().passed
    quote["price"] = 3
    found = outcome()
    assert (found.passed, found.expected) == (False, '{\n  "n": 1,\n  "total": 2\n}\n')
    assert found.reason.splitlines() == [
        "quote/One is not as it was stored:",
        "--- stored", "+++ now", "@@ -2,3 +2,3 @@",
        '   "n": 1,', '-  "total": 2', '+  "total": 3', " }",
        ACCEPT,
    ]  # fmt: skip
    repl_pair.accept_snapshot("quote/One")
    assert outcome().passed


def test_a_snapshot_is_of_one_content_and_states_when_the_variant_changed(store, quote):
    outcome()
    repl_pair.accept_snapshot("quote/One")
    repl_pair.variant("quote/One", args={"n": 2}, play=[check.matches_snapshot()])
    found = outcome()
    changed = "quote/One changed since its snapshot was stored: args.n is new: 2."
    assert found.reason == f"{changed} {ACCEPT}"
    repl_pair.variant("quote/One", play=[check.matches_snapshot()])
    assert outcome().passed


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
    }


RICH = """{
  "account": {
    "name": "ann",
    "pin": "[redacted]"
  },
  "array": {
    "dtype": "float64",
    "items": [
      [
        1.0,
        "NaN"
      ],
      [
        2.0,
        3.0
      ]
    ]
  },
  "object": "<Plain>",
  "password": "[redacted]",
  "set": [
    "a",
    "b",
    "c"
  ],
  "text": "<MODULE.Plain object at 0x…> holds [redacted]"
}
"""


def test_a_snapshot_holds_no_secret_no_address_and_all_of_a_table(store, monkeypatch):
    monkeypatch.setenv("SNAPSHOT_API_KEY", "k7Qz-snapshot-91xW")
    repl_pair.story("rich", component=rich)
    repl_pair.variant("rich/It", play=[check.matches_snapshot()])
    (found,) = repl_pair.run("rich/It").assertions
    text = RICH.replace("MODULE", Plain.__module__)
    assert found.actual == text
    repl_pair.accept_snapshot("rich/It")
    assert repl_pair.run("rich/It").status == "pass"


def test_text_outputs_are_a_part_of_it(store):
    class Rich:
        def _repr_markdown_(self):
            return "# 3 items"

    repl_pair.story("shows", component=Rich)
    repl_pair.variant("shows/It", play=[check.matches_snapshot()])
    (found,) = repl_pair.run("shows/It").assertions
    assert found.actual.endswith("--- output 0\n# 3 items\n")


def test_files_are_for_people_to_read_and_their_place_states_what_they_are(tmp_path):
    store = SnapshotStore(tmp_path)
    key = SnapshotKey(variant_id="shop.quote/One", content_hash="rp1:" + "ab" * 32, name="a b/c")
    assert store.find(key) is None
    assert store.find_other(key) is None
    store.write(key, Stored(text="text ünd\n"))
    store.write(key, Stored(text="text ünd more\n"))
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [Path("shop.quote/One/a_b_c.abababababababab.txt")]
    assert (tmp_path / files[0]).read_bytes() == "text ünd more\n".encode()


def test_without_a_folder_they_are_kept_with_the_project(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "er")
    path = SNAPSHOTS.path_of(SnapshotKey(variant_id="a/B", content_hash="rp1:cd"))
    assert path == tmp_path / ".repl_pair" / "snapshots" / "a" / "B" / "result.cd.txt"


SOURCE = """
import repl_pair
from repl_pair import check
def made():
    return {"words": {"pear", "apple", "fig", "plum"}, "keys": dict.fromkeys({"x", "y", "z"}, 1)}
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
    assert ask("1") == "fail\n"
    assert ask("2", REPL_PAIR_UPDATE_SNAPSHOTS="1") == "pass\n"
    assert [ask(seed) for seed in ("3", "4")] == ["pass\n", "pass\n"]
