"""Follows an agent's path from a variable: to its value, and whether that stands under a secret."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from repl_pair.errors import RequestError, did_you_mean, next_step
from repl_pair.runtime.inspection.names import is_describable
from repl_pair.runtime.reading.closed_values import kind_of
from repl_pair.runtime.reading.fields import declares_secret
from repl_pair.runtime.reading.steps import PathMiss, follow
from repl_pair.runtime.reading.stored_fields import names_beside, read_field
from repl_pair.runtime.reading.table_parts import MISSING, as_read, has_slices, read_facet
from repl_pair.runtime.secrets.known import open_names
from repl_pair.runtime.secrets.learning import learn_secrets, namespace
from repl_pair.runtime.secrets.well_known import is_shown
from repl_pair.runtime.values.classes import real_class, type_name
from repl_pair.runtime.values.marks import is_secret_key, is_secret_label
from repl_pair.runtime.values.paths import Cut, Key, format_path, join_path, parse_cuts

Step = Callable[[Any, Key | Cut], Any]
_NEAR_NAMES = 5000
"""Names among which near ones are looked for."""


class _NoKey(str):
    """A key that nothing has: what is read of the person's takes text of no other class."""

    __slots__ = ()


class PathTarget(NamedTuple):
    """What a path leads to: `path` says what each step meant, by label or by position."""

    value: Any
    path: str
    is_secret: bool


def look_up(
    path: str,
    may_begin: Callable[[str, Any], bool],
    read_last: Step = read_field,
    *,
    op: str = "get_value",
) -> PathTarget:
    """Follow a path of stored data, none of whose code runs; `read_last` reads its last step.

    RequestError `not_found` with what is near, alike for what is closed and what is not there, and
    for code, which `describe_object` reads; `bad_arguments` for a slice of what has none.
    """
    root, *steps = parse_cuts(path)
    space, name = namespace(), str(root)
    if name not in space or not may_begin(name, space[name]):
        if name in space and is_describable(name, space[name]):
            kind = kind_of(real_class(space[name]))
            raise RequestError(
                "not_found",
                f"{name} is a {kind}, and {op} reads data. describe_object describes it.",
                next_steps=[next_step("describe_object", path=name)],
            )
        known = [n for n, value in space.items() if may_begin(n, value)][:_NEAR_NAMES]
        learn_secrets()
        near = did_you_mean(name, open_names(known))
        raise RequestError(
            "not_found",
            f"There is no variable {name!r}.{near}",
            next_steps=[next_step("list_variables")],
        )
    read: list[Key | Cut] = [name]
    words = [part for one in steps for part in (one if isinstance(one, tuple) else (one,))]
    is_secret = any(is_secret_key(str(word)) for word in (name, *words))

    def step(holder: Any, key: Key | Cut) -> Any:
        nonlocal is_secret
        _check_slice(holder, key, read, op)
        is_declared = not isinstance(key, tuple) and declares_secret(holder, key)
        if is_declared or any(map(is_secret_label, names_beside(holder, key))):
            is_secret = True
        is_last = len(left) == 1
        left.pop()
        read.extend(as_read(holder, key))
        facet = read_facet(holder, key)
        if facet is not MISSING:
            return facet
        is_hidden = isinstance(key, str) and not is_shown(key)
        return (read_last if is_last else read_field)(holder, _NoKey(key) if is_hidden else key)

    left = list(steps)
    try:
        value = follow(space[name], steps, step=step)
    except PathMiss as miss:
        raise _refuse_step(name, miss, op) from miss
    return PathTarget(value, format_path(read), is_secret)


def _check_slice(holder: Any, key: Key | Cut, read: Sequence[Key | Cut], op: str) -> None:
    is_slice = isinstance(key, tuple) and any(isinstance(part, slice) for part in key)
    if is_slice and not has_slices(holder):
        what, path = type_name(holder), format_path(read)
        raise RequestError(
            "bad_arguments",
            f"{path} is a {what}, which has no slices: lists, tuples, arrays and frames have.",
            next_steps=[next_step(op, path=path)],
        )


def _refuse_step(root: str, miss: PathMiss, op: str) -> RequestError:
    """Return the refusal of a path that leads nowhere: what is near, and the way back."""
    learn_secrets()
    miss.known = open_names(miss.known)
    near = f" Nearest: {', '.join(map(str, miss.near))}." if miss.known else ""
    whole = format_path((root, *parse_cuts(miss.reached))) if miss.reached else root
    what = join_path("", miss.step) if isinstance(miss.step, tuple) else repr(miss.step)
    why = f" ({miss.reason})" if miss.reason else ""
    back = next_step(op, path=whole)
    return RequestError(
        "not_found", f"There is no {what} in {whole}{why}.{near}", next_steps=[back]
    )
