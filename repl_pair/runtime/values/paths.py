"""Paths into values: their text form."""

import ast
import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, cast

from repl_pair.errors import RequestError

Key = str | int
Cut = tuple[str | int | slice, ...]
"""A slice, or a part for each axis of a table: what stands in `[10:20]` or `[3, :5]`."""
Steps = tuple[Key, ...]
Place = tuple[str, ...]
"""Keys from a value on, as text; `*` is any key or index."""

_LEGAL_TEXT = 'result.lines[0].sku, totals["a key"]'
LEGAL_FORM = f'{_LEGAL_TEXT} or a list such as ["result", "lines", 0]'
_NAME = re.compile(r"""[^\s.\[\]"']+""")
_MOST_DIGITS, _MOST_STEPS = 100, 1_000
_INDEX = re.compile(rf"\[(-?[0-9]{{1,{_MOST_DIGITS}}})\]")
# Compiled by `re` at the first bracket that holds no index.
_CUT = r"""(?s)\[((?:[^\[\]"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*)\]"""
_ESCAPE = r"\\[\\'\"abfnrtuvxNU0-3\n]"  # of another one Python warns in the person's kernel
_PLAIN_CUT = rf"""\[(?:[-+0-9_:,\s]|"(?:[^"\\]|{_ESCAPE})*"|'(?:[^'\\]|{_ESCAPE})*')*\]"""
_QUOTED = r"""(?s)\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]"""


def parse_path(path: str | Sequence[Any]) -> Steps:
    """Read a path: dotted text with `[0]` and `["quoted keys"]`, or a list of keys as they are.

    RequestError `bad_arguments` names the position of what is wrong and a valid form.
    """
    if isinstance(path, str):
        return (_parse_short if len(path) <= _SHORT else _parse_text)(path)
    if not isinstance(cast("Any", path), Sequence):
        raise _bad_path(path, "it is neither a text nor a list of keys")
    odd = [
        i for i, key in enumerate(path) if isinstance(key, bool) or not isinstance(key, str | int)
    ]
    if odd or not 0 < len(path) <= _MOST_STEPS:
        what = f"item {odd[0]} is not a text or whole number" if odd else _count_of(path)
        raise _bad_path(list(path), what)
    return tuple(path)


def position_of(key: Any) -> int | None:
    """Return the position that a key of a path is, also as text; None where it is none."""
    is_digits = type(key) is str and key.isascii() and key.isdecimal() and len(key) <= _MOST_DIGITS
    return int(key) if is_digits or type(key) is int else None


def keys_of(path: Any) -> Steps:
    """Return the keys of a path; none for what is no path, which leads nowhere."""
    try:
        return parse_path(path)
    except RequestError:
        return ()


def parse_cuts(path: str) -> tuple[Key | Cut, ...]:
    """Read a path whose steps may also be slices, `[10:20]`, and several axes, `[3, :5]`."""
    return _parse_text(path, cuts=True)


def format_path(steps: Iterable[Key | Cut]) -> str:
    """Return the text that `parse_path` or `parse_cuts` reads back; nothing for no steps."""
    return "".join(map(_write_step, steps)).removeprefix(".")


def join_path(path: str, step: Any) -> str:
    """Return the text of a path one step on."""
    return path + _write_step(step) if path else _write_step(step).removeprefix(".")


def _write_step(step: Any) -> str:
    if isinstance(step, str) and _NAME.fullmatch(step):
        return f".{step}"
    if isinstance(step, int) and not isinstance(step, bool):
        return f"[{step}]"
    if type(step) is tuple:
        return f"[{', '.join(map(format_part, cast('Cut', step)))}]"
    return f"[{format_part(step if isinstance(step, str) else _plain(step))}]"


def _plain(key: Any) -> str:
    return str(getattr(key, "name", key))


def whole_slice(key: Key | Cut) -> slice | None:
    """Return the slice of a step that is one, between whole numbers; None for any other step."""
    if not isinstance(key, tuple) or len(key) != 1 or not isinstance(key[0], slice):
        return None
    return None if any(isinstance(end, str) for end in (key[0].start, key[0].stop)) else key[0]


