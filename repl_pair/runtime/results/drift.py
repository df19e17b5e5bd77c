"""What changed since a run, or since it was watched: registrations, code, and both hashes."""

from collections.abc import Iterable, Mapping
from typing import Any, NotRequired, TypedDict

from repl_pair.errors import ReplPairError
from repl_pair.records import record
from repl_pair.runtime.planning.bound_names import bound_at
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.model import KINDS, Entry
from repl_pair.runtime.registry.outcomes import HASHES, Dependency, Identity
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.store import STORE


def is_stale(record: RunRecord) -> bool:
    """Return whether anything that a run rests on was registered again since, or left."""
    return not record.dependencies or bool(registered_again(record.dependencies))


def registered_again(rests: Iterable[Dependency]) -> list[Dependency]:
    """Return what was registered again, or left, since something was made that rests on it."""
    return [rest for rest in rests if _revision_now(*rest[:2]) != rest[2]]


def _revision_now(member: str, key: str) -> int:
    if not key:
        return STORE.revision(member)
    entry: Entry | None = STORE.item(member, key)
    return 0 if entry is None else entry.revision


def is_current(record: RunRecord, hashes: dict[tuple[Any, ...], str] | None = None) -> bool:
    """Return whether neither registration nor code, nor the file of what ran, changed since.

    Nor may a cell have run that gave a name which the code reads its value.

    `hashes` keeps those of the code that variants share, for calls at the same moment.
    """
    if is_stale(record) or record.identity is None or _is_bound_again(record):
        return False
    was, hashes = record.identity.code_hash, {} if hashes is None else hashes
    if (key := _shared_code(was, record.dependencies)) not in hashes:
        if (plan := plan_now(record.variant_id)) is None:
            return False
        hashes[key] = "" if plan.edited_file else plan.identity.code_hash
    return hashes[key] == was


def _is_bound_again(record: RunRecord) -> bool:
    return any(bound_at(name) != number for name, number in record.bound.items())


def _shared_code(code_hash: str, rests: Iterable[Dependency]) -> tuple[Any, ...]:
    """Return what variants have in common whose code is the same now if it was then."""
    collection = KINDS["variant"].collection
    return code_hash, tuple(rest[:2] for rest in rests if rest[0] != collection)


def counts_as_verdict(record: RunRecord) -> bool:
    """Return whether a run is of the current variant, and nothing was registered or bound again."""
    again = is_stale(record) or _is_bound_again(record)
    return not again and has_current_identity(record)


def has_current_identity(record: RunRecord) -> bool:
    """Return whether a run is of the current variant as it is registered, without changes since.

    Changes of comments, docs or layout do not count; what cannot be planned any more has changed,
    and what was edited and not reloaded.
    """
    if record.what_if or record.identity is None:
        return False
    plan = plan_now(record.variant_id, modes=record.active_modes)
    return plan is not None and plan.identity == record.identity and not plan.edited_file


def plan_now(variant_id: str, **wanted: Any) -> Plan | None:
    """Plan a variant as `plan_variant` does; None where that is refused."""
    try:
        return plan_variant(variant_id, **wanted)
    except ReplPairError:
        return None


@record
class Baseline:
    """What a variant was at one moment, and the entries that this rested on."""

    identity: Identity
    dependencies: tuple[Dependency, ...]
    overrides: Mapping[str, Any] | None = None


def baseline_of(run: RunRecord) -> Baseline | None:
    """Return what a variant was when it ran; None if it could not be planned then."""
    if run.identity is None:
        return None
    return Baseline(identity=run.identity, dependencies=run.dependencies, overrides=run.asked)


def baseline_now(variant_id: str) -> Baseline | None:
    """Return what a variant is; None where it cannot be planned."""
    plan = plan_now(variant_id)
    return (
        None if plan is None else Baseline(identity=plan.identity, dependencies=plan.dependencies)
    )


class Drift(TypedDict):
    """How a variant drifted: which hashes changed, and the entries and settings that did."""

    id: str
    drifted: list[str]
    registered_again: NotRequired[list[str]]


class DriftCheck:
    """A check of many variants; the code that they share is hashed once."""

    def __init__(self) -> None:
        self._code_now: dict[tuple[Any, ...], str] = {}

    def drift(self, before: Baseline) -> list[str]:
        """Name the hashes that changed: both where the variant can no longer be planned.

        Content is compared only where something that it rests on was registered again.
        """
        was, is_as_registered = before.identity, not registered_again(before.dependencies)
        key = _shared_code(was.code_hash, before.dependencies)
        if is_as_registered and self._code_now.get(key) == was.code_hash:
            return []
        plan = plan_now(was.variant_id, modes=was.active_modes, overrides=before.overrides)
        if plan is None:
            return list(HASHES)
        now = plan.identity
        self._code_now[key] = now.code_hash
        compared = HASHES[is_as_registered:]
        return [name for name in compared if getattr(was, name) != getattr(now, name)]

    def describe(
        self, variant_id: str, run: RunRecord | None, watched: Baseline | None
    ) -> Drift | None:
        """Describe how a variant drifted since it last ran, or was watched; None if it did not."""
        before = watched if run is None else baseline_of(run)
        drifted = [] if before is None else self.drift(before)
        if before is None or not drifted:
            return None
        drift = Drift(id=variant_id, drifted=drifted)
        if again := registered_again(before.dependencies):
            drift["registered_again"] = [
                f"{member.removeprefix('registry/')} {key}".strip() for member, key, _ in again
            ]
        return drift
