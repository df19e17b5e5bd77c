"""A body that an agent sent, as it is read: its size, what it may name, and what is wrong."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from repl_pair.errors import AuthoringError, ReplPairError, did_you_mean
from repl_pair.runtime.authoring.agent_data import given_faults, loader_faults
from repl_pair.runtime.registry.model import KINDS, Entry
from repl_pair.runtime.values.classes import is_row, real_class
from repl_pair.runtime.values.frozen import refs_in

SHOWN = 8
MAX_BYTES = 64 * 1024
DEEPEST = 64

_JSON = frozenset({str, int, float, bool, type(None), list, dict})

WRITABLE = tuple(kind for kind, row in KINDS.items() if row.has_tier)
"""The kinds of which agents register entries."""


@dataclass(kw_only=True, eq=False, repr=False)
class Reading:
    """A body that an agent sent, as it is read, and what was found wrong with it so far.

    `find` and `ids` give what the agent may name; `story` is the one that the body is for, if any.
    """

    find: Callable[[str, str], Entry | None]
    ids: Callable[[str], Sequence[str]]
    story: Entry | None = None
    faults: list[str] = field(default_factory=list[str])

    @property
    def component(self) -> Callable[..., Any] | None:
        """What the story runs today."""
        return None if self.story is None else self.story.body.component.resolve()

    def add_faults(self, *faults: str) -> None:
        """Note what is wrong."""
        self.faults.extend(fault for fault in faults if fault)

    def read(self, read: Callable[[], Any]) -> Any:
        """Read a part as the person's would be; note a refusal, and give None for it."""
        try:
            return read()
        except ReplPairError as error:
            self.add_faults(error.message)
            return None

    def entry(self, kind: str, id: Any, where: str) -> Entry | None:
        """Return the entry of an id that a body names; note it if there is none."""
        if not isinstance(id, str):
            self.add_faults(f"{where}: a {kind} is named by its id, not by {id!r:.60}.")
            return None
        found = self.find(kind, id)
        if found is None:
            known = self.ids(kind)
            some = ", ".join(known[:SHOWN]) + (", …" if len(known) > SHOWN else "")
            all_known = f" There are: {some}." if known else " There is none."
            remedy = f"Only the person registers what is of kind {kind}."
            if kind in WRITABLE:
                remedy = f"Register it first: register_{kind}({kind}_id={id!r}, body={{...}})."
            near = did_you_mean(id, known) or all_known
            self.add_faults(f"{where}: there is no {kind} {id!r}.{near} {remedy}")
        return found


def rows_of(reading: Reading, slot: str, value: Any) -> Sequence[Any]:
    """Return the items of a list; note what is not a list, of which nothing is checked."""
    if is_row(value):
        return value
    reading.add_faults(f"{slot}: this is a list, not a {real_class(value).__name__}.")
    return ()


def check_refs(reading: Reading, where: str, data: Any) -> None:
    """Note refs to unknown loaders, and to loaders that are given what an agent may not."""
    reading.add_faults(*loader_faults(data, where=where))
    for ref in refs_in(data):
        found = reading.entry("loader", ref.loader, f"{where}: $ref")
        if found is not None:
            loader = found.body.component.resolve()
            reading.add_faults(
                *given_faults(loader, ref.kwargs, where=f"{where}: $ref {ref.loader}")
            )


def refuse_refs(reading: Reading, where: str, data: Any) -> None:
    """Note what stands for loaders in a place where nothing is loaded."""
    for ref in refs_in(data):
        reading.add_faults(
            f"{where}: {{'$ref': {ref.loader!r:.80}}} stands for a loader, which args and events "
            "may hold; here only plain data may be."
        )


def refusal(what: str, where: str = "") -> AuthoringError:
    """Make the refusal of a body."""
    head = f"{where}: " if where else ""
    return AuthoringError("bad_body", head + what.rstrip(".") + ". Nothing was registered.")


def check_size(body: Any) -> None:
    """Refuse a body that is not JSON, over 64 KB of it, or over 64 deep; nothing of it is read."""
    level, deep, count = [body], 0, 0
    while level:
        deep += 1
        if deep > DEEPEST:
            raise refusal(f"the body is over {DEEPEST} deep; it may be {DEEPEST} deep")
        level = [part for node in level for part in _parts(node) if type(part) in (list, dict)]
        count += len(level)
        if count > MAX_BYTES:
            raise refusal(f"the body is over the {MAX_BYTES} bytes of JSON that it may be")
    try:
        size = len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())
    except ValueError as error:  # lone surrogates, and numbers too long to write
        raise refusal(f"the body is not JSON: {error}") from error
    if size > MAX_BYTES:
        raise refusal(
            f"the body is {size} bytes of JSON, over the {MAX_BYTES} that it may be; what is "
            "large comes from the person's loader, as {'$ref': loader_id}"
        )


def _parts(node: Any) -> Sequence[Any]:
    if type(node) is dict:
        mapping = cast("dict[Any, Any]", node)
        if odd := [key for key in mapping if type(key) is not str]:
            raise refusal(f"the body has a key of type {type(odd[0]).__name__}; keys are text")
        parts = list(mapping.values())
    else:
        parts = cast("list[Any]", node)
    if odd := [part for part in parts if type(part) not in _JSON]:
        kind = type(odd[0]).__name__
        raise refusal(f"the body holds a {kind}; it is JSON, never code or objects")
    return parts
