"""Whether a variant is still what it was: which of its hashes changed, and what was behind that."""

from collections.abc import Mapping
from typing import Any

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
    """What a variant was, and what that rested on."""

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


class Glance:
    """One look at many variants; the code that they share is hashed once."""

    def __init__(self) -> None:
        self._code_now: dict[tuple[Any, ...], str] = {}

    def drift(self, before: Baseline) -> list[str]:
        """Name the hashes that changed: both where the variant can no longer be planned.

        Content is compared only where something that it rests on was registered again.
        """
        was, is_as_registered = before.identity, not registered_again(before.rests_on)
        shared = tuple(rest[:2] for rest in before.rests_on if rest[0] != _VARIANTS)
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

    def told(self, variant_id: str, watched: Baseline | None) -> dict[str, Any] | None:
        """Describe how a variant drifted since its last run, or since it was watched; None if not.

        None too where it was neither run nor watched.
        """
        run = last_result(variant_id)
        before = watched if run is None else baseline_of(run)
        drifted = [] if before is None else self.drift(before)
        if before is None or not drifted:
            return None
        behind = [_named(rest) for rest in registered_again(before.rests_on)]
        said = {"id": variant_id, "drifted": drifted}
        return said | ({"registered_again": behind} if behind else {})


def _plan(variant_id: str, **wanted: Any) -> Plan | None:
    try:
        return plan_variant(variant_id, **wanted)
    except ReplPairError:
        return None


def _named(rest: Rest) -> str:
    member, key, _ = rest
    return f"{member.removeprefix('registry/')} {key}".strip()


_VARIANTS = KINDS["variant"].collection
