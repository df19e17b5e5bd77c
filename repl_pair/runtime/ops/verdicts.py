"""Ops that read what the last runs gave; nothing runs."""

from typing import Annotated, Any, cast

from repl_pair.errors import RequestError
from repl_pair.records import to_dict
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.correcting import suggest_correction
from repl_pair.runtime.ops.run_answers import Failure, Failures, LastRun, Passing
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.registry.outcomes import show_outcome
from repl_pair.runtime.registry.visible import (
    Tags,
    VariantId,
    visible_entry,
    visible_ids,
    visible_variants,
)
from repl_pair.runtime.results.last import counts_as_verdict, is_current, last_result
from repl_pair.runtime.results.record import RunRecord


@op(access="read", toolset="core")
def read_assertions(call: Call, variant_id: VariantId) -> LastRun:
    """Read the assertions of a variant's last run; nothing runs."""
    record = _last(call, variant_id)
    call.sensitive.extend(record.sensitive)
    call.caller_values.append(record.asked)
    return cast(
        "LastRun", _verdict(record) | {"assertions": [show_outcome(o) for o in record.assertions]}
    )


@op(access="read", toolset="core")
def read_failures(
    call: Call, variant_id: Annotated[str | None, "Only this one; all by default"] = None
) -> Failures:
    """Read what failed in the last runs; nothing runs."""
    if variant_id is not None:
        _last(call, variant_id)
    ids = [variant_id] if variant_id else visible_ids(call.view, "variant")
    runs = [r for id in ids if (r := last_result(id)) is not None]
    records = [record for record in runs if record.status != "pass"]
    for index, record in enumerate(records):
        call.caller_values.append(record.asked)
        call.sensitive.extend(("items", str(index), *path) for path in _sensitive_failures(record))
    if records:
        call.suggest(f"get_variant(variant_id={records[0].variant_id!r})")
        suggest_correction(call, records[0].variant_id, records[0].status)
    if not runs:
        call.notifications.append("No variant has been run yet: that nothing failed says nothing.")
        call.suggest("list_variants()")
    return {"items": [_failure(record) for record in records], "total": len(records)}


@op(access="read", toolset="core")
def tests_passing(
    call: Call,
    story_id: Annotated[str | None, "Only those of this story"] = None,
    tags: Tags = None,
) -> Passing:
    """Return whether all chosen variants last passed; none, unrun or stale is cannot_run."""
    if story_id is not None:
        visible_entry(call.view, "story", story_id)
    ids = visible_variants(call.view, story_id, tags)
    records = {id: last_result(id) for id in ids}
    waiting = [id for id, r in records.items() if r is None or not counts_as_verdict(r)]
    failed = [id for id, r in records.items() if r and id not in waiting and r.status != "pass"]
    status = "fail" if failed else "cannot_run" if waiting or not ids else "pass"
    call.suggest(*(f"run_variant(variant_id={id!r})" for id in waiting[:3]))
    return cast(
        "Passing",
        {
            "status": status,
            "total": len(ids),
            "passed": len(ids) - len(failed) - len(waiting),
            "failed": failed,
            "not_run_or_stale": waiting,
        }
        | ({} if ids else {"reason": "no variant is chosen, so nothing is shown to pass"}),
    )


def _verdict(record: RunRecord) -> dict[str, Any]:
    slots = ("variant_id", "status", "reason", "total")
    return {slot: getattr(record, slot) for slot in slots} | {"stale": not is_current(record)}


def _failure(record: RunRecord) -> Failure:
    return cast(
        "Failure",
        _verdict(record)
        | {
            "assertions": [show_outcome(o) for o in record.assertions if not o.passed],
            "phases": [to_dict(p) for p in record.phases if p.error],
            "registered": record.registered,
        },
    )


def _sensitive_failures(record: RunRecord) -> list[tuple[str, ...]]:
    """Return the sensitive paths of outcomes as they count among the failed ones."""
    failed = [str(index) for index, o in enumerate(record.assertions) if not o.passed]
    return [
        ("assertions", str(failed.index(path[1])), *path[2:])
        for path in record.sensitive
        if path[0] == "assertions" and path[1] in failed
    ]


def _last(call: Call, variant_id: str) -> RunRecord:
    visible_entry(call.view, "variant", variant_id)
    record = last_result(variant_id)
    if record is None:
        raise RequestError(
            "cannot_run",
            f"{variant_id} has not been run yet.",
            next_steps=[f"run_variant(variant_id={variant_id!r})"],
        )
    return record
