"""Ops that read what the last runs gave; nothing runs."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NotRequired, TypedDict, cast

from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.op_base.answers import Assertion, PhaseFault, Status
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.corrections import suggest_correction
from repl_pair.runtime.op_base.listing import Cursor, Limit, filled, page
from repl_pair.runtime.op_base.run_answers import sensitive_failures
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.registry.outcomes import Outcome, show_outcome
from repl_pair.runtime.registry.visible import (
    Tags,
    VariantId,
    visible_entry,
    visible_variants,
)
from repl_pair.runtime.results.drift import counts_as_verdict, is_current
from repl_pair.runtime.results.last_results import last_result, last_verdict
from repl_pair.runtime.results.record import RegisteredAt, RunRecord, raised_in

MAX_FAILURES, MAX_REASONS, MAX_SUGGESTED = 10, 10, 100


class LastRun(TypedDict):
    """A run of a variant; `stale`: something that it rests on has changed since.

    `what_if` is what made it no run of the variant as it is registered, and so no verdict;
    `asked_by` is the agent whose overrides it ran with: no other agent sees that.
    """

    variant_id: str
    status: Status
    reason: str
    total: int
    stale: bool
    active_modes: NotRequired[list[str]]
    what_if: NotRequired[list[str]]
    asked_by: NotRequired[str]
    assertions: list[Assertion]


class Failure(LastRun):
    """A last result that did not pass, with the assertions that failed and what was raised."""

    errors: NotRequired[list[PhaseFault]]
    registered: RegisteredAt


class SameReason(TypedDict):
    """How many failures have one reason, and the newest of them."""

    reason: str
    count: int
    variant_id: str


class Failures(TypedDict):
    """A page of the last results that did not pass, the newest first; `reasons` counts them all."""

    items: list[Failure]
    total: int
    reasons: NotRequired[list[SameReason]]
    cursor: NotRequired[str]


class Passing(TypedDict):
    """Whether the chosen variants last passed."""

    status: Status
    total: int
    passed: int
    failed: list[str]
    not_run_or_stale: list[str]
    reason: NotRequired[str]


@op(access="read", toolset="story")
def read_assertions(call: Call, variant_id: VariantId) -> LastRun:
    """Read the assertions of a variant's last run, also of a what-if run; nothing runs."""
    record = _last(call, variant_id, last_result(variant_id, call.view.principal))
    call.sensitive.extend(record.sensitive)
    call.secrets.include(record.secrets)
    if record.status != "pass":
        call.suggest("get_variant", variant_id=record.variant_id)
    return cast("LastRun", _verdict(record, record.assertions))


@op(access="read", toolset="core")
def read_failures(
    call: Call,
    variant_id: Annotated[str | None, "Only this; all by default"] = None,
    story_id: Annotated[str | None, "Of this story"] = None,
    tags: Tags = None,
    limit: Limit = MAX_FAILURES,
    cursor: Cursor = None,
) -> Failures:
    """Read what failed in the last runs of variants as they are registered; nothing runs."""
    if variant_id is not None:
        _last(call, variant_id, last_verdict(variant_id))
    if story_id is not None:
        visible_entry(call.view, "story", story_id)
    ids = [variant_id] if variant_id else visible_variants(call.view, story_id, tags)
    runs = [record for record in map(last_verdict, ids) if record is not None]
    failed = [record for record in runs if record.status != "pass"]
    failed.sort(key=lambda record: -record.order)
    call.max_items = limit
    asked = {"story_id": story_id, "tags": tags}
    query = [variant_id, asked, [record.order for record in failed]]
    chosen = page([r.variant_id for r in failed], limit=limit, cursor=cursor, query=query)
    by_id = {record.variant_id: record for record in failed}
    records = [by_id[id] for id in chosen["items"]]
    for index, record in enumerate(records):
        call.secrets.include(record.secrets)
        call.sensitive.extend(("items", str(index), *path) for path in sensitive_failures(record))
    if records:
        call.suggest("get_variant", variant_id=records[0].variant_id)
        suggest_correction(call, records[0].variant_id, records[0].status)
    if not runs:
        call.notifications.append("No variant has been run yet, so there is no result to report.")
        call.suggest("list_variants")
    found: Failures = {**chosen, "items": [_failure(record) for record in records]}
    if reasons := _same_reasons(call, failed):
        found["reasons"] = reasons
    return found


def _same_reasons(call: Call, failed: Sequence[RunRecord]) -> list[SameReason]:
    """Count the failures of each reason that several have, the most frequent first."""
    groups: dict[str, list[RunRecord]] = {}
    for record in failed:
        groups.setdefault(record.reason, []).append(record)
    several = sorted((some for some in groups.values() if len(some) > 1), key=len, reverse=True)
    for some in several[:MAX_REASONS]:
        call.secrets.include(some[0].secrets)
    return [
        {"reason": some[0].reason, "count": len(some), "variant_id": some[0].variant_id}
        for some in several[:MAX_REASONS]
    ]


@op(access="read", toolset="story")
def tests_passing(
    call: Call,
    story_id: Annotated[str | None, "Of this story"] = None,
    tags: Tags = None,
) -> Passing:
    """Return whether all chosen variants last passed; none, unrun or stale is cannot_run."""
    ids = visible_variants(call.view, story_id, tags)
    records = {id: last_verdict(id) for id in ids}
    waiting = [id for id, r in records.items() if r is None or not counts_as_verdict(r)]
    failed = [id for id, r in records.items() if r and id not in waiting and r.status != "pass"]
    status: Status = "fail" if failed else "cannot_run" if waiting or not ids else "pass"
    if len(waiting) == 1:
        call.suggest("run_variant", variant_id=waiting[0])
    elif waiting:  # by id: `changed` does not choose what was registered again as it was
        call.suggest("run_variants", ids=waiting[:MAX_SUGGESTED])
    found: Passing = {
        "status": status,
        "total": len(ids),
        "passed": len(ids) - len(failed) - len(waiting),
        "failed": failed,
        "not_run_or_stale": waiting,
    }
    if not ids:
        found["reason"] = "no variant is chosen, so nothing is shown to pass"
    return found


def _verdict(record: RunRecord, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    slots = ("variant_id", "status", "reason", "total")
    made_so = {
        "active_modes": list(record.active_modes),
        "what_if": list(record.what_if),
        "asked_by": record.asked_by,
    }
    read = {slot: getattr(record, slot) for slot in slots} | {"stale": not is_current(record)}
    return read | filled(**made_so) | {"assertions": list(map(show_outcome, outcomes))}


def _failure(record: RunRecord) -> Failure:
    failed = [outcome for outcome in record.assertions if not outcome.passed]
    more = filled(errors=raised_in(record)) | {"registered": record.registered}
    return cast("Failure", _verdict(record, failed) | more)


def _last(call: Call, variant_id: str, record: RunRecord | None) -> RunRecord:
    visible_entry(call.view, "variant", variant_id)
    if record is None:
        raise RequestError(
            "cannot_run",
            f"{variant_id} has not been run yet as it is registered.",
            next_steps=[next_step("run_variant", variant_id=variant_id)],
        )
    return record
