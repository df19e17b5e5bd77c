"""The assertion on stored outputs: what a run gave is compared, accepted, or stored."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.assertions.verdicts import WIDE
from repl_pair.runtime.assertions.view import RunView
from repl_pair.runtime.registry.ids import check_text
from repl_pair.runtime.registry.outcomes import Verdict
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.snapshots import review
from repl_pair.runtime.snapshots.artifacts import diff_lines, keep_difference
from repl_pair.runtime.snapshots.forms import compare_images, output_images, output_texts
from repl_pair.runtime.snapshots.made_up import hide_addresses
from repl_pair.runtime.snapshots.provenance import describe_changes
from repl_pair.runtime.snapshots.records import About, Images, SnapshotKey, Stored, Unreadable
from repl_pair.runtime.snapshots.states import Unstorable
from repl_pair.runtime.snapshots.store import SNAPSHOTS
from repl_pair.runtime.snapshots.texts import write_text
from repl_pair.runtime.values.marks import SHORTEST, SHORTEST_BESIDE
from repl_pair.runtime.values.takes import Share
from repl_pair.wire import REDACTED

LONGEST_DIFF = 40
_UNKNOWN_SECRET = (
    f"Where {REDACTED} stands, the process that stored it knew a secret that this one does not. "
    "Declare it as repl_pair.Secret or Annotated[..., repl_pair.Sensitive]: then all know it."
)


def matches_snapshot(settled: RunView, name: str = "", *, tolerance: Share = None) -> Verdict:
    """`[name?, {tolerance}]`: result and outputs are as in the stored snapshot of this variant.

    `tolerance` is the share of an image's pixels, 0 to 1, that may look different. The run is
    `cannot_run` where nothing is compared: none is stored, what is stored can't be read, or what
    the run gave can't be stored. The person accepts what the last run gave.
    """
    assert settled.identify is not None
    assert settled.about is not None
    check_text("the name of a snapshot is a text", name)
    identity, rules = settled.identify(), review.current_rules()
    modes = tuple(sorted(identity.active_modes))
    key = SnapshotKey(variant_id=identity.variant_id, modes=modes, name=name)
    is_hidden = ("outputs",) in settled.secrets
    try:
        images: Images = {} if is_hidden else output_images(settled.outputs)
        given = Stored(text=snapshot_text(settled), images=images)
    except Unstorable as error:
        rules.note(key, "differs")
        reason = f"{key.label} can't be stored: {error}."
        return Verdict(passed=False, reason=reason, compared=False)
    found = SNAPSHOTS.find(key)
    stored = found if isinstance(found, Stored) else None
    wrong, drawn = _image_faults(
        stored, images, rules.tolerance if tolerance is None else tolerance
    )
    # What only this process knows for a secret may stand in what another one stored.
    is_known = stored is None or stored.text == given.text
    plain = given.text if is_known else _write(settled, str)
    if stored is not None and stored.text in (given.text, plain) and not wrong:
        return _match(key, stored, rules, settled.about)
    given = replace(given, about=settled.about())
    if rules.update:
        return _update(key, given, rules)
    review.let_wait(review.WaitingSnapshot(key=key, given=given))
    rules.note(key, "differs")
    lines = [*_what_is_wrong(key, found, given), *wrong]
    if stored is not None and _differs_where_redacted(stored.text, plain):
        lines.append(_UNKNOWN_SECRET)
    if rules.artifacts is not None:
        lines.append(keep_difference(rules.artifacts, key, stored, given, drawn))
    gap = "\n" if len(lines) > 1 else " "
    call = ", ".join(map(repr, [key.variant_id, *([key.name] if key.name else [])]))
    call += f", modes={list(key.modes)}" if key.modes else ""
    advice = f"To accept what this run gave, the person calls repl_pair.accept_snapshot({call})."
    reason = "\n".join(lines) + gap + (rules.accept or advice)
    verdict = Verdict.of(reason, expected=stored and stored.text, actual=given.text)
    return verdict if stored else replace(verdict, compared=False)


def accept_snapshot(variant_id: str, name: str = "", *, modes: Sequence[str] | None = None) -> str:
    """Store what the last run of a variant gave, so that `matches_snapshot` passes from then on.

    For the person: look at the run's output first. Where outputs in several modes wait, `modes`
    chooses one; `bad_arguments` without it, `not_found` where none waits, `cannot_run` where the
    file cannot be written. Gives the text that was stored.
    """
    wanted = None if modes is None else tuple(sorted(modes))
    waiting = [one for one in review.waiting_snapshots().values() if one.key.name == name]
    of_variant = [one for one in waiting if one.key.variant_id == variant_id]
    fitting = [one for one in of_variant if wanted in (None, one.key.modes)]
    if len(fitting) > 1:
        choices = " or ".join(f"modes={list(one.key.modes)}" for one in fitting)
        what = f"Several outputs of {variant_id} wait: choose one with {choices}."
        raise RequestError("bad_arguments", what)
    if not fitting:
        label = SnapshotKey(variant_id=str(variant_id), modes=wanted or (), name=name).label
        raise RequestError(
            "not_found",
            f"No run of {label} gave a snapshot that waits to be accepted."
            f"{did_you_mean(str(variant_id), sorted({one.key.variant_id for one in waiting}))} "
            "Run it first: what does not match waits.",
        )
    review.accept(fitting[0])
    return fitting[0].given.text


def snapshot_text(settled: RunView) -> str:
    """Return result and text outputs as one text that is equal in every process.

    A secret in the result is hidden in its texts also where it is too short to be known elsewhere.
    Unstorable where the result has no lossless text.
    """
    learn_secrets()
    below = [place[1:] for place in settled.secrets if place[0] == "result"]
    hidden = list[Any]()  # also in what only the writer looks into
    text = _write(settled, lambda text: NEEDLES.scrub(text)[0], hidden)
    places = [*(("0", *place) for place in below), ("1",)]
    held = send_out([settled.result, hidden], sensitive=places, limits=WIDE).learned
    if not held:
        return text
    short = [one for one in held if SHORTEST_BESIDE <= len(one) < SHORTEST]
    any_of = "|".join(map(re.escape, sorted(short, key=len, reverse=True)))
    words = re.compile(rf"(?<!\w)(?:{any_of})(?!\w)" if short else r"(?!)")
    return _write(settled, lambda text: words.sub(REDACTED, NEEDLES.scrub(text)[0]))


def _write(settled: RunView, hide: Callable[[str], str], hidden: list[Any] | None = None) -> str:
    below = [place[1:] for place in settled.secrets if place[0] == "result"]
    texts = [write_text(settled.result, secret=below, hide=hide, hidden=hidden)]
    is_hidden = ("outputs",) in settled.secrets
    for at, text in enumerate(output_texts(settled.outputs, hide)):
        shown = REDACTED if is_hidden else hide_addresses(hide(text))
        texts.append(f"--- output {at}\n{_HEADING.sub(_ESCAPED, shown)}")
    return "\n".join(texts).rstrip("\n") + "\n"


_HEADING, _ESCAPED = re.compile(r"^\\*--- output ", re.MULTILINE), r"\\\g<0>"
"""A line of an output that looks like the heading of one, and how it is written."""


def _differs_where_redacted(stored: str, now: str) -> bool:
    """Return whether two texts differ only where the stored one has a marker."""
    first, *pieces = stored.split(REDACTED)
    at = len(first) if now.startswith(first) else -1
    for piece in pieces:
        at = -1 if at < 0 else now.find(piece, at)
        at += len(piece) if at >= 0 else 0
    return bool(pieces) and at >= 0 and now.endswith(pieces[-1])


def _image_faults(
    stored: Stored | None, given: Images, tolerance: float
) -> tuple[list[str], dict[str, bytes]]:
    """Return what differs, an image a line, and images that show where."""
    if stored is None:
        return [], {}
    faults: list[str] = []
    drawn: dict[str, bytes] = {}
    for name in sorted({*stored.images, *given}):
        if name not in given or name not in stored.images:
            faults.append(f"image {name} {'is not stored yet' if name in given else 'is gone'}")
            continue
        found = compare_images(stored.images[name], given[name], tolerance=tolerance)
        if found is not None:
            faults.append(f"image {name}: {found.words}")
            drawn |= {f"{name.rpartition('.')[0]}.png": found.diff} if found.diff else {}
    return faults, drawn


def _match(
    key: SnapshotKey, stored: Stored, rules: review.Rules, about: Callable[[], About]
) -> Verdict:
    """Pass; an update brings what the output was made of up to date, and nothing else does."""
    review.stop_waiting(key)
    if rules.update:
        if two := _two_outputs(key, stored, rules):
            return two
        now = about()
        if stored.about is None or describe_changes(stored.about, now):
            SNAPSHOTS.write(key, replace(stored, about=now))
    rules.note(key, "matched")
    return Verdict(passed=True)


def _update(key: SnapshotKey, given: Stored, rules: review.Rules) -> Verdict:
    if two := _two_outputs(key, given, rules):
        return two
    SNAPSHOTS.write(key, given)
    review.stop_waiting(key)
    rules.note(key, "stored")
    return Verdict(passed=True, reason=f"it was stored now: {rules.update}")


def _two_outputs(key: SnapshotKey, given: Stored, rules: review.Rules) -> Verdict | None:
    """Refuse to store two outputs under one name: the next comparison would fail."""
    if review.first_given(rules, key, given.digest) == given.digest:
        return None
    rules.note(key, "differs")
    return Verdict.of(
        f"{key.label} gave two outputs that differ in one update: {rules.apart}. What changes from "
        "run to run can't be stored.",
        actual=given.text,
    )


def _what_is_wrong(key: SnapshotKey, found: Stored | Unreadable | None, given: Stored) -> list[str]:
    if isinstance(found, Unreadable):
        return [f"{key.label}: what is stored can't be compared. {found}."]
    if found is None:
        return [f"there is no snapshot of {key.label} yet."]
    assert given.about is not None
    changes = describe_changes(found.about, given.about)
    since = f", and since then {changes}" if changes else ""
    lines = diff_lines(found.text, given.text)
    more = [f"… {len(lines) - LONGEST_DIFF} more lines"] if len(lines) > LONGEST_DIFF else []
    return [f"{key.label} is not as it was stored{since}:", *lines[:LONGEST_DIFF], *more]
