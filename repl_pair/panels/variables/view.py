"""The variables panel: what an agent could list of the person's variables, and read of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from repl_pair.errors import ReplPairError
from repl_pair.panels.base.context import PanelContext
from repl_pair.panels.base.panel_thread import PANEL_THREAD, Changes
from repl_pair.panels.base.view import View
from repl_pair.panels.variables.messages import (
    AgentState,
    Gate,
    Page,
    Reading,
    Row,
    VariablesPatch,
)
from repl_pair.runtime.clients.activity import ACTIVITY, Activity
from repl_pair.runtime.clients.approvals import GRANTS, QUEUE
from repl_pair.runtime.clients.clients import ATTACHED, CLIENTS, PAUSED, Client, paused_since
from repl_pair.runtime.kernel.agents_answer import answer_as_agent
from repl_pair.runtime.op_base.listing import move_cursor
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.results.markdown import Markdown, cell, code, table
from repl_pair.runtime.secrets.learning import namespace
from repl_pair.runtime.store import PERSON_STORE
from repl_pair.runtime.values.marks import is_secret_key, secret_type
from repl_pair.runtime.values.paths import parse_cuts
from repl_pair.wire import REDACTED, Json, raise_for_error

Inspect = Literal["open", "granted", "closed", "unknown"]
PAGE = 100
"""How many rows one answer holds."""
MAX_LISTED = 50
"""How many variables its text lists."""
READ = frozenset({"read", "run"})
"""What every agent may."""
_PAGED = frozenset({"items", "total", "cursor"})
_OF_GATE = (ATTACHED.name, GRANTS.name, PAUSED.name)
_NAMED = "its name is that of a secret"
_TYPED = "its type is that of a secret"
_KNOWN = "it is declared a secret, or holds one that is known by now"


class VariablesView(View[VariablesPatch]):
    """What agents list of your variables, and where inspect is open, read.

    The ops that answer agents answer here too, so each value is redacted and cut in the same way.
    """

    name = "variables"
    scripts = ("answers",)
    title = "Variables"
    placement = "right"
    is_shown = False

    def __init__(self, context: PanelContext, send: Callable[[VariablesPatch], None]) -> None:
        super().__init__(context, send)
        self._ended = 0
        self._last = ("", "")
        self._undos = (CELLS.track(), CELLS.at_end(lambda: PANEL_THREAD.submit(self._send_end)))

    def handle_changes(self, changes: Changes) -> None:
        """Send what agents have open, where any of it changed, and that code of one ended."""
        if any(member in changes for member in _OF_GATE):
            self.send({"gate": self.on_gate()})
        keys = changes.get(ACTIVITY.name, frozenset())
        if keys is None or any(map(_is_ended_eval, keys)):
            self._send_end()

    def on_gate(self) -> Gate:
        """Return who is attached, and what is known of their gate `inspect`."""
        present = CLIENTS.present()
        states: set[tuple[str, Inspect]] = {(one.principal, _inspect_of(one)) for one in present}
        agents = [AgentState(principal=who, inspect=state) for who, state in sorted(states)]
        paused, refused = paused_since() is not None, CLIENTS.is_refused()
        return {"agents": agents, "paused": paused, "refused": refused}

    def on_rows(self, start: int = 0, match: str = "") -> Page:
        """Return a page of the variables whose names hold a text."""
        found, space = self._list(start, match), namespace()
        return {
            "list": self._last[1],
            "total": found["total"],
            "start": start,
            "rows": [_row(line, space) for line in found["items"]],
            "beside": {slot: value for slot, value in found.items() if slot not in _PAGED},
        }

    def on_value(self, path: str) -> Reading:
        """Return what an agent is answered for a path where inspect is open."""
        reply = answer_as_agent("get_value", {"path": path}, READ | {"inspect"})
        steps = [step for step in reply.get("next_steps", ()) if step["op"] == "get_value"]
        found: Reading = {
            "slots": reply["result"] if reply["ok"] else {},
            "refusal": "" if reply["ok"] else reply["error"]["message"],
            "paths": [step["args"]["path"] for step in steps],
            "why": "",
        }
        is_hidden = found["slots"].get("value") == REDACTED
        return {**found, "why": _why_at(path)} if is_hidden else found

    def text(self) -> Markdown:
        """Return the first variables with their types and sizes, and no value."""
        found, space = _ask({"limit": MAX_LISTED}), namespace()
        rows = [_cells(**_row(line, space)) for line in found["items"]]
        more = found["total"] - len(rows)
        text = table(("variable", "type", "size"), rows) or "No variables yet."
        return Markdown(f"{text}\n\n… and {more} more variables." if more > 0 else text)

    def close(self) -> None:
        """Follow no cells any more."""
        for undo in self._undos:
            undo()

    def _send_end(self) -> None:
        self._ended += 1
        self.send({"ended": self._ended})

    def _list(self, start: int, match: str) -> Mapping[str, Any]:
        """Return a page of `list_variables`: a cursor of the list is moved to where it begins.

        Without rows where the names change faster than they are read.
        """
        args: dict[str, Any] = {"limit": PAGE} | ({"match": match} if match else {})
        if start and self._last[0] == match and (page := self._page_at(start, args)):
            return page
        first = _ask(args)
        self._last = match, first.get("cursor", "")
        return (self._page_at(start, args) or first | {"items": []}) if start else first

    def _page_at(self, start: int, args: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return a page of the latest list; None where it has one page only, or is stale."""
        if not (cursor := self._last[1]):
            return None
        try:
            return _ask({**args, "cursor": move_cursor(cursor, start)})
        except ReplPairError as error:
            if error.code != "stale_cursor":
                raise
            return None


def _is_ended_eval(key: str) -> bool:
    """Return whether a call of an agent has ended that may have set the person's variables."""
    call: Activity | None = PERSON_STORE.item(ACTIVITY.name, key)
    op = None if call is None or call.state == "running" else TABLE.get(call.op)
    return op is not None and op.access == "eval"


def _ask(args: Mapping[str, Any]) -> dict[str, Any]:
    return raise_for_error(answer_as_agent("list_variables", args, READ))


def _row(line: Mapping[str, Json], space: Mapping[str, Any]) -> Row:
    name = str(line.get("id"))
    is_typed = name in space and secret_type(space[name])
    return {"slots": line, "why": _NAMED if is_secret_key(name) else _TYPED if is_typed else ""}


def _why_at(path: str) -> str:
    """Return why what stands at a path is redacted as a whole."""
    steps = parse_cuts(path)
    words = [str(part) for step in steps for part in (step if type(step) is tuple else (step,))]
    value = namespace().get(path)
    return _NAMED if any(map(is_secret_key, words)) else _TYPED if secret_type(value) else _KNOWN


def _cells(slots: Mapping[str, Any], why: str) -> Sequence[str]:
    size = [str(slots["size"])] if "size" in slots else map(str, slots.get("shape", ()))
    name = code(slots["id"]) if type(slots["id"]) is str else "…"  # a very long one is elided
    return name, cell(str(slots["type"])), REDACTED if why else " by ".join(size)


def _inspect_of(client: Client) -> Inspect:
    """Return whether a client had inspect open at its latest call, or was granted `get_value`."""
    if client.access is None:
        return "unknown"
    if "inspect" in client.access:
        return "open"
    granted = any(g.asker.client == client.id and g.op == "get_value" for g in QUEUE.grants())
    return "granted" if granted else "closed"
