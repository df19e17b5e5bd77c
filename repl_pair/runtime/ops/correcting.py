"""The next call that corrects a variant which does not pass."""

import json
from collections.abc import Mapping
from typing import Any

from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.registry.as_data import body_data
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.entries import secret_args_of, secrets_of_entry
from repl_pair.wire import REDACTED

MOST_CHARS = 600
"""How long the body in a next step may be; the args, then the play are left out of a longer one."""


def suggest_correction(call: Call, variant_id: str, status: str) -> None:
    """Suggest to who may write what corrects a variant that does not pass, or takes out one."""
    entry = REGISTRY.find("variant", variant_id)
    if entry is None or "write" not in call.view.access:
        return
    own = is_agents(entry.origin)
    if status != "pass":
        id = variant_id if own else free_id("variant", variant_id)
        call.suggest(f"register_variant(variant_id={id!r}, body={_start(entry)})")
    elif own:
        call.suggest(f"unregister(kind='variant', id={variant_id!r})")


def free_id(kind: str, id: str) -> str:
    """Return the next id like this one under which nothing is registered."""
    number = 2
    while REGISTRY.find(kind, f"{id}_{number}") is not None:
        number += 1
    return f"{id}_{number}"


def _start(entry: Entry) -> str:
    """Return the JSON of a body that is the variant's own again, without its secrets."""
    own = is_agents(entry.origin)
    data = body_data(entry.body)
    above = _slots(data, "extends") if own else {"extends": entry.id}
    tries = [above]
    if not (secrets_of_entry(entry) or (not own and secret_args_of(entry))):
        plays = above | _slots(data, "play", "plays")
        tries = [above | _slots(data, "args") | plays, plays, above]
    texts = [json.dumps(slots, ensure_ascii=False) for slots in tries]
    fitting = (text for text in texts if len(text) <= MOST_CHARS and REDACTED not in text)
    return next(fitting, "{}")


def _slots(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: data[name] for name in names if name in data}
