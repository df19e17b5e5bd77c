"""The log of agents' calls in this process and their outcomes, for the person."""

import itertools
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from repl_pair.errors import ReplPairError
from repl_pair.records import record
from repl_pair.runtime.store import PERSON_STORE, Collection, Store
from repl_pair.wire import PERSON, OnReply, Reply, Request, cut_at_word, monotonic

ACTIVITY = Collection(name="activity", doc="The latest calls of agents, by number.")
PERSON_STORE.declare(ACTIVITY)

KEPT = 1_000
ARGS_CHARS = 200
CODE_CHARS, CODES_CHARS = 65_536, 4_000_000
"""How much code of one call is kept, and of all of them: the earliest go first."""
CODE_PARAMETERS: dict[str, str] = {}
"""The parameter that is code, by op."""
_SHORT = 60


@record
class Activity:
    """One call of an agent; `state` is running, ok, or the code of its refusal.

    One that was asked for and not made has the state of its approval: denied, withdrawn, expired.
    `at` is in epoch seconds, `args` a short text, `verdict` the status of a run, `approval` the
    handle of the approval that the call used, `reason` why it was refused. `has_code`: `code_of`
    knows what code was sent. `names` are those that it changed, as a short text.
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
    has_code: bool = False
    names: str = ""


class ActivityLog:
    """Records calls when they are accepted and answered; keeps the latest 1,000."""

    def __init__(self, store: Store = PERSON_STORE) -> None:
        self._store = store
        self._numbers = itertools.count(1)
        self._codes: dict[int, str] = {}

    def follow(self, request: Request, answer: OnReply) -> OnReply:
        """Record an accepted call; return what records its reply and then calls `answer`."""
        if request.view.principal == PERSON:
            return answer
        begun = monotonic()
        activity = self._record(request)

        def record_and_answer(reply: Reply) -> None:
            elapsed_ms = round((monotonic() - begun) * 1000, 3)
            done = replace(activity, elapsed_ms=elapsed_ms, **_outcome(reply))
            try:
                self._store.put(ACTIVITY.name, _key(activity.n), done)
            finally:
                answer(reply)

        return record_and_answer

    def refuse(self, request: Request, error: ReplPairError) -> None:
        """Record a call that was refused before it was accepted."""
        self.note(request, error.code, error.message)

    def note(self, request: Request, state: str, reason: str) -> None:
        """Record a call that was not made, and why."""
        if request.view.principal != PERSON:
            self._record(request, state=state, reason=reason)

    def latest(self, limit: int = 100) -> list[Activity]:
        """Return the latest calls, the newest first."""
        keys = self._store.keys(ACTIVITY.name)[-limit:]
        rows = (self._store.item(ACTIVITY.name, key) for key in reversed(keys))
        return [activity for activity in rows if activity is not None]

    def code_of(self, n: int) -> str | None:
        """Return the code that a call sent, None where it sent none or it is no longer kept."""
        return self._codes.get(n)

    def _record(self, request: Request, **slots: Any) -> Activity:
        n, code = next(self._numbers), request.args.get(CODE_PARAMETERS.get(request.op, ""))
        if isinstance(code, str):
            self._keep_code(n, cut_at_word(code, CODE_CHARS))
        activity = Activity(
            n=n,
            at=time.time(),
            principal=request.view.principal,
            client=request.client,
            op=request.op,
            args=args_text(request.args),
            approval=request.approval,
            has_code=n in self._codes,
            **slots,
        )
        self._store.put(ACTIVITY.name, _key(activity.n), activity)
        self._store.remove(ACTIVITY.name, _key(activity.n - KEPT))
        self._codes.pop(activity.n - KEPT, None)
        return activity

    def _keep_code(self, n: int, code: str) -> None:
        self._codes[n] = code
        while sum(map(len, self._codes.values())) > CODES_CHARS:
            self._codes.pop(min(self._codes), None)


def args_text(args: Mapping[str, Any]) -> str:
    """Return arguments as one short line of text."""
    words: list[str] = []
    for name, value in args.items():
        is_long = isinstance(value, str) and len(value) > _SHORT
        text = json.dumps(f"{value[:_SHORT]}…" if is_long else value, ensure_ascii=False)
        words.append(f"{name}={text if len(text) <= _SHORT + 3 else f'{text[:_SHORT]}…'}")
    line = ", ".join(words)
    return line if len(line) <= ARGS_CHARS else f"{line[: ARGS_CHARS - 1]}…"


def _outcome(reply: Reply) -> dict[str, Any]:
    counts = {slot: reply.get(slot, 0) for slot in ("redacted", "elided")}
    if not reply["ok"]:
        return counts | {"state": reply["error"]["code"], "reason": reply["error"]["message"]}
    result = reply["result"]
    slots = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    status, names = slots.get("status"), slots.get("names")
    verdict = status if isinstance(status, str) else ""
    return counts | {"state": "ok", "verdict": verdict, "names": _names_text(names)}


def _names_text(names: Any) -> str:
    """Return `added a, b; changed c` of the names in the answer to sent code."""
    if not isinstance(names, dict):
        return ""
    found = cast("dict[str, Any]", names).items()
    lists = [(what, cast("list[Any]", some)) for what, some in found if isinstance(some, list)]
    return cut_at_word("; ".join(f"{w} {', '.join(map(str, n))}" for w, n in lists), ARGS_CHARS)


def _key(n: int) -> str:
    """Return a number as a key; keys sort as the numbers do."""
    return f"{n:09d}"


LOG = ActivityLog()
"""The activity of this process."""
