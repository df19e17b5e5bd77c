"""The next step from a variant that fails, for who may write: a start for a corrected one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from repl_pair.runtime.body_data import body_data
from repl_pair.runtime.model import Entry, Variant
from repl_pair.runtime.ops.shown import secret_args, secrets_of_entry
from repl_pair.runtime.origin import is_agents
from repl_pair.runtime.registry import REGISTRY
from repl_pair.wire import REDACTED

MOST_CHARS = 600
"""How long a body may be that is said in a next step; the play is left out of a longer one."""


def correction(variant_id: str, status: str) -> Sequence[str]:
    """Give the call that corrects what does not pass, or takes out an agent's that does."""
    entry = REGISTRY.find("variant", variant_id)
    if entry is None:
        return ()
    own = is_agents(entry.origin)
    if status == "pass":
        return [f"unregister(kind='variant', id={variant_id!r})"] if own else ()
    id = variant_id if own else free_id("variant", variant_id)
    return [f"register_variant(variant_id={id!r}, body={_start(entry)})"]


def free_id(kind: str, id: str) -> str:
    """Give the next id like this one under which nothing is registered."""
    number = 2
    while REGISTRY.find(kind, f"{id}_{number}") is not None:
        number += 1
    return f"{id}_{number}"


def _start(entry: Entry) -> str:
    """Give the JSON of a body that is the variant's own again, without its secrets."""
    body: Variant = entry.body
    own = is_agents(entry.origin)
    above = _slots(body, "extends") if own else {"extends": entry.id}
    if secrets_of_entry(entry) or (not own and secret_args(entry)):
        return _write(above) or "{}"
    plays = _slots(body, "play", "plays")
    whole = _write({**above, **_slots(body, "args"), **plays})
    return whole or _write({**above, **plays}) or _write(above) or "{}"


def _slots(body: Variant, *names: str) -> Mapping[str, Any]:
    said = body_data(body)
    return {name: said[name] for name in names if name in said}


def _write(slots: Mapping[str, Any]) -> str:
    text = json.dumps(slots, ensure_ascii=False)
    return text if len(text) <= MOST_CHARS and REDACTED not in text else ""
