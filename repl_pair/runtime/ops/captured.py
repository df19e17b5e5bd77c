"""The answers of ops that call code once: what it gave, put out, raised, and what stopped it."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

from repl_pair.records import to_dict
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import is_filled
from repl_pair.runtime.ops.running import SHORT_HTML, show_bundle
from repl_pair.runtime.running.captured_calls import CapturedCall
from repl_pair.runtime.stopping.stop import Stop

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


def answer_unbegun(_args: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
    """Return the answer of a call that never began."""
    return {**_slots_of(stop), "elapsed_ms": 0.0}


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
        **_slots_of(found.stop),
        **({"value": found.value} if found.has_value else {}),
        **{slot: value for slot, value in slots.items() if is_filled(value)},
        "elapsed_ms": found.elapsed_ms,
    }


def _slots_of(stop: Stop | None) -> dict[str, Any]:
    if stop is None:
        return {}
    return {slot: value for slot, value in to_dict(stop).items() if is_filled(value)}
