"""What a prompt may name: the calls as they work for one session, and what it may ask for."""

import keyword
import re
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.bridge.call_checks import is_there
from repl_pair.bridge.policy import GATED
from repl_pair.bridge.session import Session
from repl_pair.bridge.suggestions import through_op, write_step
from repl_pair.errors import next_step
from repl_pair.mcp_server import completion
from repl_pair.mcp_server.gate.byte_gate import scrub_text
from repl_pair.mcp_server.pages import read_items
from repl_pair.mcp_server.tool_list import unlisted_ops
from repl_pair.wire import MUTATES

ASKED = "the person approves each such call"
_SHOWN_CHARS = 120


def quote(text: str) -> str:
    """Return a client's text in quotes: secrets out, cut, what is invisible escaped."""
    shown = repr(scrub_text(text))
    return shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + "…"


class PromptCaller:
    """Whom a prompt is for; what the policy denies is never written as a call."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._unlisted = unlisted_ops(session.descriptors(), session.policy)

    def may_call(self, op: str) -> bool:
        """Return whether an op is there for the session, listed or not."""
        return is_there(self.session.policy, op)

    def write(self, does: str, op: str, /, **args: Any) -> str:
        """Return a line: what to do, and its call; in place of a denied one what to ask for."""
        policy, descriptor = self.session.policy, manifest.find(op)
        if not self.may_call(op):
            return f"{does}: {self._ask_for(descriptor)}"
        line = f"{does}: {write_step(through_op(next_step(op, **args), self._unlisted))}"
        notes = [ASKED] if policy.resolve(descriptor) == "ask" else []
        if not policy.lists(descriptor) and op not in self._unlisted:
            toolset = descriptor["toolset"]
            notes.append(f"your list of tools has it with `--toolsets {toolset}`")
        return f"{line} ({'; '.join(notes)})" if notes else line

    async def sees(self, kind: str, id: str) -> bool:
        """Return whether there is an entry of that id for the session's view."""
        found = await completion.find_ids(self.session, kind, id)
        return id in found.values

    async def find_function(self, id: str) -> Mapping[str, Any] | None:
        """Return the line of a function that the view sees, as `list_functions` has it."""
        if not self.session.links.is_chosen:
            return None
        async with aclosing(read_items(self.session, "list_functions")) as lines:
            async for line in lines:
                if line["id"] == id:
                    return line
        return None

    def asks_for(self, function: Mapping[str, Any]) -> bool:
        """Return whether the person approves each call of a function."""
        is_asked = function["mutates"] and self.session.policy.decide(MUTATES) == "ask"
        return bool(function.get("ask") or is_asked)

    def _ask_for(self, descriptor: Mapping[str, Any]) -> str:
        policy, access = self.session.policy, descriptor.get("access")
        opened = replace(policy, allow=policy.allow.union([access] if access in GATED else ()))
        if opened.resolve(descriptor) != "deny":
            return f"closed here. Ask the person whether to open it, as with `--allow {access}`."
        return "not there for you. Ask the person to do it."


def word_of(id: str) -> str:
    """Return the last word of an id as a name that a function may have."""
    word = re.split(r"[./]", id)[-1].replace("-", "_")
    return f"{word}_" if keyword.iskeyword(word) else word
