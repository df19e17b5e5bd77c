"""Names of the person's namespace: of data, functions, classes, modules; chosen and sorted."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import translate
from heapq import nsmallest
from typing import Any, Literal, TypeAlias

from repl_pair.errors import RequestError
from repl_pair.runtime.inspection.members import is_shown_code
from repl_pair.runtime.reading.closed_values import KINDS, Kind, kind_of
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.classes import qualname_of, real_class

Sort: TypeAlias = Literal["name", "bytes", "recent"]
MAX_CHARS = 200
"""Of a pattern of names."""
_SHELL_NAMES = {"In", "Out", "exit", "quit", "get_ipython", "open", "repl_pair"}


def is_public(name: str) -> bool:
    """Return whether a name is the person's: none with an underscore, none of the shell's."""
    return name[:1] != "_" and name not in _SHELL_NAMES


def is_visible(name: str, value: Any) -> bool:
    """Return whether it is the person's data: no private name, module, function or class."""
    return is_public(name) and kind_of(real_class(value)) == "data"


def is_describable(name: str, value: Any) -> bool:
    """Return whether it is the person's data, or a module, function or class that is shown."""
    return is_public(name) and is_shown_code(value)


def names_of_kinds(
    space: Mapping[str, Any], match: str | None = None, type_name: str | None = None
) -> dict[Kind, list[str]]:
    """Return the public names of a namespace by kind, those defined last at the end.

    `match` is a part of the name, or a glob of the whole; `type_name` is that of the class, or the
    last part of it. Neither goes by case. Known secrets in names match nothing: they would be
    guessed letter by letter. RequestError `bad_arguments` for a pattern too long.
    """
    found: dict[Kind, list[str]] = {kind: [] for kind in KINDS}
    matches = None if match is None else _matching(space, _matcher(match))
    names_by_class: dict[int, list[str] | None] = {}  # the values keep their classes alive
    for name, value in space.items():
        cls = real_class(value)
        try:
            names = names_by_class[id(cls)]
        except KeyError:
            is_wanted = type_name is None or _is_named(cls, type_name)
            names = names_by_class[id(cls)] = found[kind_of(cls)] if is_wanted else None
        # As `is_public` has it, for a hundred thousand names without a call for each.
        if names is None or name[:1] == "_" or name in _SHELL_NAMES:
            continue
        if matches is None or matches(name):
            names.append(name)
    for kind in ("function", "class", "module"):
        found[kind] = [name for name in found[kind] if is_shown_code(space[name])]
    return found


def first_of(
    size_of: Callable[[str], int], names: Sequence[str], sort: Sort, count: int
) -> Sequence[str]:
    """Return the first so many names in order: by name, the largest or the last defined first.

    `size_of` gives what is shown of the bytes that a name takes: an order by more than that would
    tell the length of secrets.
    """
    if sort == "recent":
        return names[::-1]
    if sort == "bytes":
        return sorted(sorted(names), key=lambda name: -size_of(name))
    return nsmallest(count, names) if count < len(names) // 20 else sorted(names)


def scrubbed(names: Iterable[str]) -> Iterable[str]:
    """Return names without the secrets that are known by now."""
    names = list(names)
    if NEEDLES.scrub(whole := "\n".join(names))[0] == whole:
        return names
    return [NEEDLES.scrub(name)[0] for name in names]


def _matching(names: Iterable[str], matches: Callable[[str], object]) -> Callable[[str], object]:
    pairs = zip(names := list(names), scrubbed(names), strict=True)
    return {name for name, read in pairs if matches(read)}.__contains__


def _matcher(pattern: str) -> Callable[[str], object]:
    if len(pattern) > MAX_CHARS:
        raise RequestError("bad_arguments", f"match has over {MAX_CHARS} characters.")
    low = pattern.lower()
    if not any(sign in low for sign in "*?["):
        return lambda name: low in name.lower()
    # Its stars are atomic groups, which never go back: linear in the name.
    matches = re.compile(translate(low)).match
    return lambda name: matches(name.lower())


def _is_named(cls: type[Any], wanted: str) -> bool:
    whole, name = NEEDLES.scrub(qualname_of(cls))[0].lower(), wanted.lower()
    return whole == name or whole.endswith(f".{name}")
