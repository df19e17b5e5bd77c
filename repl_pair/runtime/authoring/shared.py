"""What the person writes to register what variants name: modes, tags, loaders, assertions."""

from collections.abc import Callable, Mapping
from typing import Any, overload

from repl_pair.errors import AuthoringError
from repl_pair.runtime.authoring.args import freeze_plain
from repl_pair.runtime.authoring.bodies import known, read_uses
from repl_pair.runtime.authoring.entries import Handle, enter, function_kind
from repl_pair.runtime.registry.model import Mode, Tag
from repl_pair.runtime.store import STORE, Cell
from repl_pair.runtime.values.frozen import Ref

GLOBAL_ARGS = Cell(name="global_args", doc="Args below those of every story.", default={})
GLOBAL_DECORATORS = Cell(
    name="global_decorators", doc="Decorators outside those of every story.", default=()
)
STORE.declare(GLOBAL_ARGS)
STORE.declare(GLOBAL_DECORATORS)
SETTINGS = (GLOBAL_ARGS.name, GLOBAL_DECORATORS.name)
"""The members that variants rest on beside the registries."""


def mode(
    id: str,
    *,
    args: Mapping[str, Any],
    axis: str | None = None,
    doc: str = "",
    tier: str | None = None,
) -> Handle:
    """Register a saved tuple of args; modes of one axis exclude each other."""
    body = Mode(args=freeze_plain(f"mode {id!r}: args", args), axis=axis, doc=doc)
    return enter("mode", id, body, tier)


def tag(
    id: str,
    *,
    axis: str | None = None,
    default_filter: str = "include",
    doc: str = "",
    tier: str | None = None,
) -> Handle:
    """Register a word that stories and variants may carry; AuthoringError `bad_id`, `bad_body`.

    What carries a tag with `default_filter="exclude"` is listed only when the tag is asked for.
    """
    if default_filter not in ("include", "exclude"):
        raise AuthoringError(
            "bad_body", f"tag {id!r}: default_filter is include or exclude, not {default_filter!r}."
        )
    return enter("tag", id, Tag(axis=axis, doc=doc, default_filter=default_filter), tier)


loader = function_kind(
    "loader",
    "Register a function that makes what data cannot hold; a generator cleans up after `yield`.",
)


@overload
def assertion(id: str) -> Callable[[Callable[..., Any]], Handle]: ...
@overload
def assertion(id: Callable[..., Any]) -> Handle: ...
def assertion(id: Any) -> Any:
    """Register a check `fn(settled, *payload)` that gives a bool or a Verdict; it never raises.

    `@assertion` takes the function's name as the id, `@assertion("word")` the given one. The
    handle heads a step: `play=[[is_round, "result.total"]]`. Parameters that take keywords only
    are options, given as one mapping behind the rest: `[is_round, "result.total", {"digits": 2}]`.
    """
    return function_kind("assertion", "")(id)


def ref(loader_id: str, **kwargs: Any) -> Ref:
    """Return a ref to what data cannot hold: the loader is called with `kwargs` for each run."""
    return Ref(known("loader", str(loader_id)), freeze_plain(f"ref {loader_id!r}: args", kwargs))


def global_args(**args: Any) -> None:
    """Set the args below those of every story; a component takes only those that it names."""
    STORE.set(GLOBAL_ARGS.name, freeze_plain("global args: args", args))


def global_decorators(*decorators: Any) -> None:
    """Set the decorators outside those of every story: ids, or `[id, {args}]`."""
    STORE.set(GLOBAL_DECORATORS.name, read_uses("global decorators", decorators))
