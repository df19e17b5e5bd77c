"""Ops that run variants, read what they last gave, and identify them."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from repl_pair.errors import RequestError
from repl_pair.records import to_dict
from repl_pair.runtime.hints import parameter_hints
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.model import RunRecord
from repl_pair.runtime.namespace import learn_beside
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.table import WAIT_S, op
from repl_pair.runtime.ops.visible import (
    Tags,
    VariantId,
    visible_entry,
    visible_ids,
    visible_variants,
)
from repl_pair.runtime.plain import sensitive_paths, to_plain
from repl_pair.runtime.plan import Plan, identify, plan_variant
from repl_pair.runtime.results import is_current, keep_result, last_result, speaks_for_itself
from repl_pair.runtime.runner import execute, on_this_loop, refused
from repl_pair.runtime.secrets import is_secret_key
from repl_pair.runtime.stopping import RunStopped, stop_of, this_section
from repl_pair.runtime.values import freeze

Modes = Annotated[list[str] | None, "Ids of modes to activate, in order"]
Overrides = Annotated[dict[str, Any] | None, "Args that replace or deepen the variant's"]

ANSWERED = (
    "status",
    "reason",
    "assertions",
    "total",
    "elapsed_ms",
    "effective_args",
    "identity",
    "result",
    "outputs",
    "phases",
    "stdout",
    "warnings",
)
"""The slots of a RunRecord that are answered, in this order; empty ones past `phases` are not."""


RUN_S = 30.0
"""What a run may take where the caller does not say."""

_BITMAPS = {"image/png": "iVBORw0KGgo", "image/jpeg": "/9j/"}
"""How each begins, in base64."""


def not_started(args: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """Give the answer of a run that never began."""
    return answer(RunRecord(variant_id=args["variant_id"], status="cannot_run", reason=reason))


def run_deadline(args: Mapping[str, Any]) -> float:
    """Give the seconds that a run may take once it has begun."""
    return float(args.get("timeout_s", RUN_S))


@op(access="run", lane="main", toolset="story", deadline=run_deadline, unstarted=not_started)
async def run_variant(
    call: Call,
    variant_id: VariantId,
    modes: Modes = None,
    overrides: Overrides = None,
    timeout_s: Annotated[float, "Seconds the run may take"] = RUN_S,
    wait_s: Annotated[float, "Seconds to wait for the person's running cell"] = WAIT_S,
    lane: Annotated[
        Literal["main", "worker"], "worker needs a thread_safe story, and does not wait for cells"
    ] = "main",
) -> dict[str, Any]:
    """Run one variant and its assertions; status is pass, fail, cannot_run or error."""
    # A stop that comes before or after the phases must not cost the caller their record.
    this_section().live = False
    visible_entry(call, "variant", variant_id)
    try:
        _refuse_secret_overrides(call, variant_id, overrides)
        plan = plan_variant(variant_id, modes=modes or (), overrides=overrides)
        _check_lane(call, plan, lane)
    except RequestError as error:
        return answer(refused(variant_id, error))
    try:
        record = await execute(
            plan, settle=on_this_loop, exclusive=lane == "main", keep=lambda _record: None
        )
    except (RunStopped, asyncio.CancelledError, KeyboardInterrupt) as error:
        record = _stopped_record(plan, stop_of(error))
    learn_beside(plan.component)
    record = replace(record, asked=overrides)
    if not call.cancelled.is_set():
        keep_result(record)
    call.sensitive.extend(record.sensitive)
    _suggest_after(call, record)
    return answer(record, call)


@op(access="read", toolset="story")
def read_assertions(call: Call, variant_id: VariantId) -> dict[str, Any]:
    """Read the assertions of a variant's last run; nothing runs."""
    record = _last(call, variant_id)
    call.sensitive.extend(record.sensitive)
    call.asked.append(record.asked)
    return _verdicts(record) | {"assertions": [to_dict(o) for o in record.assertions]}


@op(access="read", toolset="story")
def read_failures(
    call: Call, variant_id: Annotated[str | None, "Only this one; all by default"] = None
) -> dict[str, Any]:
    """Read what failed in the last runs; nothing runs."""
    if variant_id is not None:
        _last(call, variant_id)
    ids = [variant_id] if variant_id else visible_ids(call, "variant")
    runs = [r for id in ids if (r := last_result(id)) is not None]
    records = [record for record in runs if record.status != "pass"]
    for index, record in enumerate(records):
        call.asked.append(record.asked)
        call.sensitive.extend(("items", str(index), *path) for path in _sensitive_failures(record))
    if records:
        call.suggest(f"get_variant(variant_id={records[0].variant_id!r})")
    if not runs:
        call.notifications.append("No variant has been run yet: that nothing failed says nothing.")
        call.suggest("list_variants()")
    return {"items": [_failure(record) for record in records], "total": len(records)}


@op(access="read", toolset="story")
def tests_passing(
    call: Call,
    story_id: Annotated[str | None, "Only those of this story"] = None,
    tags: Tags = None,
) -> dict[str, Any]:
    """Tell whether all chosen variants last passed; none, unrun or stale is cannot_run."""
    if story_id is not None:
        visible_entry(call, "story", story_id)
    ids = visible_variants(call, story_id, tags)
    records = {id: last_result(id) for id in ids}
    waiting = [id for id, r in records.items() if r is None or not speaks_for_itself(r)]
    failed = [id for id, r in records.items() if r and id not in waiting and r.status != "pass"]
    status = "fail" if failed else "cannot_run" if waiting or not ids else "pass"
    call.suggest(*(f"run_variant(variant_id={id!r})" for id in waiting[:3]))
    return {
        "status": status,
        "total": len(ids),
        "passed": len(ids) - len(failed) - len(waiting),
        "failed": failed,
        "not_run_or_stale": waiting,
    } | ({} if ids else {"reason": "no variant is chosen, so nothing is shown to pass"})


