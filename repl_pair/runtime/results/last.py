"""The last result of each variant, kept as a member of the surface without live objects."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.outcomes import Identity, Rest
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.truncate import Limits
from repl_pair.runtime.surface import STORE, Collection

RESULTS = Collection(name="results", doc="The last run of each variant.")
STORE.declare(RESULTS)


def keep_result(record: RunRecord) -> None:
    """Keep the last run of a variant, without its live result."""
    shown = None
    if record.result is not None:  # as bounded JSON, its secrets hidden; no code of it runs
        places = [place[1:] for place in record.sensitive if place[0] == "result"]
        limits = Limits(depth=6, width=100, text=4000, nodes=2000, whole=0)
        out = send_out(record.result, sensitive=places, limits=limits, request=record.asked)
        shown = out.value
    kept = replace(record, result=None, last=None, shown=shown)
    STORE.put(RESULTS.name, record.variant_id, kept)


def last_result(variant_id: str) -> RunRecord | None:
    """Return the last run of a variant, None before the first."""
    return STORE.item(RESULTS.name, variant_id)


def forget_result(variant_id: str) -> None:
    """Forget the last run of a variant."""
    STORE.remove(RESULTS.name, variant_id)


def is_stale(record: RunRecord) -> bool:
    """Return whether anything that a run is known to rest on was registered again since, or left.

    That is the variant, what it extends, its story, modes and decorators, the functions that they
    name, the effects that were emitted, and the global args and decorators.
    """
    return not record.rests_on or bool(registered_again(record.rests_on))


def registered_again(rests: Iterable[Rest]) -> list[Rest]:
    """Return what was registered again, or left, since something was made that rests on it."""
    return [rest for rest in rests if _revision_now(*rest[:2]) != rest[2]]


def _revision_now(member: str, key: str) -> int:
    if not key:
        return STORE.revision(member)
    entry: Entry | None = STORE.item(member, key)
    return 0 if entry is None else entry.revision


def is_current(record: RunRecord) -> bool:
    """Return whether neither registration nor code changed since the run."""
    if is_stale(record) or record.identity is None:
        return False
    now = _identity_now(record)
    return now is not None and now.code_hash == record.identity.code_hash


def counts_as_verdict(record: RunRecord) -> bool:
    """Return whether a run is of the current variant, and nothing was registered again."""
    return not is_stale(record) and has_current_identity(record)


def has_current_identity(record: RunRecord) -> bool:
    """Return whether a run is of the current variant: without modes, overrides or changes since.

    Changes of comments, docs or layout do not count; what cannot be planned any more has changed.
    """
    return record.identity is not None and _identity_now(record) == record.identity


def _identity_now(record: RunRecord) -> Identity | None:
    try:
        return plan_variant(record.variant_id).identity
    except RequestError:
        return None


def registered_at(plan: Plan) -> Mapping[str, Any]:
    """Return where the variant of a plan was registered: `{where, line}`; empty if it is gone."""
    entry = plan.reached[("variant", plan.variant_id)]
    return {} if entry is None else {"where": entry.origin.label, "line": entry.origin.line}
