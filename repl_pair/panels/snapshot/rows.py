"""What the snapshot panel says of one output that waits: how it differs, and its identity."""

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from repl_pair.panels.base.differing import change_json, table_difference, text_difference
from repl_pair.panels.base.tables import as_table
from repl_pair.runtime.snapshots.provenance import HASHES, SlotChange, compare_about
from repl_pair.runtime.snapshots.store import SNAPSHOTS, Images, Stored
from repl_pair.runtime.snapshots.waiting import Waiting
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.differences import MISSING
from repl_pair.wire import Json

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_OUTPUTS = "\n--- output "
"""Heads each output behind the result, in a stored text."""


def why_it_waits(waiting: Waiting) -> str:
    """Say `output` where only that changed, `content` where the variant did, else `new`."""
    if SNAPSHOTS.find(waiting.key) is not None:
        return "output"
    return "new" if SNAPSHOTS.find_other(waiting.key, waiting.about) is None else "content"


def baseline_of(waiting: Waiting) -> Stored | None:
    """Return what is stored of it, else what is stored of the variant as it was before."""
    return SNAPSHOTS.find(waiting.key) or SNAPSHOTS.find_other(waiting.key, waiting.about)


def compare(waiting: Waiting, stored: Stored | None) -> dict[str, Json]:
    """Return baseline and actual with how they differ, and the identities slot by slot."""
    before = None if stored is None else stored.text
    parsed = _parsed(before), _parsed(waiting.text)
    return {
        "id": waiting.id,
        "variant": waiting.key.variant_id,
        "name": waiting.key.name,
        "baseline": before,
        "actual": waiting.text,
        "text": text_difference(before or "", waiting.text),
        "table": _table(*parsed),
        "images": [*_kept_images(stored, waiting.given), *_own_images(*parsed)],
        "identity": _identity(stored, waiting),
    }


def _identity(stored: Stored | None, waiting: Waiting) -> dict[str, Json]:
    about = None if stored is None else stored.about
    slots = compare_about(about, waiting.about)
    return {
        "is_kept": about is not None,
        "has_baseline": stored is not None,
        "hashes": [_slot(slot) for slot in slots if slot.slot in HASHES],
        "slots": [_slot(slot) for slot in slots if slot.slot not in HASHES],
    }


def _slot(slot: SlotChange) -> dict[str, Json]:
    return {
        "slot": slot.slot,
        "before": None if slot.before is MISSING else slot.before,
        "after": slot.after,
        "changed": slot.is_changed,
        "changes": [change_json(change) for change in slot.changes],
    }


def _parsed(text: str | None) -> Any:
    """Read the result in a stored text as JSON; None where it is a text itself."""
    head = (text or "").partition(_OUTPUTS)[0]
    if not head.startswith(("{", "[")):
        return None
    try:
        return json.loads(head)
    except ValueError:
        return None


def _table(before: Any, after: Any) -> Json:
    tables = as_table(before), as_table(after)
    if tables[0] is None or tables[1] is None:
        return None
    told: Mapping[str, Json] = table_difference(tables[0], tables[1])
    return {**told, "kind": "table"}


def _kept_images(stored: Stored | None, given: Stored) -> list[dict[str, Json]]:
    """Return the images that were put out, each with the stored one of its name."""
    before: Images = {} if stored is None else stored.images
    names = sorted({*before, *given.images})
    return [_pair(name, _url(name, before), _url(name, given.images)) for name in names]


def _own_images(before: Any, after: Any) -> list[dict[str, Json]]:
    """Return the image of a result that is a MIME bundle itself."""
    sides = _bundled(before), _bundled(after)
    return [_pair("result", *sides)] if any(sides) else []


def _pair(name: str, before: str | None, after: str | None) -> dict[str, Json]:
    return {"name": name, "baseline": before, "actual": after, "same": before == after}


def _url(name: str, images: Images) -> str | None:
    if name not in images:
        return None
    kind = name.rpartition(".")[2].replace("jpg", "jpeg")
    return f"data:image/{kind};base64,{b64encode(images[name]).decode()}"


def _bundled(value: Any) -> str | None:
    if not is_map(value):
        return None
    found = (mime for mime in IMAGES if isinstance(value.get(mime), str))
    return next((f"data:{mime};base64,{value[mime]}" for mime in found), None)
