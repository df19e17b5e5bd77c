"""The last result of each variant, kept as a member of the surface without the live objects."""

from dataclasses import replace

from repl_pair.errors import RequestError
from repl_pair.runtime.identity import identify
from repl_pair.runtime.model import Entry
from repl_pair.runtime.plan import plan_variant
from repl_pair.runtime.run_record import Identity, Rest, RunRecord
from repl_pair.runtime.surface.primitives import Collection
from repl_pair.runtime.surface.store import STORE

RESULTS = Collection(name="results", doc="The last run of each variant.")
STORE.declare(RESULTS)


def keep_result(record: RunRecord) -> None:
    """Keep the last run of a variant; a live result is not held past its run."""
    STORE.put(RESULTS.name, record.variant_id, replace(record, result=None, last=None))


def last_result(variant_id: str) -> RunRecord | None:
    """Give the last run of a variant, None before the first."""
    return STORE.item(RESULTS.name, variant_id)


def forget_result(variant_id: str) -> None:
    """Forget the last run of a variant."""
    STORE.remove(RESULTS.name, variant_id)


def is_stale(record: RunRecord) -> bool:
    """Tell whether anything that a run is known to rest on was registered again since, or left.

    That is the variant, what it extends, its story, modes and decorators, the functions that they
    name, the effects that were emitted, and the global args and decorators.
    """
    return not record.rests_on or any(map(_has_changed, record.rests_on))


def _has_changed(rest: Rest) -> bool:
    member, key, revision = rest
    if not key:
        return STORE.revision(member) != revision
    entry: Entry | None = STORE.item(member, key)
    return revision != (0 if entry is None else entry.revision)


def is_current(record: RunRecord) -> bool:
    """Tell whether neither registration nor code changed since the run."""
    now = _identity_now(record)
    return (
        now is not None
        and record.identity is not None
        and now.code_hash == record.identity.code_hash
    )


def speaks_for_itself(record: RunRecord) -> bool:
    """Tell whether a run is one of the variant as it stands now: no mode, override or change."""
    return record.identity is not None and _identity_now(record) == record.identity


def _identity_now(record: RunRecord) -> Identity | None:
    if is_stale(record):
        return None
    try:
        return identify(plan_variant(record.variant_id))
    except RequestError:
        return None
