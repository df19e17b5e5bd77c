"""One run of a sweep in its worker, and the record that it returns."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import to_dict
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.planning.identity import UNKNOWN
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.registry.outcomes import EffectRecord, Identity, Outcome, StepRecord
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.running.copies import copy_state
from repl_pair.runtime.snapshots.review import WaitingSnapshot, take_waiting
from repl_pair.runtime.stopping.loops import drive, on_private_loop
from repl_pair.runtime.stopping.stop import defer_stops
from repl_pair.runtime.sweeps.shipping import RunTask, dump_by_name, unpack
from repl_pair.runtime.sweeps.sweep import refused_run, run_one
from repl_pair.runtime.values.classes import is_map, is_row

ONE_AT_A_TIME = threading.Lock()
"""Held by the run of a worker process: what it captures and registers is of the whole process."""

MAX_DEEP = 50
"""How deep what cannot be pickled is looked at for the parts that can."""

TaskResult = tuple[RunRecord, bytes, tuple[WaitingSnapshot, ...] | None]
"""What a worker returns: the bare form of a record, the record without its live result, pickled,
and the outputs that wait since; None where nothing ran, or they wait in this process already."""


def run_task(task: RunTask) -> TaskResult:
    """Run a task in the worker; what goes wrong before the run is a record of `cannot_run`."""
    is_here = task.boot == BOOT.id and task.pid == os.getpid()
    waiting = None
    try:
        if task.boot == BOOT.id and not is_here:
            raise RequestError(
                "cannot_run", "This worker is a fork of the process that sweeps, which is unsafe."
            )
        if is_here:
            found = _run(task, _check_thread_safe, exclusive=False)
        else:
            with ONE_AT_A_TIME:
                unpack(task)
                found = _run(task, partial(_check_same, meant=task.identity), exclusive=True)
                waiting = take_waiting(found.variant_id, found.active_modes)
    except RequestError as error:
        found = refused_run(task.pairing, error)
    return (*_pickle(replace(found, result=None, last=None, secrets=None)), waiting)


def _run(task: RunTask, check: Callable[[Plan], None], *, exclusive: bool) -> RunRecord:
    wait_for = on_private_loop
    with defer_stops():
        return drive(run_one(task.pairing, wait_for=wait_for, exclusive=exclusive, check=check))


def _check_thread_safe(plan: Plan) -> None:
    if not plan.story.thread_safe:
        raise RequestError(
            "cannot_run",
            "Its story does not say that it may run in threads: thread_safe=True, or an executor "
            "of processes.",
        )


def _check_same(plan: Plan, meant: Identity) -> None:
    here = plan.identity
    unsure = UNKNOWN in (here.code_hash, meant.code_hash)
    is_same = unsure or here.code_hash == meant.code_hash
    if here.content_hash != meant.content_hash or plan.edited_file or not is_same:
        raise RequestError(
            "cannot_run",
            f"In the worker process {plan.variant_id} is another one: its module was changed, or "
            "the worker has an older one. Reload it here and use fresh workers.",
        )


def _pickle(found: RunRecord) -> tuple[RunRecord, bytes]:
    kept = ("variant_id", "status", "active_modes", "total", "elapsed_ms", "identity")
    slots = {name: getattr(found, name) for name in kept}
    bare = RunRecord(**slots, reason=str(found.reason))
    try:
        return bare, dump_by_name(found)
    except Exception:  # noqa: BLE001  the person's values may refuse in any way
        return bare, dump_by_name(_sendable(found))


def _sendable(value: Any, around: frozenset[int] = frozenset()) -> Any:
    """Return a value whose parts that cannot be pickled are bounded plain copies.

    `around` are the ids of what holds it: what holds itself, or is deeper than `MAX_DEEP`, is
    copied too.
    """
    try:
        dump_by_name(value)
    except Exception:  # noqa: BLE001  the person's values may refuse in any way
        if id(value) in around or len(around) > MAX_DEEP:
            return copy_state(value)
        part = partial(_sendable, around=around | {id(value)})
        if isinstance(value, RunRecord | Outcome | StepRecord | EffectRecord):
            return replace(value, **{n: part(v) for n, v in to_dict(value).items()})
        if is_map(value):
            return {str(key): part(item) for key, item in value.items()}
        if is_row(value):
            items = map(part, value)
            return tuple(items) if isinstance(value, tuple) else list(items)
        return copy_state(value)
    return value
