"""Stored outputs: what a run gives as text, held against what the person accepted."""

import json
import os
import re
from difflib import unified_diff
from typing import Any

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.egress import send_out
from repl_pair.runtime.namespace import learn_secrets
from repl_pair.runtime.opening import as_columns, open_up
from repl_pair.runtime.output_assertions import texts_of
from repl_pair.runtime.paths import join_path
from repl_pair.runtime.redaction import WIDE
from repl_pair.runtime.run_record import Identity, Verdict
from repl_pair.runtime.settled import Settled
from repl_pair.runtime.shapes import is_map, is_row
from repl_pair.runtime.snapshot_store import FileSnapshots, SnapshotKey, SnapshotStore
from repl_pair.wire import REDACTED

UPDATE = "REPL_PAIR_UPDATE_SNAPSHOTS"
"""The environment variable with which snapshots are stored as they come; `1` switches it on."""
MOST_WAITING, LONGEST_DIFF = 200, 40

_store: SnapshotStore = FileSnapshots()
_WAITING: dict[tuple[str, str], tuple[SnapshotKey, str]] = {}
"""What the last run of a variant gave for each name, until it is accepted."""


def use_store(store: SnapshotStore) -> SnapshotStore:
    """Keep snapshots in another store from now on; gives the one before."""
    global _store
    before, _store = _store, store
    return before


def judge_snapshot(settled: Settled, name: str, identity: Identity) -> Verdict:
    """Hold what a run gives against the stored text; a missing one fails."""
    key = SnapshotKey(variant_id=identity.variant_id, content_hash=identity.content_hash, name=name)
    text = snapshot_text(settled)
    stored = _store.read(key)
    if stored == text:
        _WAITING.pop((key.variant_id, name), None)
        return Verdict(passed=True)
    if os.environ.get(UPDATE) == "1":
        _store.write(key, text)
        return Verdict(passed=True, reason=f"it was stored now: {UPDATE} is set")
    _wait(key, text)
    wrong = _what_is_wrong(key, stored, text)
    between = "\n" if "\n" in wrong else " "
    reason = f"{wrong}{between}{_how_to_accept(key)}"
    return Verdict(passed=False, expected=stored, actual=text, reason=reason)


def accept_snapshot(variant_id: str, name: str = "") -> str:
    """Store what the last run of a variant gave, so that `matches_snapshot` passes from then on.

    For the person: look at the run's output first. Gives the text that was stored.
    """
    found = _WAITING.pop((str(variant_id), name), None)
    if found is None:
        waiting = sorted(id for id, of in _WAITING if of == name)
        raise RequestError(
            "not_found",
            f"No run of {_named(str(variant_id), name)} gave a snapshot that waits to be accepted."
            f"{did_you_mean(str(variant_id), waiting)} Run it first: what does not match waits.",
        )
    _store.write(*found)
    return found[1]


def snapshot_text(settled: Settled) -> str:
    """Give result and text outputs as one text that is equal in every process.

    A text stays as it is, all else is JSON. Secrets stand as markers, addresses as `0x…`.
    """
    learn_secrets()
    below = [place[1:] for place in settled.secrets if place[0] == "result"]
    send_out(settled.result, sensitive=below, limits=WIDE)  # learns what private fields hold
    opened = open_up(settled.result, as_columns)
    shown: Any = send_out(opened, sensitive=below, limits=WIDE).value
    outputs: Any = send_out(texts_of(settled.outputs), limits=WIDE).value
    head = shown if isinstance(shown, str) else json.dumps(shown, indent=2, sort_keys=True)
    parts = [head, *(f"--- output {at}\n{text}" for at, text in enumerate(outputs))]
    return _ADDRESS.sub("0x…", "\n".join(parts)).rstrip() + "\n"


def secret_places(settled: Settled) -> list[str]:
    """Name the places in what a run put out where a secret stands."""
    learn_secrets()
    found: list[str] = []
    for root in _PUT_OUT:
        value = getattr(settled, root)
        secrets = [place[1:] for place in settled.secrets if place[0] == root]
        send_out(value, sensitive=secrets, limits=WIDE)
        out = send_out(open_up(value, as_columns), sensitive=secrets, limits=WIDE)
        found += _marked(out.value, root) if out.redacted else []
    return found


_PUT_OUT = ("result", "outputs", "stdout", "stderr", "logs", "warnings", "effects")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def _wait(key: SnapshotKey, text: str) -> None:
    if len(_WAITING) >= MOST_WAITING:
        del _WAITING[next(iter(_WAITING))]
    _WAITING[key.variant_id, key.name] = key, text


def _what_is_wrong(key: SnapshotKey, stored: str | None, text: str) -> str:
    named = _named(key.variant_id, key.name)
    if stored is not None:
        lines = list(
            unified_diff(stored.splitlines(), text.splitlines(), "stored", "now", n=1, lineterm="")
        )
        more = [f"… {len(lines) - LONGEST_DIFF} more lines"] if len(lines) > LONGEST_DIFF else []
        return "\n".join([f"{named} is not as it was stored:", *lines[:LONGEST_DIFF], *more])
    if _store.has_other(key):
        return f"{named} changed since its snapshot was stored."
    return f"there is no snapshot of {named} yet."


def _named(variant_id: str, name: str) -> str:
    return f"{variant_id} {name!r}" if name else variant_id


def _how_to_accept(key: SnapshotKey) -> str:
    args = ", ".join(map(repr, [key.variant_id, *([key.name] if key.name else [])]))
    return f"To accept what this run gave, the person calls repl_pair.accept_snapshot({args})."


def _marked(shown: Any, path: str) -> list[str]:
    """Give the places of the markers in what is shown."""
    if isinstance(shown, str):
        return [path] if REDACTED in shown else []
    if is_map(shown):
        pairs = [(join_path(path, key), REDACTED in str(key), item) for key, item in shown.items()]
    else:
        rows = shown if is_row(shown) else []
        pairs = [(join_path(path, at), False, item) for at, item in enumerate(rows)]
    found = [[at] if is_marked else _marked(item, at) for at, is_marked, item in pairs]
    return [place for places in found for place in places]
