"""The agent panel: who is attached, what they called, and the calls that wait for approval."""

from collections import Counter
from typing import Literal

from repl_pair.panels.agent.messages import AgentPatch, Detached, Overview, State
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import View
from repl_pair.records import to_dict
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
from repl_pair.runtime.op_base.approval_rows import describe_approval, describe_grant
from repl_pair.runtime.results.markdown import Markdown, cell, code, fenced, table
from repl_pair.runtime.store import PERSON_STORE
from repl_pair.runtime.sweeps.watching import WATCHES
from repl_pair.runtime.values.invisible import escape_invisible

LATEST = 200
"""How many calls a panel begins with."""
SENT = 20
"""Of how many of them the static form shows the code that was sent."""
OVERVIEW_MEMBERS = (APPROVALS.name, GRANTS.name, ATTACHED.name, PAUSED.name)


class AgentView(View[AgentPatch]):
    """Who is attached, what they called, and the calls that wait for your approval."""

    name = "agent"
    title = "Agents"
    placement = "top"

    def handle_changes(self, changes: Changes) -> None:
        """Send the calls that changed, and the overview where any of it did."""
        if ACTIVITY.name in changes:
            keys = changes[ACTIVITY.name]
            named = (PERSON_STORE.item(ACTIVITY.name, key) for key in sorted(keys or ()))
            called = LOG.latest(LATEST) if keys is None else filter(None, named)
            self.send({"calls": list(map(to_dict, called))})
        if any(member in changes for member in OVERVIEW_MEMBERS):
            self.send({"overview": self._overview()})

    def on_state(self) -> State:
        """Return all that the panel shows."""
        return {"calls": list(map(to_dict, LOG.latest(LATEST))), **self._overview()}

    def on_code(self, n: int) -> str | None:
        """Return the whole code that a call sent; None where it is no longer kept."""
        code = LOG.code_of(n)
        return None if code is None else escape_invisible(code)

    def on_answer(
        self, handle: str, decision: Literal["once", "session", "deny"], reason: str = ""
    ) -> str:
        """Approve or deny a call that waits; return its state."""
        return QUEUE.answer(handle, decision, reason).state

    def on_withdraw_grant(self, handle: str) -> bool:
        """Withdraw a grant: its calls need approval again."""
        return QUEUE.withdraw_grant(handle)

    def on_pause(self, paused: bool) -> None:
        """Refuse every request of agents, or accept them again."""
        (pause if paused else resume)()

    def on_detach(self, sure: bool = False) -> Detached:
        """Take the handlers of this package out of the kernel, and let no agent attach again.

        Nothing is done before the person is `sure`, where something of theirs ends with it.
        """
        waiting, watched = len(QUEUE.pending()), ", ".join(WATCHES.owned(PERSON))
        loses = [f"calls that wait for you are withdrawn: {waiting}"] if waiting else []
        loses += [f"your watches end: {watched}"] if watched else []
        if sure or not loses:
            attach.detach()
            loses = []
        return {"detached": not loses, "loses": "; ".join(loses)}

    def text(self) -> Markdown:
        """Return how often agents called each op, and the latest code that they sent."""
        latest = LOG.latest(LATEST)
        counts = Counter((activity.principal, activity.op) for activity in latest)
        rows = [(cell(who), code(op), str(n)) for (who, op), n in sorted(counts.items())]
        called = table(("agent", "called", "times"), rows) or "No agent called anything."
        sent = [(one, LOG.code_of(one.n)) for one in latest if one.has_code][:SENT]
        blocks = [f"{cell(_outcome_of(one))}\n\n{fenced(text)}" for one, text in sent if text]
        return Markdown("\n\n".join([called, *blocks]))

    def _overview(self) -> Overview:
        return {
            "clients": [client.principal for client in CLIENTS.present()],
            "refused": CLIENTS.is_refused(),
            "pending": [describe_approval(each) for each in QUEUE.pending()],
            "grants": [describe_grant(each) for each in QUEUE.grants()],
            "paused": paused_since() is not None,
        }


def _outcome_of(call: Activity) -> str:
    """Return who sent code, and what came of it: `agent: ok, added x`."""
    came = call.verdict or call.state
    return f"{call.principal}: {came}{', ' if call.names else ''}{call.names}"
