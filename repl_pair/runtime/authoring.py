"""What the person writes: the only way that entries get into the registries."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

from repl_pair.errors import AuthoringError, did_you_mean
from repl_pair.runtime.cells import CELLS
from repl_pair.runtime.hints import parameter_hints
from repl_pair.runtime.ids import VARIANT, check_id, story_of
from repl_pair.runtime.model import (
    Assertion,
    Component,
    Entry,
    Loader,
    Mode,
    Origin,
    Step,
    Story,
    Tag,
    Variant,
)
from repl_pair.runtime.nodes import Ref
from repl_pair.runtime.origin import find_origin
from repl_pair.runtime.plain import secrets_in
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.secrets import NEEDLES
from repl_pair.runtime.surface.primitives import Cell
from repl_pair.runtime.surface.store import STORE
from repl_pair.runtime.values import freeze

F = TypeVar("F", bound=Callable[..., Any])

GLOBAL_ARGS = Cell(name="global_args", doc="Args below those of every story.")
STORE.declare(GLOBAL_ARGS)


class Handle(str):
    """The id of an entry, with its kind; taken wherever an id is."""

    kind: str

    def __new__(cls, kind: str, id: str) -> "Handle":
        """Make the handle of one entry."""
        handle = super().__new__(cls, id)
        handle.kind = kind
        return handle

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"{self.kind} {self}" if not cycle else "...")

    def _repr_html_(self) -> str:
        return f"<code>{self.kind}</code> <b>{self}</b>"


def story(
    id: str,
    *,
    component: Callable[..., Any] | None = None,
    args: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    modes: Sequence[str] = (),
    doc: str = "",
    thread_safe: bool = False,
    tier: str | None = None,
) -> Any:
    """Register a component under an id: as a decorator it returns the function unchanged.

    With `component=` it registers at once and returns the handle. `args` are the defaults of all
    its variants; names are checked now, types at the first run. `modes` names those that fit;
    declaring them activates none.
    """

    def register(fn: Callable[..., Any]) -> Handle:
        body = Story(
            component=Component.of(_callable(fn, f"story {id!r}")),
            doc=doc or inspect.getdoc(fn) or "",
            args=_freeze_args(f"story {id!r}", fn, args),
            tags=_words("tag", tags),
            modes=_words("mode", modes),
            thread_safe=thread_safe,
        )
        return _enter("story", id, body, tier)

    if component is not None:
        return register(component)

    def decorate(fn: F) -> F:
        register(fn)
        return fn

    return decorate


def variant(
    id: str,
    *,
    args: Mapping[str, Any] | None = None,
    play: Iterable[Step] = (),
    tags: Sequence[str] = (),
    loaders: Sequence[str] = (),
    doc: str = "",
    tier: str | None = None,
) -> Handle:
    """Register one named state of a story that is registered: `story.id/Name`.

    The body is data: JSON, declared dataclasses and their kin, arrays and frames. What data cannot
    hold is a `ref` to a loader. `!tag` takes out a tag of the story's.
    """
    parent = REGISTRY.find("story", story_of(check_id("variant", VARIANT, id)))
    if parent is None:
        raise AuthoringError(
            "not_found", f"variant {id!r}: {REGISTRY.missing('story', story_of(id))}"
        )
    where = f"variant {id!r}"
    body = Variant(
        doc=doc,
        args=_freeze_args(where, parent.body.component.resolve(), args),
        play=tuple(_step(where, line) for line in play),
        tags=_words("tag", tags),
        loaders=tuple(_known("loader", str(name)) for name in loaders),
    )
    return _enter("variant", id, body, tier)


def mode(
    id: str,
    *,
    args: Mapping[str, Any],
    axis: str | None = None,
    doc: str = "",
    tier: str | None = None,
) -> Handle:
    """Register a saved tuple of args; modes of one axis exclude each other."""
    return _enter(
        "mode", id, Mode(args=_freeze_plain(f"mode {id!r}", args), axis=axis, doc=doc), tier
    )


def tag(id: str, *, axis: str | None = None, doc: str = "", tier: str | None = None) -> Handle:
    """Register a word that stories and variants may carry."""
    return _enter("tag", id, Tag(axis=axis, doc=doc), tier)


def loader(id: str) -> Callable[[Callable[..., Any]], Handle]:
    """Register a function that makes what data cannot hold; a generator cleans up after `yield`."""

    def decorate(fn: Callable[..., Any]) -> Handle:
        body = Loader(
            component=Component.of(_callable(fn, f"loader {id!r}")), doc=inspect.getdoc(fn) or ""
        )
        return _enter("loader", id, body, None)

    return decorate


@overload
def assertion(id: str) -> Callable[[Callable[..., Any]], Handle]: ...
@overload
def assertion(id: Callable[..., Any]) -> Handle: ...
def assertion(id: Any) -> Any:
    """Register a check `fn(settled, *payload)` that gives a bool or a Verdict; it never raises.

    `@assertion` takes the function's name as the id, `@assertion("word")` the given one. The
    handle heads a step: `play=[[is_round, "result.total"]]`.
    """
    if callable(id):
        return assertion(getattr(id, "__name__", "?"))(id)

    def decorate(fn: Callable[..., Any]) -> Handle:
        body = Assertion(
            component=Component.of(_callable(fn, f"assertion {id!r}")),
            doc=inspect.getdoc(fn) or "",
        )
        return _enter("assertion", id, body, None)

    return decorate


def ref(loader_id: str, **kwargs: Any) -> Ref:
    """Stand for what data cannot hold: the loader is called with `kwargs` for each run."""
    return Ref(_known("loader", str(loader_id)), _freeze_plain(f"ref {loader_id!r}", kwargs))


def global_args(**args: Any) -> None:
    """Set the args below those of every story; a component takes only those that it names."""
    STORE.set(GLOBAL_ARGS.name, _freeze_plain("global args", args))


def _enter(kind: str, id: str, body: Any, tier: str | None) -> Handle:
    entry: Entry = REGISTRY.register(kind, id, body, origin=_watched_origin(), tier=tier)
    return Handle(kind, entry.id)


def _watched_origin() -> Origin:
    """Name the caller's place; a cell is followed from then on, to retire what it leaves out."""
    origin = find_origin()
    if origin.key.startswith("cell:"):
        CELLS.watch()
    return origin


