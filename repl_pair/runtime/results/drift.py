"""Drift: which hashes of a variant changed since it ran, and what was registered again."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from repl_pair.errors import ReplPairError
from repl_pair.records import record
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.outcomes import Identity, Rest
from repl_pair.runtime.results.last import last_result, registered_again
from repl_pair.runtime.results.record import RunRecord

HASHES = ("content_hash", "code_hash")


@record
class Baseline:
    """What a variant was at one moment, and the entries that this rested on."""

    identity: Identity
    rests_on: tuple[Rest, ...]
    overrides: Mapping[str, Any] | None = None


def baseline_of(run: RunRecord) -> Baseline | None:
    """Return what a variant was when it ran; None if it could not be planned then."""
    if run.identity is None:
        return None
    return Baseline(identity=run.identity, rests_on=run.rests_on, overrides=run.asked)


def baseline_now(variant_id: str) -> Baseline | None:
    """Return what a variant is; None where it cannot be planned."""
    plan = _plan(variant_id)
    return None if plan is None else Baseline(identity=plan.identity, rests_on=plan.rests_on)


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
        was, is_as_registered = before.identity, not registered_again(before.rests_on)
        shared = tuple(
            rest[:2] for rest in before.rests_on if rest[0] != KINDS["variant"].collection
        )
        key = (was.code_hash, shared)
        if is_as_registered and self._code_now.get(key) == was.code_hash:
            return []
        plan = _plan(was.variant_id, modes=was.active_modes, overrides=before.overrides)
        if plan is None:
            return list(HASHES)
        now = plan.identity
        self._code_now[key] = now.code_hash
        compared = HASHES[is_as_registered:]
        return [name for name in compared if getattr(was, name) != getattr(now, name)]

    def describe(self, variant_id: str, watched: Baseline | None) -> Drift | None:
        """Describe how a variant drifted since its last run, or since it was watched.

        None if it did not, and where it was neither run nor watched.
        """
        run = last_result(variant_id)
        before = watched if run is None else baseline_of(run)
        drifted = [] if before is None else self.drift(before)
        if before is None or not drifted:
            return None
        drift = Drift(id=variant_id, drifted=drifted)
        if again := registered_again(before.rests_on):
            drift["registered_again"] = [
                f"{member.removeprefix('registry/')} {key}".strip() for member, key, _ in again
            ]
        return drift


def _plan(variant_id: str, **wanted: Any) -> Plan | None:
    try:
        return plan_variant(variant_id, **wanted)
    except ReplPairError:
        return None
