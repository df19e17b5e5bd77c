"""The next call that corrects a variant, and the id that is free beside it."""

import json
from collections.abc import Mapping
from typing import Any

from repl_pair.errors import STEP_CHARS
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.registry.as_data import body_data
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import agent_origin, may_replace
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.entries import secret_args_of, secrets_of_entry
from repl_pair.wire import REDACTED


def suggest_correction(call: Call, variant_id: str, status: str) -> None:
    """Suggest to who may write what corrects a variant that fails, or unregisters one."""
    entry = REGISTRY.find("variant", variant_id)
    if entry is None or "write" not in call.view.access:
        return
    own = may_replace(agent_origin(call.view.principal), entry.origin)
    if status != "pass":
        id = variant_id if own else free_id("variant", variant_id)
        call.suggest("register_variant", variant_id=id, body=_start(entry, own))
    elif own:
        call.suggest("unregister", kind="variant", id=variant_id)


def free_id(kind: str, id: str) -> str:
    """Return the next id like this one under which nothing is registered."""
    number = 2
    while REGISTRY.find(kind, f"{id}_{number}") is not None:
        number += 1
    return f"{id}_{number}"


def _start(entry: Entry, own: bool) -> dict[str, Any]:
    """Return a body that is the variant's own again, without its secrets.

    Of one that is too long the args, then the play are left out.
    """
    data = body_data(entry.body)
    above = _slots(data, "extends") if own else {"extends": entry.id}
    tries = [above]
    if not (secrets_of_entry(entry) or (not own and secret_args_of(entry))):
        plays = above | _slots(data, "play", "plays")
        tries = [above | _slots(data, "args") | plays, plays, above]
    fitting = (slots for slots in tries if _is_short(json.dumps(slots, ensure_ascii=False)))
    empty: dict[str, Any] = {}
    return next(fitting, empty)


def _is_short(text: str) -> bool:
    return len(text) <= STEP_CHARS and REDACTED not in text


def _slots(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: data[name] for name in names if name in data}