def _callable(fn: Any, where: str) -> Callable[..., Any]:
    if not callable(fn):
        raise AuthoringError(
            "bad_body", f"{where}: the component is a {type(fn).__name__}, not a function or class."
        )
    return fn


def _freeze_args(
    where: str, component: Callable[..., Any], args: Mapping[str, Any] | None
) -> dict[str, Any]:
    hints = parameter_hints(component)
    check_names(where, component, args or {})
    frozen = {
        str(name): freeze(value, hints.get(name, Any), where=f"{where}: args.{name}")
        for name, value in (args or {}).items()
    }
    for secret in secrets_in(frozen):
        NEEDLES.add(secret, pinned=True)
    return frozen


def parameters_of(component: Callable[..., Any], where: str) -> Mapping[str, inspect.Parameter]:
    """Give what a component takes; AuthoringError for a builtin that does not say."""
    try:
        return inspect.signature(component).parameters
    except (TypeError, ValueError) as error:
        raise AuthoringError(
            "bad_body",
            f"{where}: {Component.of(component).qualname} does not say what it takes; "
            "register a function that calls it.",
        ) from error


def check_names(where: str, component: Callable[..., Any], args: Mapping[str, Any]) -> None:
    """Refuse argument names that the component does not take."""
    parameters = parameters_of(component, where)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    legal = [
        n for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY)
    ]
    for name in args:
        if name not in legal:
            raise AuthoringError(
                "bad_body",
                f"{where}: {Component.of(component).qualname} takes no argument {name!r}."
                f"{did_you_mean(name, legal)} It takes: {', '.join(legal) or 'none'}.",
            )


def _freeze_plain(where: str, args: Mapping[str, Any]) -> dict[str, Any]:
    return {name: freeze(value, Any, where=f"{where}: args.{name}") for name, value in args.items()}


def _step(where: str, line: Any) -> Step:
    words: list[Any] = list(line) if type(line) in (list, tuple) else []
    if not words or not isinstance(words[0], str):
        raise AuthoringError(
            "bad_body",
            f"{where}: a step of a play is a list headed by its name, such as "
            f"repl_pair.check.path_equals('result.total', 13.0), not {type(line).__name__}.",
        )
    name = _known("assertion", str(words[0]))
    payload = enumerate(words[1:])
    return [name, *(freeze(value, where=f"{where}: play {name}[{i}]") for i, value in payload)]


def _words(kind: str, names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise AuthoringError("bad_body", f"{kind}s are a list: [{names!r}], not {names!r}.")
    return tuple(
        ("!" * n.startswith("!")) + _known(kind, n.removeprefix("!")) for n in map(str, names)
    )


def _known(kind: str, id: str) -> str:
    if REGISTRY.find(kind, id) is None:
        raise AuthoringError(
            "not_found",
            f"There is no {kind} {id!r}.{did_you_mean(id, REGISTRY.ids(kind))} "
            f"Register it first: repl_pair.{kind}({id!r}, ...).",
            detail={"kind": kind, "id": id},
        )
    return id
