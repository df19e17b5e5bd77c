"""An output beside the stored one, as the panel shows it: text, table, images and identity."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from repl_pair.panels.base.differing import change_json, text_difference
from repl_pair.panels.base.tables import as_table, table_difference
from repl_pair.panels.snapshot import messages
from repl_pair.panels.snapshot.parsing import parse_result
from repl_pair.runtime.reading.bounded import MISSING
from repl_pair.runtime.registry.outcomes import HASHES
from repl_pair.runtime.snapshots.forms import SUFFIXES
from repl_pair.runtime.snapshots.provenance import SlotChange, compare_about
from repl_pair.runtime.snapshots.records import Images, Stored
from repl_pair.runtime.snapshots.review import WaitingSnapshot
from repl_pair.runtime.values.classes import is_map

_OUTPUTS = "\n--- output "
"""The line before each output, behind the result in a stored text."""


def compare(waiting: WaitingSnapshot, stored: Stored | None) -> messages.Comparison:
    """Compare a snapshot with its baseline, and their identities slot by slot."""
    before = None if stored is None else stored.text
    texts = (before or "", waiting.given.text)
    parsed = [parse_result(text.partition(_OUTPUTS)[0]) for text in texts]
    tables = [as_table(side) for side in parsed]
    # The images of the outputs, each with the stored one of its name; then that of a result which
    # is a MIME bundle itself.
    kept: Images = {} if stored is None else stored.images
    given = waiting.given.images
    images = [_pair(name, _url(name, kept), _url(name, given)) for name in sorted({*kept, *given})]
    own = [_image_in(side) for side in parsed]
    images += [_pair("result", *own)] if any(own) else []
    about = None if stored is None else stored.about
    slots = compare_about(about, waiting.about)
    return {
        "digest": waiting.given.digest,
        "baseline": before,
        "actual": waiting.given.text,
        "text": text_difference(before or "", waiting.given.text),
        "table": _table(tables, texts),
        "images": images,
        "identity": {
            "is_kept": about is not None,
            "has_baseline": stored is not None,
            "hashes": [_slot(slot) for slot in slots if slot.slot in HASHES],
            "slots": [_slot(slot) for slot in slots if slot.slot not in HASHES],
        },
    }


def _table(tables: Sequence[Any], texts: Sequence[str]) -> Any:
    """Return how two results differ as tables; None where that would not show what differs."""
    if tables[0] is None or tables[1] is None:
        return None
    found = table_difference(tables[0], tables[1])
    is_shown = found["changed"] > 0 or texts[0] == texts[1]
    return {**found, "kind": "table"} if is_shown else None


def _slot(slot: SlotChange) -> messages.SlotShown:
    return {
        "slot": slot.slot,
        "before": None if slot.before is MISSING else slot.before,
        "after": slot.after,
        "changed": slot.is_changed,
        "changes": [change_json(change) for change in slot.changes],
    }


def _pair(name: str, before: str | None, after: str | None) -> messages.ImagePair:
    return {"name": name, "baseline": before, "actual": after, "same": before == after}


def _url(name: str, images: Images) -> str | None:
    if name not in images:
        return None
    kind = name.rpartition(".")[2].replace("jpg", "jpeg")
    return f"data:image/{kind};base64,{b64encode(images[name]).decode()}"


def _image_in(value: Any) -> str | None:
    if not is_map(value):
        return None
    mimes = (mime for mime in SUFFIXES if isinstance(value.get(mime), str))
    return next((f"data:{mime};base64,{value[mime]}" for mime in mimes), None)
