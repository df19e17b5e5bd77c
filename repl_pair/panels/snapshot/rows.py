"""One snapshot that waits: how it differs from its baseline, and its identity."""

import json
from base64 import b64encode
from typing import Any

from repl_pair.panels.base.differing import change_json, table_difference, text_difference
from repl_pair.panels.base.tables import as_table
from repl_pair.panels.snapshot.messages import Comparison, IdentityShown, ImagePair, SlotShown
from repl_pair.runtime.snapshots.provenance import HASHES, SlotChange, compare_about
from repl_pair.runtime.snapshots.review import Waiting
from repl_pair.runtime.snapshots.store import SNAPSHOTS, Images, Stored
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.differences import MISSING

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_OUTPUTS = "\n--- output "
"""The line before each output, behind the result in a stored text."""


def why_it_waits(waiting: Waiting) -> str:
    """Return `output` where only that changed, `content` where the variant did, else `new`."""
    if SNAPSHOTS.find(waiting.key) is not None:
        return "output"
    return "new" if SNAPSHOTS.find_other(waiting.key, waiting.about) is None else "content"


def baseline_of(waiting: Waiting) -> Stored | None:
    """Return its stored baseline, else that of the variant as it was before."""
    return SNAPSHOTS.find(waiting.key) or SNAPSHOTS.find_other(waiting.key, waiting.about)


def compare(waiting: Waiting, stored: Stored | None) -> Comparison:
    """Compare a snapshot with its baseline, and their identities slot by slot."""
    before = None if stored is None else stored.text
    parsed = [_parsed(before), _parsed(waiting.text)]
    tables = [as_table(side) for side in parsed]
    # The images of the outputs, each with the stored one of its name; then that of a result which
    # is a MIME bundle itself.
    kept: Images = {} if stored is None else stored.images
    given = waiting.given.images
    images = [_pair(name, _url(name, kept), _url(name, given)) for name in sorted({*kept, *given})]
    own = [_image_in(side) for side in parsed]
    images += [_pair("result", *own)] if any(own) else []
    return {
        "id": waiting.id,
        "variant": waiting.key.variant_id,
        "name": waiting.key.name,
        "baseline": before,
        "actual": waiting.text,
        "text": text_difference(before or "", waiting.text),
        "table": None
        if tables[0] is None or tables[1] is None
        else {**table_difference(tables[0], tables[1]), "kind": "table"},
        "images": images,
        "identity": _identity(stored, waiting),
    }


def _identity(stored: Stored | None, waiting: Waiting) -> IdentityShown:
    about = None if stored is None else stored.about
    slots = compare_about(about, waiting.about)
    return {
        "is_kept": about is not None,
        "has_baseline": stored is not None,
        "hashes": [_slot(slot) for slot in slots if slot.slot in HASHES],
        "slots": [_slot(slot) for slot in slots if slot.slot not in HASHES],
    }


def _slot(slot: SlotChange) -> SlotShown:
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


def _pair(name: str, before: str | None, after: str | None) -> ImagePair:
    return {"name": name, "baseline": before, "actual": after, "same": before == after}


def _url(name: str, images: Images) -> str | None:
    if name not in images:
        return None
    kind = name.rpartition(".")[2].replace("jpg", "jpeg")
    return f"data:image/{kind};base64,{b64encode(images[name]).decode()}"


def _image_in(value: Any) -> str | None:
    if not is_map(value):
        return None
    mimes = (mime for mime in IMAGES if isinstance(value.get(mime), str))
    return next((f"data:{mime};base64,{value[mime]}" for mime in mimes), None)
