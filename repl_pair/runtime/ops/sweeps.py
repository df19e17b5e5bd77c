"""The op that runs many variants at once."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from repl_pair.errors import RequestError
from repl_pair.records import to_dict
from repl_pair.runtime.op_base.answers import Status
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import DEFAULT_LIMIT, MAX_LIMIT
from repl_pair.runtime.op_base.planned import RUN_S, Detail, Lane, Wait, check_lane
from repl_pair.runtime.op_base.table import WAIT_S, lane_terms, main_op, timeout_deadline
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.reading.bounded import cut_text
from repl_pair.runtime.registry.visible import Tags, visible_ids
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.running.run_records import stopped_record
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.handles import HANDLES
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.learning import learn_before_output
from repl_pair.runtime.secrets.truncation import Limits
from repl_pair.runtime.signatures.arguments import MAX_S, Bounds
from repl_pair.runtime.stopping.stop import Stop, this_section
from repl_pair.runtime.sweeps.matrix import pair, select
from repl_pair.runtime.sweeps.sweep import SweepRow, SweepState, run_one
from repl_pair.wire import monotonic

PROGRESS_S = 0.2
"""How long after one message of progress the next one comes, at the least."""
BREATH_S = 0.05
"""After how much of its time a sweep lets the event loop go on with other things."""
MAX_KEPT = 2_000
"""How many rows past those in the answer can be read on."""
REASON_CHARS = 300


class SweepLine(TypedDict):
    """One run of a sweep."""

    variant_id: str
    modes: NotRequired[list[str]]
    status: Status
    reason: NotRequired[str]
    total: int
    elapsed_ms: NotRequired[float]
    content_hash: NotRequired[str]


class MoreRows(TypedDict):
    """How many rows were left out, and how many of them `read_more` has."""

    rows: int
    kept: int
    handle: str


class Sweep(TypedDict):
    """Many runs: the rows of those that did not pass whole, in a full answer of all."""

    status: Status
    reason: NotRequired[str]
    total: int
    counts: dict[str, int]
    elapsed_ms: float
    items: list[SweepLine]
    more: NotRequired[MoreRows]
    still_running: NotRequired[bool]


@main_op(
    access="run",
    toolset="core",
    deadline=timeout_deadline(RUN_S),
    unfinished=lambda _args, stop: to_dict(stop) | {"total": 0, "items": list[Any]()},
    terms=lane_terms,
)
async def run_variants(
    call: Call,
    ids: Annotated[list[str] | None, "Variant ids; one unknown, and nothing runs"] = None,
    tags: Tags = None,
    changed: Annotated[bool, "Changed since a run without modes, or not run"] = False,
    story_id: Annotated[str | None, "Of this story"] = None,
    modes: Annotated[list[str] | None, "One combination for all; [] runs without modes"] = None,
    matrix: Annotated[
        Literal["all", "each"] | None,
        "Without modes: all combinations (usual) or each alone",
    ] = None,
    fail_fast: Annotated[bool, "End at the first not passed"] = False,
    limit: Annotated[int, Bounds(1, MAX_LIMIT), "Rows in the answer"] = DEFAULT_LIMIT,
    timeout_s: Annotated[float, Bounds(0, MAX_S), "Seconds the whole may take"] = RUN_S,
    wait_s: Wait = WAIT_S,
    lane: Lane = "main",
    detail: Annotated[Literal["lean", "full"], "full: all rows, with times and hashes"] = "lean",
) -> Sweep:
    """Run many variants x modes, one after the other; all, unless something is chosen.

    Answers the rows that did not pass whole, and counts. pass: some ran, and all passed.
    """
    if modes is not None and matrix is not None:
        raise RequestError("bad_arguments", "Give modes or matrix, not both. Nothing was run.")
    chosen = select(call.view, ids=ids, tags=tags, changed=changed, story=story_id)
    pairings = pair(
        chosen, matrix or "all" if modes is None else modes, known=visible_ids(call.view, "mode")
    )
    under_way = _UnderWay(call, SweepState(pairings, fail_fast=fail_fast), lane, limit, detail)
    call.unfinished = under_way.cut_short
    await under_way.run()
    return cast("Sweep", under_way.answer())


class _UnderWay:
    """One sweep of a caller's: its runs, its progress, and its answer."""

    def __init__(
        self, call: Call, state: SweepState, lane: str, limit: int, detail: Detail
    ) -> None:
        self._call = call
        self._state = state
        self._lane = lane
        self._limit = limit
        self._line = _line if detail == "full" else _lean_line
        self._shows_passes = detail == "full"
        self._at: int | None = None
        self._plan: Plan | None = None
        self._components: dict[int, Any] = {}
        self._reported = self._rested = monotonic()

    async def run(self) -> None:
        section = this_section()
        for place, pairing in self._state.remaining():
            self._at, self._plan = place, None
            found = await run_one(
                pairing,
                wait_for=self._call.wait_for,
                exclusive=self._lane == "main",
                caller=self._call.view.principal,
                check=self._check,
                records_stops=True,
            )
            if self._call.decided:
                return
            self._take(place, found)
            if section.wanted is not None:
                self._state.stop_reason = section.wanted.reason
            if monotonic() - self._rested >= BREATH_S:
                await self._call.wait_for(asyncio.sleep(0))
                self._rested = monotonic()

    def answer(self) -> dict[str, Any]:
        learn_before_output(self._components.values())
        sweep = self._state.summarize()
        if not sweep.total:
            self._call.suggest("list_variants")
            self._call.suggest("list_tags")
        rows = [r for r in sweep.rows if self._shows_passes or r.reason or r.status != "pass"]
        rows.sort(key=lambda row: ("fail", "error", "cannot_run", "pass").index(row.status))
        for row in rows[:1]:
            if row.status != "pass":
                modes = list(row.modes) or None
                self._call.suggest("run_variant", variant_id=row.variant_id, modes=modes)
        if any(row.status in ("fail", "error") and not row.modes for row in sweep.failing):
            self._call.suggest("read_failures")
        shown, rest = rows[: self._limit], rows[self._limit :]
        self._call.max_items = self._limit
        slots = ("status", *(["reason"] if sweep.reason else ()), "total", "counts", "elapsed_ms")
        head = {slot: getattr(sweep, slot) for slot in slots} | {
            "items": list(map(self._line, shown))
        }
        return head | ({"more": self._keep(rest)} if rest else {})

    def cut_short(self, stop: Stop) -> dict[str, Any]:
        """Return the answer of a sweep whose run under way does not end."""
        self._call.decide()
        if self._at is not None:
            id = self._state.pairings[self._at].variant_id
            unplanned = RunRecord(variant_id=id, **to_dict(stop))
            self._state.add(self._at, stopped_record(self._plan, stop) if self._plan else unplanned)
        self._state.stop_reason = self._state.stop_reason or stop.reason
        return self.answer() | ({"still_running": True} if stop.still_running else {})

    def _check(self, plan: Plan) -> None:
        self._plan = plan
        self._components[id(plan.component)] = plan.component
        check_lane(self._call, plan, self._lane)

    def _take(self, place: int, found: RunRecord) -> None:
        self._at = None
        self._state.add(place, found)
        done, total = self._state.done, len(self._state.pairings)
        if done == total or monotonic() - self._reported >= PROGRESS_S:
            self._reported = monotonic()
            self._call.progress(f"{done} of {total} runs: {found.variant_id} {found.status}")

    def _keep(self, rows: Sequence[SweepRow]) -> dict[str, Any]:
        """Keep the first of what is left, redacted, to be read on."""
        kept = rows[:MAX_KEPT]
        out = send_out(
            [self._line(row) for row in kept],
            limits=replace(Limits(), width=MAX_KEPT, nodes=100 * MAX_KEPT),
        )
        handle = HANDLES.keep(out.value, self._call.view.principal)
        self._call.suggest("read_more", handle=handle, limit=MAX_LIMIT)
        return {"rows": len(rows), "kept": len(kept), "handle": handle}


def _lean_line(row: SweepRow) -> dict[str, Any]:
    left_out = ("elapsed_ms", "content_hash")
    return {name: value for name, value in _line(row).items() if name not in left_out}


def _line(row: SweepRow) -> dict[str, Any]:
    """Return a row as it is answered; a reason is redacted before it is cut."""
    slots = to_dict(row) | {
        "modes": list(row.modes),
        "reason": cut_text(NEEDLES.scrub(row.reason)[0], REASON_CHARS),
    }
    return {name: value for name, value in slots.items() if value not in ("", [])}
