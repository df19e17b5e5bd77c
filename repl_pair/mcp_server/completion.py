"""What completes a text that a client types: ids that the view sees, and words of the server's."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mcp import types
from mcp.shared.exceptions import MCPError

from repl_pair.bridge.session import Session
from repl_pair.mcp_server.gate.byte_gate import scrub
from repl_pair.wire import REDACTED

MOST = 100
"""How many values an answer has; the protocol allows no more."""


class Completions(NamedTuple):
    """The first values that begin as typed, and how many there are."""

    values: Sequence[str]
    total: int


async def find_ids(session: Session, kind: str, prefix: str, member: str = "") -> Completions:
    """Return the ids of a kind that the view sees, without those that hold a secret.

    None where no kernel is chosen, or it does not answer. `member` is the collection of a key.
    """
    if not session.links.is_chosen:
        return Completions((), 0)
    asked = {"kind": kind, "prefix": prefix} | ({"member": member} if member else {})
    reply = await session.read_internal("complete_ids", asked)
    if not reply["ok"]:
        return Completions((), 0)
    found: dict[str, Any] = reply["result"]
    values = [value for value in scrub(found["values"]) if REDACTED not in value]
    return Completions(values, len(values) + found["total"] - len(found["values"]))


def find_words(words: Iterable[str], prefix: str) -> Completions:
    """Return the words that begin so, sorted."""
    values = sorted(word for word in words if word.startswith(prefix))
    return Completions(values, len(values))


def merge(first: Completions, second: Completions) -> Completions:
    """Return the values of both, sorted, each once."""
    values = sorted({*first.values, *second.values})
    left = first.total - len(first.values) + second.total - len(second.values)
    return Completions(values, len(values) + left)


def answer(found: Completions) -> types.CompleteResult:
    """Return the answer of `completion/complete`."""
    values, total = list(found.values[:MOST]), found.total
    completion = types.Completion(values=values, total=total, has_more=total > len(values))
    return types.CompleteResult(completion=completion)


def refuse() -> MCPError:
    """Return the refusal of what no template or prompt has."""
    words = "There is nothing to complete: no such template or prompt, or not of that name."
    return MCPError(types.INVALID_PARAMS, words)
