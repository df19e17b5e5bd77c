"""The agent panel: who is attached, what they called, and what waits for the person's decision."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import View
from repl_pair.records import to_dict
from repl_pair.runtime.clients import pausing
from repl_pair.runtime.clients.activity import ACTIVITY, LOG, Activity
from repl_pair.runtime.clients.approvals import APPROVALS, GRANTS, QUEUE
from repl_pair.runtime.clients.clients import ATTACHED, CLIENTS
from repl_pair.runtime.clients.pausing import PAUSED
from repl_pair.runtime.clients.previews import describe_approval, describe_grant
from repl_pair.runtime.kernel import attach
from repl_pair.runtime.results.markdown import Markdown, cell, code, table
from repl_pair.runtime.surface import PERSONS

LATEST = 200
"""How many calls a panel begins with."""
OVERVIEW_MEMBERS = (APPROVALS.name, GRANTS.name, ATTACHED.name, PAUSED.name)


class AgentView(View):
    """Who is attached, what they called, and what waits for your decision."""

    name = "agent"
    title = "Agents"
    placement = "top"

    def handle_changes(self, changes: Changes) -> None:
        """Patch the calls that changed, and all that stands where any of that did."""
        if ACTIVITY.name in changes:
            keys = changes[ACTIVITY.name]
            called = LOG.latest(LATEST) if keys is None else _activities(keys)
            self.send({"type": "calls", "calls": [to_dict(each) for each in called]})
        if any(member in changes for member in OVERVIEW_MEMBERS):
            self.send({"type": "overview", **self.overview()})

    def on_state(self) -> Mapping[str, Any]:
        """Return all of it."""
        calls = [to_dict(activity) for activity in LOG.latest(LATEST)]
        return {"calls": calls, **self.overview()}

    def on_answer(
        self, handle: str, decision: Literal["once", "session", "deny"], reason: str = ""
    ) -> str:
        """Return the person's decision on a call that waits for it."""
        return QUEUE.answer(handle, decision, reason).state

    def on_withdraw_grant(self, handle: str) -> bool:
        """Have calls of a grant ask again."""
        return QUEUE.withdraw_grant(handle)

    def on_pause(self, paused: bool) -> None:
        """Refuse every request of agents, or take them up again."""
        (pausing.pause if paused else pausing.resume)()

    def on_detach(self) -> bool:
        """Take everything out of the kernel and let no agent in again."""
        return attach.detach()

    def overview(self) -> Mapping[str, Any]:
        """Return what stands now: who is attached, what waits, what was granted, the pause."""
        return {
            "clients": [
                {"id": client.id, "principal": client.principal, "pid": client.pid}
                for client in CLIENTS.present()
            ],
            "refused": CLIENTS.is_refused(),
            "pending": [describe_approval(approval) for approval in QUEUE.pending()],
            "grants": [describe_grant(grant) for grant in QUEUE.grants()],
            "paused": pausing.paused_since() is not None,
        }

    def text(self) -> Markdown:
        """Describe what agents called so far, by op."""
        counts: dict[tuple[str, str], int] = {}
        for activity in LOG.latest(LATEST):
            key = activity.principal, activity.op
            counts[key] = counts.get(key, 0) + 1
        rows = [(cell(who), code(op), str(n)) for (who, op), n in sorted(counts.items())]
        return Markdown(table(("agent", "called", "times"), rows) or "No agent called anything.")


def _activities(keys: frozenset[str]) -> Sequence[Activity]:
    found = [PERSONS.item(ACTIVITY.name, key) for key in sorted(keys)]
    return [activity for activity in found if activity is not None]
