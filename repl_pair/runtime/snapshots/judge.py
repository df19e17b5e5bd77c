"""The assertions on stored outputs, and on secrets in what a run put out."""

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
    find_faults,
    hide_addresses,
    output_images,
    output_texts,
    without_figures,
)
from repl_pair.runtime.snapshots.provenance import describe_changes
from repl_pair.runtime.snapshots.review import (
    Waiting,
    accept,
    current_rules,
    let_wait,
    stop_waiting,
    waiting_snapshots,
)
from repl_pair.runtime.snapshots.store import SNAPSHOTS, Images, SnapshotKey, Stored
from repl_pair.runtime.values.classes import is_map, is_row
from repl_pair.runtime.values.paths import join_path
from repl_pair.wire import REDACTED

LONGEST_DIFF = 40


def matches_snapshot(
    settled: RunView, name: str = "", *, tolerance: float | None = None
) -> Verdict:
    """`[name?, {tolerance}]`: result and outputs are as in the stored snapshot of this variant.

    A missing one fails; the person accepts what the last run gave. `tolerance` is the share of an
    image's pixels, 0 to 1, that may look different.
    """
    assert settled.identify is not None
    assert settled.about is not None
    identity, rules = settled.identify(), current_rules()
    key = SnapshotKey(variant_id=identity.variant_id, content_hash=identity.content_hash, name=name)
    is_hidden = ("outputs",) in settled.secrets
    images: Images = {} if is_hidden else output_images(settled.outputs)
    given = Stored(text=snapshot_text(settled), images=images)
    stored = SNAPSHOTS.find(key)
    allowed = rules.tolerance if tolerance is None else tolerance
    wrong = find_faults(key, stored.images, images, allowed, rules.artifacts) if stored else []
    if stored is not None and stored.text == given.text and not wrong:
        stop_waiting(key.variant_id, name)
        rules.note(key, "matched")
        return Verdict(passed=True)
    given = replace(given, about=settled.about())
    decided = rules.decided.get(key)
    if rules.update or (decided is not None and decided.accepts(given)):
        SNAPSHOTS.write(key, given)
        rules.note(key, "stored")
        why = rules.update or "a review said so"
        return Verdict(passed=True, reason=f"it was stored now: {why}")
    let_wait(Waiting(key=key, given=given))
    rules.note(key, "differs")
    before = stored or SNAPSHOTS.find_other(key, given.about)
    lines = [_what_is_wrong(key, stored, before, given), *wrong]
    if decided is not None:
        which = "this output" if decided.digest == given.digest else "another output than this"
        lines.append(f"The review says to {decided.decision} {which}.")
    text = "\n".join(lines)
    args = ", ".join(map(repr, [key.variant_id, *([name] if name else [])]))
    call = f"repl_pair.accept_snapshot({args})"
    advice = rules.accept or f"To accept what this run gave, the person calls {call}."
    reason = text + ("\n" if "\n" in text else " ") + advice
    expected = None if before is None else before.text
    return Verdict.of(reason, expected=expected, actual=given.text)


def no_secret(settled: RunView) -> Verdict:
    """`[]`: no known secret stands in anything that the run put out; the places are named.

    That is result, outputs, stdout, stderr, logs, warnings and effects.
    """
    learn_secrets()
    found: list[str] = []
    for root in ("result", "outputs", "stdout", "stderr", "logs", "warnings", "effects"):
        value = getattr(settled, root)
        secrets = [place[1:] for place in settled.secrets if place[0] == root]
        send_out(value, sensitive=secrets, limits=WIDE)
        out = send_out(open_up(value, as_columns), sensitive=secrets, limits=WIDE)
        found += _marked(out.value, root) if out.redacted else []
    reason = f"a secret stands at {', '.join(found)}" if found else ""
    return Verdict.of(reason, expected=[], actual=found)


def accept_snapshot(variant_id: str, name: str = "") -> str:
    """Store what the last run of a variant gave, so that `matches_snapshot` passes from then on.

    For the person: look at the run's output first. Gives the text that was stored.
    """
    found = stop_waiting(str(variant_id), name)
    if found is None:
        keys = (one.key for one in waiting_snapshots().values())
        waiting = sorted(key.variant_id for key in keys if key.name == name)
        raise RequestError(
            "not_found",
            f"No run of {_named(str(variant_id), name)} gave a snapshot that waits to be accepted."
            f"{did_you_mean(str(variant_id), waiting)} Run it first: what does not match waits.",
        )
    accept(found)
    return found.given.text


def snapshot_text(settled: RunView) -> str:
    """Return result and text outputs as one text that is equal in every process."""
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
        assert given.about is not None
        changes = describe_changes(before.about, given.about)
        which = f": {changes}" if changes else ""
        return f"{named} changed since its snapshot was stored{which}."
    return f"there is no snapshot of {named} yet."


def _named(variant_id: str, name: str) -> str:
    return f"{variant_id} {name!r}" if name else variant_id


def _marked(shown: Any, path: str) -> list[str]:
    if isinstance(shown, str):
        return [path] if REDACTED in shown else []
    if is_map(shown):
        pairs = [(join_path(path, key), REDACTED in str(key), item) for key, item in shown.items()]
    else:
        rows = shown if is_row(shown) else []
        pairs = [(join_path(path, at), False, item) for at, item in enumerate(rows)]
    found = [[at] if is_marked else _marked(item, at) for at, is_marked, item in pairs]
    return [place for places in found for place in places]
