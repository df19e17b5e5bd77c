"""The agent panel: who is attached, what they called, and the calls that wait for approval."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from repl_pair.errors import RequestError
from repl_pair.panels.agent.messages import AgentPatch, Detached, Overview, State
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import View
from repl_pair.panels.explorer.watches import WATCHED
from repl_pair.records import replace, to_dict
from repl_pair.runtime.clients.activity import ACTIVITY, LOG, Activity
from repl_pair.runtime.clients.approvals import APPROVALS, GRANTS, QUEUE
from repl_pair.runtime.clients.clients import (
    ATTACHED,
    CLIENTS,
    PAUSED,
    pause,
    paused_since,
    resume,
)
from repl_pair.runtime.clients.own_calls import PERSON
from repl_pair.runtime.kernel import attach
from repl_pair.runtime.op_base.approval_rows import (
    describe_approval,
    describe_grant,
    refuse_changed,
)
from repl_pair.runtime.results.markdown import Markdown, cell, code, fenced, prose, table
from repl_pair.runtime.store import PERSON_STORE
from repl_pair.runtime.sweeps.watching import WATCHES
from repl_pair.runtime.values.invisible import escape_invisible

LATEST = 200
"""How many calls a panel begins with."""
SENT = 20
"""Of how many of them the static form shows the code that was sent."""
OVERVIEW_MEMBERS = (APPROVALS.name, GRANTS.name, ATTACHED.name, PAUSED.name, WATCHED)


class AgentView(View[AgentPatch]):
    """Who is attached, what they called, and the calls that wait for your approval."""

    name = "agent"
    title = "Agents"
    placement = "top"
    waits_in = APPROVALS.name

    @staticmethod
    def count_waiting() -> int:
        """Return how many calls wait for approval."""
        return len(QUEUE.pending())

    def handle_changes(self, changes: Changes) -> None:
        """Send the calls that changed, and the overview where any of it did."""
        if ACTIVITY.name in changes:
            keys = changes[ACTIVITY.name]
            named = (PERSON_STORE.item(ACTIVITY.name, key) for key in sorted(keys or ()))
            called = LOG.latest(LATEST) if keys is None else filter(None, named)
            self.send({"calls": _rows(called)})
        if any(member in changes for member in OVERVIEW_MEMBERS):
            self.send({"overview": self._overview()})

    def on_state(self) -> State:
        """Return all that the panel shows."""
        return {"calls": _rows(LOG.latest(LATEST)), **self._overview()}

    def on_code(self, n: int) -> str | None:
        """Return the whole code that a call sent; None where it is no longer kept."""
        code = LOG.code_of(n)
        return None if code is None else escape_invisible(code)

    def on_answer(
        self,
        handle: str,
        decision: Literal["once", "session", "deny"],
        mark: str,
        reason: str = "",
    ) -> str:
        """Approve or deny a call that waits; return its state.

        RequestError `cannot_run` for an approval where it would do something else than was shown.
        """
        try:
            refuse_changed(QUEUE.find(handle), decision, mark)
        except RequestError:
            self.send({"overview": self._overview()})
            raise
        return QUEUE.answer(handle, decision, reason).state

    def on_outcome(self, handle: str) -> str:
        """Return what became of a call that waits no longer."""
        state = QUEUE.find(handle).state
        return "approved" if state == "used" else state

    def on_withdraw_grant(self, handle: str) -> bool:
        """Withdraw a grant: its calls need approval again."""
        return QUEUE.withdraw_grant(handle)

    def on_pause(self, paused: bool) -> None:
        """Refuse every request of agents, or accept them again."""
        (pause if paused else resume)()

    def on_detach(self, agreed: str = "") -> Detached:
        """Take the handlers of this package out of the kernel, and let no agent attach again.

        Nothing is done where something else ends with it than what the person `agreed` to.
        """
        loses = _find_losses()
        is_agreed = loses in ("", agreed)
        if is_agreed:
            attach.detach()
        return {"detached": is_agreed, "loses": loses}

    def text(self) -> Markdown:
        """Return what waits for the person, what agents called, and the code they sent."""
        latest = [*map(_spell_out, LOG.latest(LATEST))]
        counts = Counter((activity.principal, activity.op) for activity in latest)
        rows = [(cell(who), code(op), str(n)) for (who, op), n in sorted(counts.items())]
        called = table(("agent", "called", "times"), rows) or "No agent called anything."
        sent = [(one, LOG.code_of(one.n)) for one in latest if one.has_code][:SENT]
        blocks = [f"{cell(_outcome_of(one))}\n\n{fenced(text)}" for one, text in sent if text]
        return Markdown("\n\n".join([*_waiting_text(), called, *blocks]))

    def _overview(self) -> Overview:
        return {
            "clients": _principals(),
            "refused": CLIENTS.is_refused(),
            "pending": [describe_approval(each) for each in QUEUE.pending()],
            "grants": [describe_grant(each) for each in QUEUE.grants()],
            "paused": paused_since() is not None,
            "loses": _find_losses(),
        }


def _rows(calls: Iterable[Activity]) -> list[dict[str, Any]]:
    return [to_dict(_spell_out(call)) for call in calls]


def _spell_out(call: Activity) -> Activity:
    """Return a call with the invisible characters of its texts written out."""
    texts = [(slot, text) for slot, text in to_dict(call).items() if isinstance(text, str)]
    return replace(call, **{slot: escape_invisible(text, keep="") for slot, text in texts})


def _principals() -> list[str]:
    return [escape_invisible(client.principal, keep="") for client in CLIENTS.present()]


def _find_losses() -> str:
    """Return what of the person's a detach would end; empty where nothing."""
    waiting, watched = len(QUEUE.pending()), ", ".join(WATCHES.owned(PERSON))
    loses = [f"calls that wait for you are withdrawn: {waiting}"] if waiting else []
    loses += [f"your watches end: {watched}"] if watched else []
    return "; ".join(loses)


def _waiting_text() -> Iterator[str]:
    """Yield who is attached and whether agents are paused, and the calls that wait, if any."""
    clients = _principals()
    if clients:
        yield prose(f"{len(clients)} attached: {', '.join(dict.fromkeys(clients))}")
    if paused_since() is not None:
        yield "Agents are paused."
    rows = [
        (
            cell(asked["title"]),
            cell(asked["principal"]),
            code(asked["handle"]),
            code(f"repl-pair approve {asked['handle']}"),
        )
        for asked in map(describe_approval, QUEUE.pending())
    ]
    if rows:
        yield table(("waits for you", "agent", "handle", "answer in a terminal"), rows)


def _outcome_of(call: Activity) -> str:
    """Return who sent code, and what came of it: `agent: ok, added x`."""
    came = call.verdict or call.state
    return f"{call.principal}: {came}{', ' if call.names else ''}{call.names}"
