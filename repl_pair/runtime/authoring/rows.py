"""A story's variants as a table: each by its slots, or as args and what must follow from them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from repl_pair.errors import did_you_mean
from repl_pair.runtime.authoring.args import bad_body
from repl_pair.runtime.registry.model import BuiltStep
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.takes import takes_of

Row = Mapping[str, Any] | tuple[Any, ...]
"""The slots of a variant, or `(args, expected)`, or `(args,)`."""
Rows = Mapping[str, Row] | Sequence[Row]
"""Rows by the names of their variants, or a list of rows that their args name."""

_LONGEST = 40
"""The most characters of a name that args give; an arg that would be longer gives its place."""


def read_rows(
    where: str, component: Callable[..., Any], rows: Any, slots: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return the slots of each variant by its name; AuthoringError `bad_body` for any other shape.

    The args of `(args, expected)` are a mapping by name, a tuple by position, or the first one.
    If `check` or `step` made what is expected, or an item of that list, it is the play; any
    other value is what the result must equal. A list's rows are named by their args: `4-9`,
    `prices0`.
    """
    legal = [slot for slot in slots if slot != "id"]
    if is_map(rows):
        return {
            name: _slots_of(f"{where}: variant {name!r}", component, row, legal)
            for name, row in rows.items()
        }
    if not isinstance(rows, (list, tuple)):
        raise bad_body(where, f"variants is a mapping of names or a list, not {rows!r:.80}.")
    listed = [
        _slots_of(f"{where}: variants[{at}]", component, row, legal)
        for at, row in enumerate(cast("Sequence[Any]", rows))
    ]
    return dict(zip(_names(component, listed), listed, strict=True))


def _slots_of(
    where: str, component: Callable[..., Any], row: Any, legal: Sequence[str]
) -> dict[str, Any]:
    if is_map(row):
        for slot in row:
            if slot not in legal:
                near = did_you_mean(slot, legal)
                raise bad_body(where, f"it has no {slot!r}.{near} It has: {', '.join(legal)}.")
        return dict(row)
    words = list(cast("tuple[Any, ...]", row)) if isinstance(row, tuple) else []
    if len(words) not in (1, 2):
        raise bad_body(
            where, f"it is (args, expected), (args,) or what a variant has, not {row!r:.80}."
        )
    play = _play_of(words[1]) if words[1:] else []
    return {"args": _args_by_name(where, component, words[0]), "play": play}


def _play_of(expected: Any) -> list[Any]:
    if isinstance(expected, BuiltStep):
        return [expected]
    items = cast("list[Any]", expected) if type(expected) is list else []
    is_play = any(isinstance(item, BuiltStep) for item in items)
    return items if is_play else [BuiltStep("result_equals", expected)]


def _args_by_name(where: str, component: Callable[..., Any], args: Any) -> Mapping[str, Any]:
    if is_map(args):
        return cast("Mapping[str, Any]", args)
    values = cast("tuple[Any, ...]", args) if isinstance(args, tuple) else (args,)
    taken = takes_of(component).parameters or {}
    names = [n for n, p in taken.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(values) > len(names):
        named = [n for n, p in taken.items() if p.kind is p.KEYWORD_ONLY]
        how = f" Give {', '.join(named)} by name, in a mapping." if named else ""
        takers = ", ".join(names) or "no parameters that take args by position"
        raise bad_body(where, f"there are {len(values)} args for {takers}.{how}")
    return dict(zip(names, values, strict=False))


def _names(component: Callable[..., Any], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Name each row by its args, and rows of one name by their number behind it, from the second.

    What a row is named does not depend on the rows below it. A secret is in no name.
    """
    learn_secrets()
    secret, taken = takes_of(component).secret, set[str]()
    for at, row in enumerate(rows):
        args: Mapping[str, Any] = row.get("args") or {}
        words = [
            f"{name}{at}" if name in secret or is_secret_key(name) else _word(name, value, at)
            for name, value in args.items()
        ]
        text = "-".join(words)
        name = text if text[:1].isalnum() and len(text) <= _LONGEST else f"row{at}"
        numbered = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 2)))
        name = next(one for one in numbered if one not in taken)
        taken.add(name)
        yield name


def _word(name: str, value: Any, at: int) -> str:
    is_plain = value is None or isinstance(value, (str, int, float, bool))
    shown = str(value) if is_plain else ""
    text = re.sub(r"[^A-Za-z0-9_.-]+", "_", shown)
    if not text or len(text) > _LONGEST or NEEDLES.scrub(shown)[0] != shown:
        return f"{name}{at}"
    return text if text[0].isalnum() else f"{name}{text}"
