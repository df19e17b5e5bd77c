"""The person's op that shows what an agent sees of what their app publishes."""

from typing import NotRequired, TypedDict

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.op_base.answers import Items, Place
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.registry.exposure import hidden_because
from repl_pair.runtime.registry.model import PUBLISHED, Entry, Procedure
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.wire import AGENT, View


class Exposure(TypedDict):
    """A surface, member or function; `why` an agent does not see it, `tool` its name as a tool."""

    id: str
    kind: str
    seen: bool
    why: NotRequired[str]
    tool: NotRequired[str]
    registered: Place


@op(access="read", toolset="surface", internal=True, persons=True)
def list_exposure(
    call: Call, id: str | None = None, tier: str | None = None, expose_all: bool = False
) -> Items[Exposure]:
    """List what an agent sees of what the app publishes, and why it does not see the rest.

    id: that entry only, of a surface with all that stands on it. The agent's server has this tier
    and `--expose-all` or not.
    """
    entries = [entry for kind in PUBLISHED for entry in REGISTRY.snapshot(kind).values()]
    chosen = [entry for entry in entries if id is None or _is_at(entry.id, id)]
    if id is not None and not chosen:
        near = did_you_mean(id, [entry.id for entry in entries])
        raise RequestError(
            "not_found", f"No surface, member or function is registered as {id!r}.{near}"
        )
    view = View(principal=AGENT, tier=tier, expose_all=expose_all)
    items = [_describe(view, entry) for entry in sorted(chosen, key=lambda entry: entry.id)]
    call.max_items = len(items)
    return {"items": items, "total": len(items)}


def _is_at(id: str, wanted: str) -> bool:
    return id == wanted or id.startswith((f"{wanted}/", f"{wanted}."))


def _describe(view: View, entry: Entry) -> Exposure:
    why = hidden_because(view, entry)
    line: Exposure = {
        "id": entry.id,
        "kind": entry.kind,
        "seen": not why,
        "registered": {"where": entry.origin.label, "line": entry.origin.line},
    }
    if why:
        line["why"] = why
    if isinstance(entry.body, Procedure):
        line["tool"] = entry.body.tool
    return line
