"""What agents called in this process, and what came of it, for the person to see."""

import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from repl_pair.errors import ReplPairError
from repl_pair.records import record
from repl_pair.runtime.surface import PERSONS, Collection, Store
from repl_pair.wire import PERSON, Reply, Request

ACTIVITY = Collection(name="activity", doc="The latest calls of agents, by number.")
PERSONS.declare(ACTIVITY)

KEPT = 1_000
ARGS_CHARS = 200
_SHORT = 60

Answer = Callable[[Reply], None]


@record
class Activity:
    """One call of an agent's; `state` is running, ok, or the code of its refusal.

    `at` is in epoch seconds, `args` a short text. `verdict` is the status of a run, `approval` the
    handle of the approval that it used, `reason` why it was refused.
    """

    n: int
    at: float
    principal: str
    client: str | None
    op: str
    args: str
    state: str = "running"
    elapsed_ms: float = 0.0
    redacted: int = 0
    elided: int = 0
    verdict: str = ""
    approval: str | None = None
    reason: str = ""


class ActivityLog:
    """Notes calls at take-up and at their answers; the oldest of more than 1,000 are dropped."""

    def __init__(self, store: Store = PERSONS) -> None:
        self._store = store
        self._numbers = itertools.count(1)

    def follow(self, request: Request, answer: Answer) -> Answer:
        """Note a call that is taken up; gives what notes its reply and then answers it."""
        if request.view.principal == PERSON:
            return answer
        begun = time.monotonic()
        noted = self._note(request)

        def note_and_answer(reply: Reply) -> None:
            elapsed_ms = round((time.monotonic() - begun) * 1000, 3)
            self._put(replace(noted, elapsed_ms=elapsed_ms, **_outcome(reply)))
            answer(reply)

        return note_and_answer

    def refuse(self, request: Request, error: ReplPairError) -> None:
        """Note a call that was not taken up."""
        if request.view.principal != PERSON:
            self._note(request, state=error.code, reason=error.message)

    def latest(self, limit: int = 100) -> list[Activity]:
        """Return the latest calls, the newest first."""
        keys = list(self._store.keys(ACTIVITY.name))[-limit:]
        found = [self._store.item(ACTIVITY.name, key) for key in reversed(keys)]
        return [activity for activity in found if activity is not None]

    def _note(self, request: Request, **slots: Any) -> Activity:
        noted = Activity(
            n=next(self._numbers),
            at=time.time(),
            principal=request.view.principal,
            client=request.client,
            op=request.op,
            args=args_text(request.args),
            approval=request.approval,
            **slots,
        )
        self._put(noted)
        self._store.remove(ACTIVITY.name, _key(noted.n - KEPT))
        return noted

    def _put(self, activity: Activity) -> None:
        self._store.put(ACTIVITY.name, _key(activity.n), activity)


def args_text(args: Mapping[str, Any]) -> str:
    """Write arguments on one short line."""
    said = ", ".join(f"{name}={_short(value)}" for name, value in args.items())
    return said if len(said) <= ARGS_CHARS else f"{said[: ARGS_CHARS - 1]}…"


def _short(value: Any) -> str:
    if isinstance(value, str) and len(value) > _SHORT:
        value = value[:_SHORT] + "…"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHORT + 3 else f"{text[:_SHORT]}…"


def _outcome(reply: Reply) -> dict[str, Any]:
    counts = {slot: reply.get(slot, 0) for slot in ("redacted", "elided")}
    if not reply["ok"]:
        return counts | {"state": reply["error"]["code"], "reason": reply["error"]["message"]}
    result = reply["result"]
    status = cast("dict[str, Any]", result).get("status") if isinstance(result, dict) else None
    return counts | {"state": "ok", "verdict": status if isinstance(status, str) else ""}


def _key(n: int) -> str:
    """Write a number so that keys sort as numbers do."""
    return f"{n:09d}"


LOG = ActivityLog()
"""The activity of this process."""