def meets(place: Place, keys: Iterable[Any]) -> bool:
    """Return whether a place and a path agree as far as both go: one is the other's beginning."""
    return all(own in (str(key), "*") for own, key in zip(place, keys, strict=False))


def below(places: Iterable[Place], key: Any) -> tuple[Place, ...]:
    """Return the places within the part of a value that stands at a key."""
    word = str(key)
    return tuple(place[1:] for place in places if place and place[0] in (word, "*"))


def format_part(part: str | int | slice) -> str:
    """Return the text of one part of a cut, or of a key that is a tuple, which may be anything."""
    if not isinstance(part, slice):
        return json.dumps(part, ensure_ascii=False, default=_plain)
    ends = ["" if end is None else format_part(end) for end in (part.start, part.stop)]
    return ":".join([*ends, *([] if part.step is None else [str(part.step)])])


def _parse_text(text: str, *, cuts: bool = False) -> tuple[Any, ...]:
    steps: list[Key | Cut] = []
    at = 0
    while at < len(text):
        name_at = at + 1 if steps and text[at] == "." else at
        if (name := _NAME.match(text, name_at)) and (name_at > at or not steps):
            steps.append(name[0])
            at = name.end()
        elif index := _INDEX.match(text, at):
            steps.append(int(index[1]))
            at = index.end()
        elif quoted := re.compile(_QUOTED).match(text, at):
            steps.append(_unquoted(text, at, quoted))
            at = quoted.end()
        elif cuts and (cut := re.compile(_CUT).match(text, at)):
            steps.append(_cut(text, at, cut[0]))
            at = cut.end()
        else:
            raise _bad_path(text, f'expected .name, [index] or ["key"] at position {at}')
    if not 0 < len(steps) <= _MOST_STEPS:
        raise _bad_path(text, _count_of(steps))
    return tuple(steps)


_SHORT = 200
_parse_short = lru_cache(maxsize=1024)(_parse_text)


def _count_of(steps: Sequence[Any]) -> str:
    return f"it has over {_MOST_STEPS} steps" if steps else "it is empty"


def _unquoted(text: str, at: int, quoted: re.Match[str]) -> str:
    if quoted[1] is None:
        return re.sub(r"\\(.)", r"\1", quoted[2], flags=re.DOTALL)
    try:
        return json.loads(f'"{quoted[1]}"', strict=False)
    except ValueError:
        raise _bad_path(text, f"no valid escape in the key at position {at}") from None


def _cut(text: str, at: int, bracket: str) -> Cut:
    try:
        if not re.fullmatch(_PLAIN_CUT, bracket):
            raise ValueError
        read = ast.parse(f"_{bracket}", mode="eval").body
        assert isinstance(read, ast.Subscript)
        parts = read.slice.elts if isinstance(read.slice, ast.Tuple) else [read.slice]
        return tuple(map(_part, parts))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        what = f'no whole numbers or quoted labels, as in [10:20] or ["a", :5], at position {at}'
        raise _bad_path(text, what) from None


def _part(node: ast.expr) -> str | int | slice:
    if isinstance(node, ast.Slice):
        ends = [end and _part(end) for end in (node.lower, node.upper, node.step)]
        if any(isinstance(end, slice) for end in ends) or isinstance(ends[2], str) or ends[2] == 0:
            raise ValueError
        return slice(*ends)
    found = ast.literal_eval(node)
    if type(found) is not str and type(found) is not int:
        raise ValueError
    return found


def _bad_path(path: Any, what: str) -> RequestError:
    shown = repr(path) if len(repr(path)) <= 200 else repr(path)[:200] + "..."
    form = _LEGAL_TEXT if isinstance(path, str) else LEGAL_FORM  # some ops take a text only
    return RequestError("bad_arguments", f"path {shown}: {what}. A valid form: {form}.")