@op(access="read", toolset="story")
def snapshot_identity(
    call: Call, variant_id: VariantId, modes: Modes = None, overrides: Overrides = None
) -> dict[str, Any]:
    """Give a variant's stable identity: a hash of its settled content and one of its code."""
    visible_entry(call, "variant", variant_id)
    _refuse_secret_overrides(call, variant_id, overrides)
    return to_dict(identify(plan_variant(variant_id, modes=modes or (), overrides=overrides)))


def answer(record: RunRecord, call: Call | None = None) -> dict[str, Any]:
    """Give a run as the agent gets it; with `call`, its images go whole."""
    whole = {slot: getattr(record, slot) for slot in ANSWERED}
    whole["assertions"] = [to_dict(o) for o in record.assertions]
    whole["phases"] = [to_dict(p) for p in record.phases]
    whole["identity"] = None if record.identity is None else to_dict(record.identity)
    if call is not None:
        whole["outputs"] = [_shown(bundle, call) for bundle in record.outputs]
    whole["effective_args"] = to_plain(record.effective_args)
    always = ANSWERED[: ANSWERED.index("phases") + 1]
    return {
        slot: value
        for slot, value in whole.items()
        if value or (slot in always and slot != "reason")
    }


def _shown(bundle: Mapping[str, Any], call: Call) -> dict[str, Any]:
    """Give what an agent can use of a MIME bundle: its text and its bitmaps."""
    return {
        mime: call.keep_whole(data) if _is_bitmap(mime, data) else data
        for mime, data in bundle.items()
        if mime.startswith("text/") or mime in _BITMAPS
    }


def _is_bitmap(mime: str, data: Any) -> bool:
    """Tell a bitmap from other text under its name, which may be a secret."""
    return isinstance(data, str) and mime in _BITMAPS and data.startswith(_BITMAPS[mime])


def _stopped_record(plan: Plan, stop: RunStopped) -> RunRecord:
    return RunRecord(
        variant_id=plan.variant_id,
        status=stop.status,
        reason=stop.reason,
        active_modes=plan.modes,
        effective_args=plan.args,
        identity=identify(plan),
        sensitive=tuple(("effective_args", *path) for path in sensitive_paths(plan.args)),
        revision=plan.revision,
    )


def _verdicts(record: RunRecord) -> dict[str, Any]:
    return {
        "variant_id": record.variant_id,
        "status": record.status,
        "reason": record.reason,
        "total": record.total,
        "stale": not is_current(record),
    }


def _failure(record: RunRecord) -> dict[str, Any]:
    failed = [to_dict(o) for o in record.assertions if not o.passed]
    errors = [to_dict(p) for p in record.phases if p.error]
    return _verdicts(record) | {"assertions": failed, "phases": errors}


def _sensitive_failures(record: RunRecord) -> list[tuple[str, ...]]:
    """Give the sensitive paths of outcomes as they count among the failed ones."""
    failed = [str(index) for index, o in enumerate(record.assertions) if not o.passed]
    return [
        ("assertions", str(failed.index(path[1])), *path[2:])
        for path in record.sensitive
        if path[0] == "assertions" and path[1] in failed
    ]


def _last(call: Call, variant_id: str) -> RunRecord:
    visible_entry(call, "variant", variant_id)
    record = last_result(variant_id)
    if record is None:
        raise RequestError(
            "cannot_run",
            f"{variant_id} has not been run yet.",
            next_steps=[f"run_variant(variant_id={variant_id!r})"],
        )
    return record


def _refuse_secret_overrides(
    call: Call, variant_id: str, overrides: Mapping[str, Any] | None
) -> None:
    """An agent that sets a secret argument could use the outcome to guess it."""
    if not overrides or call.view.principal == "person":
        return
    plan = plan_variant(variant_id)
    secret = {path[0] for path in sensitive_paths(plan.args)} | _secret_names(plan, overrides)
    touched = sorted(name for name in overrides if name in secret or is_secret_key(name))
    if touched:
        raise RequestError(
            "cannot_run",
            f"{', '.join(touched)} holds a secret: only the person overrides it.",
        )


def _secret_names(plan: Plan, overrides: Mapping[str, Any]) -> set[str]:
    hints = parameter_hints(plan.component)
    frozen = {n: freeze(v, hints.get(n, Any)) for n, v in overrides.items() if n in hints}
    return {path[0] for path in sensitive_paths(frozen)}


def _suggest_after(call: Call, record: RunRecord) -> None:
    if record.status != "pass":
        call.suggest(f"get_variant(variant_id={record.variant_id!r})")
        call.suggest(f"get_story(story_id={story_of(record.variant_id)!r})")


def _check_lane(call: Call, plan: Plan, lane: str) -> None:
    if lane == "worker" and not plan.story.thread_safe:
        call.suggest(f"run_variant(variant_id={plan.variant_id!r}, lane='main')")
        raise RequestError(
            "cannot_run",
            f"story {story_of(plan.variant_id)!r} is not registered with thread_safe=True",
        )
