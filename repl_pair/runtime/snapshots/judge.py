"""Stored outputs: what a run gives as text, held against what the person accepted."""

import json
from dataclasses import replace
from difflib import unified_diff
from typing import Any

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.assertions.verdicts import WIDE
from repl_pair.runtime.assertions.view import RunView
from repl_pair.runtime.reading.expand import as_columns, open_up
from repl_pair.runtime.registry.outcomes import Verdict
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.snapshots.forms import (
    hide_addresses,
    output_images,
    output_texts,
    without_figures,
)
from repl_pair.runtime.snapshots.images import find_faults
from repl_pair.runtime.snapshots.provenance import say_changes
from repl_pair.runtime.snapshots.review import Decision, current_rules
from repl_pair.runtime.snapshots.store import SNAPSHOTS, Images, SnapshotKey, Stored
from repl_pair.runtime.snapshots.waiting import (
    Waiting,
    accept,
    let_wait,
    stop_waiting,
    waiting_snapshots,
)
from repl_pair.runtime.values.classes import is_map, is_row
from repl_pair.runtime.values.paths import join_path
from repl_pair.wire import REDACTED

LONGEST_DIFF = 40


def judge_snapshot(settled: RunView, name: str, tolerance: float | None = None) -> Verdict:
    """Hold what a run gives against what is stored; where nothing is, it fails."""
    assert settled.identify is not None
    assert settled.about is not None
    identity, rules = settled.identify(), current_rules()
    key = SnapshotKey(variant_id=identity.variant_id, content_hash=identity.content_hash, name=name)
    given = Stored(text=snapshot_text(settled), images=_images(settled))
    stored = SNAPSHOTS.find(key)
    allowed = rules.tolerance if tolerance is None else tolerance
    wrong = _images_wrong(key, stored, given, allowed) if stored is not None else []
    if stored is not None and stored.text == given.text and not wrong:
        stop_waiting(key.variant_id, name)
        rules.note(key, "matched")
        return Verdict(passed=True)
    given = replace(given, about=settled.about())
    decided = rules.decided.get(key)
    if rules.update or (decided is not None and decided.accepts(given)):
        SNAPSHOTS.write(key, given)
        rules.note(key, "stored")
        return Verdict(
            passed=True, reason=f"it was stored now: {rules.update or 'a review said so'}"
        )
    let_wait(Waiting(key=key, given=given))
    rules.note(key, "differs")
    before = stored or SNAPSHOTS.find_other(key, given.about)
    said = _what_is_wrong(key, stored, before, given)
    lines = [said, *wrong, *([] if decided is None else [_say(decided, given)])]
    between = "\n" if "\n" in said or len(lines) > 1 else " "
    reason = between.join(["\n".join(lines), rules.accept or _how_to_accept(key)])
    expected = None if before is None else before.text
    return Verdict(passed=False, expected=expected, actual=given.text, reason=reason)


def accept_snapshot(variant_id: str, name: str = "") -> str:
    """Store what the last run of a variant gave, so that `matches_snapshot` passes from then on.

    For the person: look at the run's output first. Gives the text that was stored.
    """
    listed = [one.key for one in waiting_snapshots().values() if one.key.name == name]
    found = stop_waiting(str(variant_id), name)
    if found is None:
        waiting = sorted(key.variant_id for key in listed)
        raise RequestError(
            "not_found",
            f"No run of {_named(str(variant_id), name)} gave a snapshot that waits to be accepted."
            f"{did_you_mean(str(variant_id), waiting)} Run it first: what does not match waits.",
        )
    accept(found)
    return found.given.text


def snapshot_text(settled: RunView) -> str:
    """Return result and text outputs as one text that is equal in every process.

    A text stays as it is, all else is JSON. Secrets stand as markers, addresses as `0x…`.
    """
    learn_secrets()
    below = [place[1:] for place in settled.secrets if place[0] == "result"]
    send_out(settled.result, sensitive=below, limits=WIDE)  # learns what private fields hold
    opened = open_up(without_figures(settled.result), as_columns)
    shown: Any = send_out(opened, sensitive=below, limits=WIDE).value
    hidden = [("*",)] if ("outputs",) in settled.secrets else []
    outputs: Any = send_out(output_texts(settled.outputs), sensitive=hidden, limits=WIDE).value
    head = shown if isinstance(shown, str) else json.dumps(shown, indent=2, sort_keys=True)
    parts = [head, *(f"--- output {at}\n{text}" for at, text in enumerate(outputs))]
    return hide_addresses("\n".join(parts)).rstrip() + "\n"


def secret_places(settled: RunView) -> list[str]:
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


def _images(settled: RunView) -> Images:
    """Return the bitmaps that a run put out, none where a secret is declared to be among them."""
    hidden = ("outputs",) in settled.secrets
    return {} if hidden else output_images(settled.outputs)


def _images_wrong(key: SnapshotKey, stored: Stored, given: Stored, tolerance: float) -> list[str]:
    """Say of each image how it differs; where the rules name a folder, these images are there."""
    if stored.images == given.images:
        return []
    return find_faults(key, stored.images, given.images, tolerance, current_rules().artifacts)


def _what_is_wrong(
    key: SnapshotKey, stored: Stored | None, before: Stored | None, given: Stored
) -> str:
    named = _named(key.variant_id, key.name)
    if stored is not None:
        old, new = stored.text.splitlines(), given.text.splitlines()
        lines = list(unified_diff(old, new, "stored", "now", n=1, lineterm=""))
        more = [f"… {len(lines) - LONGEST_DIFF} more lines"] if len(lines) > LONGEST_DIFF else []
        return "\n".join([f"{named} is not as it was stored:", *lines[:LONGEST_DIFF], *more])
    if before is not None:
        return f"{named} changed since its snapshot was stored{_what_changed(before, given)}."
    return f"there is no snapshot of {named} yet."


def _what_changed(before: Stored, now: Stored) -> str:
    """Describe which slots of the identity changed, and how, as far as it is kept."""
    assert now.about is not None
    said = say_changes(before.about, now.about)
    return f": {said}" if said else ""


def _say(decided: Decision, given: Stored) -> str:
    which = "this output" if decided.digest == given.digest else "another output than this"
    return f"The review says to {decided.decision} {which}."


def _named(variant_id: str, name: str) -> str:
    return f"{variant_id} {name!r}" if name else variant_id


def _how_to_accept(key: SnapshotKey) -> str:
    args = ", ".join(map(repr, [key.variant_id, *([key.name] if key.name else [])]))
    return f"To accept what this run gave, the person calls repl_pair.accept_snapshot({args})."


def _marked(shown: Any, path: str) -> list[str]:
    """Return the places of the markers in what is shown."""
    if isinstance(shown, str):
        return [path] if REDACTED in shown else []
    if is_map(shown):
        pairs = [(join_path(path, key), REDACTED in str(key), item) for key, item in shown.items()]
    else:
        rows = shown if is_row(shown) else []
        pairs = [(join_path(path, at), False, item) for at, item in enumerate(rows)]
    found = [[at] if is_marked else _marked(item, at) for at, is_marked, item in pairs]
    return [place for places in found for place in places]
