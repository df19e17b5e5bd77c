"""The op that records what the person does to the live objects of a variant."""

import threading
from typing import Annotated, Any, NotRequired, TypedDict, cast

from repl_pair.errors import AuthoringError, ReplPairError, RequestError
from repl_pair.runtime.clients.clients import check_pause
from repl_pair.runtime.op_base.answers import Identity
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.entering import Replaced, enter_body
from repl_pair.runtime.op_base.table import SPARE_S, op
from repl_pair.runtime.op_base.tier_names import shown_text
from repl_pair.runtime.registry.ids import VARIANT, check_id
from repl_pair.runtime.registry.visible import VariantId, visible_entry
from repl_pair.runtime.running.openings import openings_of
from repl_pair.runtime.running.recording import Recording, record
from repl_pair.runtime.signatures.arguments import Bounds

MAX_MS = 30_000
USUAL_MS = 10_000
TEXT_CHARS = 12_000


class RecordedVariant(TypedDict):
    """The dispatches of the person as Python text; the slots of `Registered` if it was written."""

    source: str
    count: int
    redacted: int
    live_objects: int
    written_back: NotRequired[bool]
    reason: NotRequired[str]
    kind: NotRequired[str]
    id: NotRequired[str]
    revision: NotRequired[int]
    origin: NotRequired[str]
    replaced: NotRequired[Replaced]
    identity: NotRequired[Identity]


@op(
    access="run",
    toolset="write",
    needs={"write_back": "write"},
    deadline=lambda args: float(args.get("duration_ms", USUAL_MS)) / 1000 + SPARE_S,
    stoppable=False,
)
def record_as_variant(
    call: Call,
    variant_id: VariantId,
    new_variant_id: Annotated[str, "Its id, e.g. pricing.quote/Recorded"],
    duration_ms: Annotated[int, Bounds(0, MAX_MS), "How long to listen"] = USUAL_MS,
    extends: Annotated[
        str | None, "Variant under it, '' for none; by default the recorded one"
    ] = None,
    doc: Annotated[str, "What the new variant shows"] = "",
    write_back: Annotated[bool, "Register it too"] = False,
) -> RecordedVariant:
    """Record what the person dispatches to live objects of a variant, as Python text.

    They go on working meanwhile: `live = repl_pair.live('…'); live.dispatch('add', sku='a')`.
    An event that holds a secret stays in its place as [redacted].
    """
    variant_id = visible_entry(call.view, "variant", variant_id).id
    check_id("variant", VARIANT, new_variant_id)
    ended = threading.Event()
    call.at_cancel(ended.set)
    recording = record(variant_id)
    if extends:  # what cannot be extended is refused before anything is recorded
        visible_entry(call.view, "variant", extends)
    try:
        recording.base_of(new_variant_id, extends)
    except AuthoringError as error:
        text = shown_text(call, error.message, own=new_variant_id)
        raise RequestError("bad_arguments", text) from error
    with recording:
        # Reported once it listens: the person may dispatch as soon as the agent reads this.
        call.progress(
            f"recording {variant_id}: {len(openings_of(variant_id))} live objects are open"
        )
        ended.wait(duration_ms / 1000)
    check_pause(call.view)
    call.max_items = TEXT_CHARS
    if not recording.events:
        call.notifications.append(
            f"Nothing was dispatched. Ask the person to: live = "
            f"repl_pair.live({recording.variant_id!r}); live.dispatch('…')"
        )
    return cast(
        "RecordedVariant",
        {
            "source": recording.to_source(new_variant_id, extends=extends, doc=doc),
            "count": len(recording.events),
            "redacted": recording.redacted,
            "live_objects": recording.openings,
            **(_write_back(call, recording, new_variant_id, extends, doc) if write_back else {}),
        },
    )


def _write_back(
    call: Call, recording: Recording, new_id: str, extends: str | None, doc: str
) -> dict[str, Any]:
    """Register what was recorded; a recording cannot be had again, so a refusal keeps its text."""
    body = recording.to_body(new_id, extends=extends, doc=doc)
    why = f"{', '.join(body.odd)} cannot be written as data; the person has to give it by a loader."
    if recording.redacted:
        why = f"{recording.redacted} events hold a secret: only the person can register them."
    if recording.redacted or body.odd:
        return {"written_back": False, "reason": why}
    try:
        return {"written_back": True} | enter_body(
            call, "variant", new_id, body.slots, is_sent=False
        )
    except ReplPairError as error:
        return {"written_back": False, "reason": error.message}
