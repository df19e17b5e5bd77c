"""The table of the resources' URIs: each is answered by an op that reads.

No other module knows which URIs there are.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote

LONGEST = 2_000
CONTEXT = "pair://context"
"""What an agent reads first; see `mcp_server/context.py`."""
_OWN = "surface://repl_pair"
_VARIABLE = re.compile(r"\{(\w+)\}")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A URI, or a template of URIs: the op that reads it, with its args, and what is watched.

    `args` and `watched` are templates of the same variables. `watched` names all that the answer
    of the op rests on, as the op `await_members` takes it, except the values of an app in a list.
    Its first name is there for the view where the URI is, the others always are. Without any
    changes are not reported.
    """

    uri: str
    op: str
    watched: tuple[str, ...]
    doc: str
    args: Mapping[str, str]


def _row(uri: str, op: str, watched: tuple[str, ...], doc: str, **args: str) -> Row:
    """Return a row; without `args` the op takes the variables of the URI."""
    own = args or {name: f"{{{name}}}" for name in _VARIABLE.findall(uri)}
    return Row(uri=uri, op=op, watched=watched, doc=doc, args=own)


def _kinds(*names: str) -> tuple[str, ...]:
    return tuple(f"repl_pair/registry/{name}" for name in names)


_NAMED = ("decorator", "mode", "tag")
"""Kinds that bodies name; in a view with a tier a body shows which of them are there."""
_SHARED = (
    *_kinds(*_NAMED),
    "repl_pair/global_args",
    "repl_pair/global_decorators",
)
"""What variants share: a result is stale once it is registered again."""
_LAST_RUNS = ("repl_pair/results", *_kinds("story", "variant"), *_SHARED, "repl_pair/outdated")
_LAST_RUN = (
    "repl_pair/results/{variant_id}",
    *_kinds("story/{story_id}/", "variant"),  # it may extend a variant of any story
    *_SHARED,
    "repl_pair/outdated/{variant_id}",
)
ROWS = (
    _row(CONTEXT, "kernel_status", (), "Read this first: the kernel, counts, what is open."),
    _row("pair://functions", "list_functions", _kinds("function"), "Functions to call."),
    _row("pair://triggers", "list_triggers", (), "What you have called again and again."),
    _row("pair://workers", "list_workers", (), "The kernels that you started."),
    _row(f"{_OWN}/decorators", "list_decorators", _kinds("decorator"), "Decorators."),
    _row(f"{_OWN}/failures", "read_failures", _LAST_RUNS, "What failed in last runs."),
    _row(f"{_OWN}/modes", "list_modes", _kinds("mode"), "Modes: saved tuples of args."),
    _row(f"{_OWN}/stories", "list_stories", _kinds("story", "variant", "tag"), "Stories."),
    _row(f"{_OWN}/surfaces", "list_surfaces", _kinds("member", "surface"), "The app's surfaces."),
    _row(f"{_OWN}/tags", "list_tags", _kinds("tag"), "Tags."),
    _row(f"{_OWN}/variants", "list_variants", _LAST_RUNS, "Variants."),
    _row(
        f"{_OWN}/workspaces",
        "list_workspaces",
        _kinds("workspace", "story", "variant"),
        "Workspaces.",
    ),
)
"""The URIs that need no member of the app, sorted; each is there for whom its op is there."""
TEMPLATES = (
    _row(
        f"{_OWN}/results/{{variant_id}}", "read_assertions", _LAST_RUN, "The last run of a variant."
    ),
    _row(
        f"{_OWN}/stories/{{story_id}}",
        "get_story",
        _kinds("story/{story_id}", "variant/{story_id}/", *_NAMED),
        "A story.",
    ),
    _row(f"{_OWN}/variants/{{variant_id}}", "get_variant", _LAST_RUN, "A variant."),
    _row(
        "surface://{surface}/{member}",
        "read_member",
        ("{surface}/{member}",),
        "A live value of the app.",
        member="{surface}/{member}",
    ),
    _row(
        "surface://{surface}/{member}/{key}",
        "read_member",
        ("{surface}/{member}/{key}",),
        "An item of a collection of the app.",
        member="{surface}/{member}",
        key="{key}",
    ),
)
"""The templates; a URI is of the first one that it fits."""


class Target(NamedTuple):
    """What a URI stands for: a call that reads it, and the names that are watched, if any."""

    op: str
    args: Mapping[str, str]
    watched: tuple[str, ...]


def find_target(uri: str) -> Target | None:
    """Return what a URI stands for, None for one that is not valid; it need not exist.

    A percent-encoded part is decoded. In an id a slash need not be encoded.
    """
    if len(uri) > LONGEST or _HIDDEN.search(uri):
        return None
    for row in (*ROWS, *TEMPLATES):
        if found := _pattern(row.uri).fullmatch(uri):
            try:
                values = {n: unquote(v, errors="strict") for n, v in found.groupdict().items()}
            except UnicodeDecodeError:
                return None
            if not _are_apart(values):
                return None
            args = {name: text.format_map(values) for name, text in row.args.items()}
            story = {"story_id": values.get("variant_id", "").partition("/")[0]}
            names = tuple(name.format_map(story | values) for name in row.watched)
            return Target(row.op, args, names)
    return None


def _are_apart(values: Mapping[str, str]) -> bool:
    """Return whether each part stays itself when it is decoded; only an id and a key hold slashes.

    No surface of the app has the package's own name, however it is written. No id ends with a
    slash: as a name that is watched it would stand for all that begins so.
    """
    if any(text.endswith("/") for name, text in values.items() if name.endswith("_id")):
        return False
    names = [text for name, text in values.items() if name in ("surface", "member")]
    return not any("/" in name for name in names) and values.get("surface") != "repl_pair"


def member_uri(member_id: str) -> str:
    """Return the URI of a member of the app."""
    return "surface://" + "/".join(quote(word, safe="") for word in member_id.split("/"))


def _pattern(template: str) -> re.Pattern[str]:
    """Return the pattern of a template; a key may be empty."""

    def part(found: re.Match[str]) -> str:
        name = found[1]
        one = ".+" if name.endswith("_id") else "[^/?#]*" if name == "key" else "[^/?#]+"
        return f"(?P<{name}>{one})"

    return re.compile(_VARIABLE.sub(part, template))
