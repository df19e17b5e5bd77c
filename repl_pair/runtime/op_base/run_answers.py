"""What runs of variants and calls of code answer: what they gave, put out and raised."""

import sys
from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

from repl_pair.records import to_dict
from repl_pair.runtime.capture.bundles import leaving_of, texts_of
from repl_pair.runtime.op_base.answers import Preview, Run
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import filled, is_filled
from repl_pair.runtime.op_base.planned import Detail
from repl_pair.runtime.planning.plan import SUBSTRATE
from repl_pair.runtime.registry.outcomes import show_outcome
from repl_pair.runtime.registry.steps import ACTING
from repl_pair.runtime.results.record import RunRecord, raised_in
from repl_pair.runtime.running.captured_calls import CapturedCall
from repl_pair.runtime.secrets.egress import learn_from
from repl_pair.runtime.secrets.known import within
from repl_pair.runtime.signatures.outline import typed_slots
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.runtime.values.frozen import live_to_plain, to_plain

_BITMAPS = {"image/png": "iVBORw0KGgo", "image/jpeg": "/9j/"}
"""How each begins, in base64."""
SHORT_HTML, LONG_HTML = 200, sys.maxsize
"""Characters of HTML that a lean answer shows, not more than its other text takes; and any."""
_MADE = {"assertions", "outputs", "phases", "elapsed_ms", "effective_args", "identity"}
_FULL = {"last", "state", "events", "effects", "plays", "steps"}
"""Slots of a full answer: those that it always has, and those that may be empty."""

_SLOTS = ("stdout", "stderr", "unattributed")


class CapturedAnswer(TypedDict):
    """What came of a call; slots that may be missing are there where they hold something.

    `restored` names the settings of the process that the code changed and that were given back. In
    an `error` of type Stopped the place is where the code stood.
    """

    status: Literal["ok", "error", "cannot_run"]
    reason: NotRequired[str]
    still_running: NotRequired[bool]
    value: NotRequired[Any]
    stdout: NotRequired[str]
    stderr: NotRequired[str]
    outputs: NotRequired[list[dict[str, Any]]]
    unattributed: NotRequired[str]
    warnings: NotRequired[list[str]]
    logs: NotRequired[list[str]]
    restored: NotRequired[list[str]]
    elapsed_ms: float


def answer_not_started(_args: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
    """Return the answer of a call that never began."""
    return {**filled(**to_dict(stop)), "elapsed_ms": 0.0}


def answer_captured(call: Call, found: CapturedCall, **more: Any) -> dict[str, Any]:
    """Return the answer of a call that began, with the slots of `more` that hold something."""
    if found.is_secret:
        call.sensitive += [("value",), ("outputs",)]
    out, else_html = found.captured, "print what you need of it"
    slots: dict[str, Any] = {slot: out.text(slot) for slot in _SLOTS}
    slots |= {slot: list(out.entries(slot)) for slot in ("warnings", "logs")}
    slots["outputs"] = [
        show_bundle(call, bundle, html=SHORT_HTML, else_html=else_html) for bundle in out.bundles()
    ]
    slots |= {"error": found.error, **more, "restored": list(out.restored.values())}
    return {
        "status": found.status,
        **(filled(**to_dict(found.stop)) if found.stop else {}),
        **({"value": found.value} if found.has_value else {}),
        **filled(**slots),
        "elapsed_ms": found.elapsed_ms,
    }


def sensitive_failures(record: RunRecord) -> list[tuple[str, ...]]:
    """Return the sensitive paths of outcomes as they count among the failed ones."""
    failed = [str(index) for index, o in enumerate(record.assertions) if not o.passed]
    return [
        ("assertions", str(failed.index(path[1])), *path[2:])
        for path in record.sensitive
        if path[0] == "assertions" and path[1] in failed
    ]


def answer_run(record: RunRecord, call: Call | None = None, *, detail: Detail = "lean") -> Any:
    """Return a run as the agent gets it; with `call`, its images go whole."""
    acted, slots = any(step.line[0] in ACTING for step in record.steps), typed_slots(Run) or {}
    full = detail == "full"
    whole = {slot: getattr(record, slot) for slot in slots if slot != "errors"} | {
        "assertions": [show_outcome(one) for one in record.assertions if full or not one.passed],
        "effects": [to_dict(effect) for effect in record.effects],
        "steps": [to_dict(step) | {"line": to_plain(step.line)} for step in record.steps],
        "phases": [to_dict(phase) for phase in record.phases],
        "errors": raised_in(record),
        "identity": None if record.identity is None else to_dict(record.identity),
        "effective_args": {n: live_to_plain(arg) for n, arg in record.effective_args.items()},
        # These repeat other slots in most runs.
        "last": record.last if acted else None,
        "plays": list(filter(None, record.plays)),
        "what_if": list(record.what_if),
        "registered": record.registered if record.status != "pass" else None,
    }
    if call is not None:
        as_html = full or (record.identity is not None and record.identity.substrate != SUBSTRATE)
        chars = LONG_HTML if as_html else SHORT_HTML
        whole["outputs"] = [show_bundle(call, bundle, html=chars) for bundle in record.outputs]
    always = {slot for slot, (_, is_required) in slots.items() if is_required}
    always |= _MADE if full else set[str]()
    left_out = {"errors"} if full else (_MADE | _FULL) - {"assertions", "outputs"}
    return {
        slot: value
        for slot, value in whole.items()
        if slot not in left_out and (slot in always or is_filled(value))
    }


def show_bundle(
    call: Call, bundle: Mapping[str, Any], *, html: int, else_html: str = 'detail="full" has them'
) -> dict[str, Any]:
    """Return what an agent can use of a MIME bundle: its text, and its bitmaps as they are.

    What does not begin like a bitmap is other text under its name, which may be a secret.
    """
    shown: dict[str, Any] = {}
    for mime, data in leaving_of(bundle).items():
        if mime in _BITMAPS and isinstance(data, str) and data.startswith(_BITMAPS[mime]):
            shown[mime] = call.add_raw_json(data)
        elif mime == "text/html" and len(str(data)) > html:
            shown[mime] = f"[{len(str(data))} characters: {else_html}]"
        elif mime.startswith("text/") or mime in (*_BITMAPS, "application/json"):
            shown[mime] = data
    return shown


def answer_preview(record: RunRecord, call: Call | None = None, *, detail: Detail = "lean") -> Any:
    """Return a run up to its render as the agent gets it; no verdict is in it."""
    whole, slots = answer_run(record, call, detail=detail), typed_slots(Preview) or {}
    shown = {slot: value for slot, value in whole.items() if slot in slots}
    if "phases" in shown:
        shown["phases"] = [phase for phase in shown["phases"] if phase["phase"] != "play"]
    rendered = any(phase.phase == "render" and phase.error is None for phase in record.phases)
    head = {"variant_id": record.variant_id, "rendered": rendered, "asserted": False}
    text = "\n".join(texts_of(record.outputs))
    return head | ({"text": text} if text else {}) | shown


def note_places(call: Call, record: RunRecord, detail: Detail) -> None:
    """Note the sensitive places of a record as they stand in its answer.

    A secret that stands where a lean answer does not show it is one in what it shows.
    """
    if detail == "full":
        call.sensitive.extend(record.sensitive)
        return
    call.sensitive.extend(path for path in record.sensitive if path[0] != "assertions")
    call.sensitive.extend(sensitive_failures(record))
    unshown = (*_FULL, "effective_args", "assertions")
    with within(call.secrets):
        learn_from({s: getattr(record, s) for s in unshown}, sensitive=record.sensitive)
