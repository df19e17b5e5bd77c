"""The last result of each variant, kept without live objects."""

from collections.abc import Sequence
from itertools import count

from repl_pair.records import replace
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.results.drift import is_stale
from repl_pair.runtime.results.record import RegisteredAt, RunRecord
from repl_pair.runtime.results.retention import SHOWN, Total, lighten, without_outputs
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.store import STORE, Collection
from repl_pair.wire import PERSON, may_have

RESULTS = Collection(name="results", doc="The last run of each variant.")
STORE.declare(RESULTS)


MAX_GONE, _LOOK_EACH = 500, 100
"""How many results are kept of variants that are gone: they may be registered again."""
MAX_IN_MODES = 20
"""How many failures of one variant in modes of its own are kept beside its last run."""


def keep_result(record: RunRecord) -> None:
    """Keep the last run of a variant, without its live result and what is large in it.

    A what-if run replaces earlier ones for its agent and the person only, and no verdict. Of the
    runs in the variant's own modes those that failed are kept beside one that is without modes.
    """
    shown = None
    if record.result is not None:  # as bounded JSON, its secrets hidden; no code of it runs
        places = [place[1:] for place in record.sensitive if place[0] == "result"]
        out = send_out(record.result, sensitive=places, limits=SHOWN, secrets=record.secrets)
        shown = out.value
    lighter = lighten(record) | {"result": None, "last": None, "shown": shown}
    lighter["order"] = next(_orders)
    while True:
        old: RunRecord | None = STORE.item(RESULTS.name, record.variant_id)
        beside = [replace(r, earlier=()) for r in _runs(old) if _stays_beside(record, r)]
        in_modes = [r for r in beside if r.active_modes and not r.what_if]
        earlier = tuple(r for r in beside if not any(r is one for one in in_modes[MAX_IN_MODES:]))
        kept = replace(record, **lighter, earlier=earlier)
        if STORE.put(RESULTS.name, record.variant_id, kept, over=old):
            _total.note(record.variant_id, kept)
            if old is None and next(_firsts) % _LOOK_EACH == 0:
                _forget_gone()
            return


def _forget_gone() -> None:
    """Remove the earliest results of variants that are gone, but for MAX_GONE of them."""
    variants, kept = KINDS["variant"].collection, STORE.snapshot(RESULTS.name)
    gone = [run for id, run in kept.items() if STORE.item(variants, id) is None]
    for run in sorted(gone, key=lambda run: run.order)[:-MAX_GONE]:
        if STORE.remove(RESULTS.name, run.variant_id, only=run):
            _total.forget(run.variant_id)


def _show_no_more(variant_id: str) -> None:
    """Drop what the kept run of a variant shows, unless another one comes meanwhile."""
    if (old := STORE.item(RESULTS.name, variant_id)) is not None:
        STORE.put(RESULTS.name, variant_id, without_outputs(old), over=old)


_total = Total(_show_no_more)
_orders, _firsts = count(1), count(1)


def last_result(variant_id: str, principal: str = PERSON) -> RunRecord | None:
    """Return the last run of a variant that a principal may read, None before the first.

    It may be a what-if run: whoever reports how a variant does reads `last_verdict`.
    """
    runs = _runs(STORE.item(RESULTS.name, variant_id))
    return next((run for run in runs if may_have(principal, run.asked_by)), None)


def last_verdict(variant_id: str) -> RunRecord | None:
    """Return the last run of a variant as it is registered, None before the first.

    One that did not pass in a mode of its own counts before the one without modes, unless
    something was registered again since.
    """
    runs = [run for run in _runs(STORE.item(RESULTS.name, variant_id)) if not run.what_if]
    failed = [run for run in runs if run.status != "pass"]
    plain = (run for run in runs if not run.active_modes)
    fresh = (run for run in failed if len(runs) == 1 or not is_stale(run))
    return next((run for some in (fresh, plain, failed) for run in some), None)


def keep_in_modes(record: RunRecord) -> None:
    """Keep a run of a sweep in modes: the variant's last run is another one, so only a failure."""
    kept = _runs(STORE.item(RESULTS.name, record.variant_id))
    if record.status != "pass" or any(run.active_modes == record.active_modes for run in kept):
        keep_result(record)


def forget_result(variant_id: str, principal: str) -> None:
    """Forget the runs of a variant that a principal may read."""
    done = False
    while not done:
        old: RunRecord | None = STORE.item(RESULTS.name, variant_id)
        left = [run for run in _runs(old) if not may_have(principal, run.asked_by)]
        if left:
            kept = replace(left[0], earlier=tuple(left[1:]))
            done = STORE.put(RESULTS.name, variant_id, kept, over=old)
        else:
            done = STORE.remove(RESULTS.name, variant_id, only=old) or old is None


def _runs(latest: RunRecord | None) -> Sequence[RunRecord]:
    return () if latest is None else (latest, *latest.earlier)


def _stays_beside(latest: RunRecord, run: RunRecord) -> bool:
    """Return whether a run is still a verdict, or the last one for somebody.

    A what-if run ends with the next run that all may read; a failure in modes with the next run of
    other code, or of other entries.
    """
    if run.what_if:
        return latest.asked_by is not None and run.asked_by != latest.asked_by
    if latest.what_if or not run.active_modes:
        return bool(latest.what_if) or latest.active_modes != run.active_modes
    is_other = run.active_modes != latest.active_modes and run.status != "pass"
    return is_other and not is_stale(run) and _code_of(run) == _code_of(latest)


def _code_of(run: RunRecord) -> str:
    return "" if run.identity is None else run.identity.code_hash


def registered_at(plan: Plan) -> RegisteredAt:
    """Return where the variant of a plan was registered; empty if it is gone."""
    entry = plan.reached[("variant", plan.variant_id)]
    return {} if entry is None else {"where": entry.origin.label, "line": entry.origin.line}
