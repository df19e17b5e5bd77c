"""Surfaces whose members follow those of another: passed through, derived or mapped."""

import inspect
from collections.abc import Callable
from typing import Any

from repl_pair.errors import AuthoringError
from repl_pair.records import record, replace
from repl_pair.runtime.authoring.args import check_callable
from repl_pair.runtime.authoring.entries import enter
from repl_pair.runtime.registry.ids import check_id
from repl_pair.runtime.registry.model import KINDS, Entry, Member
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.raised import text_of_raised
from repl_pair.runtime.store import NOTHING, STORE, Change
from repl_pair.runtime.surfaces.computing import Computation, Worker, held_by, set_value
from repl_pair.runtime.surfaces.functions import check_function, enter_function, tool_name
from repl_pair.runtime.surfaces.publishing import SurfaceHandle, renew, surface
from repl_pair.runtime.surfaces.secret_values import followed_ids
from repl_pair.runtime.surfaces.state import LOCK, STATES, State
from repl_pair.runtime.values.classes import type_name
from repl_pair.runtime.values.hints import declares_secret, read_hint
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.takes import takes_of


@record
class Derived:
    """A value computed from members of the source, by their names there."""

    fn: Callable[..., Any]
    sources: tuple[str, ...]


@record
class Mapped:
    """A stream of what a function makes of each entry of a stream or an event of the source."""

    fn: Callable[[Any], Any]
    source: str


def derive(fn: Callable[..., Any], *sources: str) -> Derived:
    """Make a cell of a projection: what `fn` returns for the values of the named members.

    It gets one argument a source, of a collection a dict and of a stream a list of what is kept.
    It runs on a thread of repl_pair's, at once for a read, and for those who watch at most a
    twentieth of the time. What it raises is what a reader gets, until it returns again; while it
    runs for over 2 s a reader gets `unreadable`. AuthoringError `bad_body` without a source.
    """
    if not sources:
        raise AuthoringError("bad_body", "derive(fn, 'loss') names at least one member.")
    return Derived(fn=_check_function(fn, "derive"), sources=sources)


def mapped(source: str, fn: Callable[[Any], Any]) -> Mapped:
    """Make a stream of a projection: what `fn` returns for each entry of a stream or an event.

    It runs as that of `derive`. An entry for which it raises is `{"unreadable": why}`.
    """
    return Mapped(fn=_check_function(fn, "mapped"), source=source)


def project(
    id: str,
    source: SurfaceHandle,
    *,
    tier: str | None = None,
    doc: str = "",
    expose: bool = True,
    **members: str | Derived | Mapped,
) -> SurfaceHandle:
    """Register a surface whose members follow those of another, and expose them.

    A name passes a member or a function through: one state, under a second id. A member leaves
    with its source, and follows a new declaration of it. AuthoringError
    `bad_body` names what is not there.
    """
    if not isinstance(source, SurfaceHandle):  # pyright: ignore[reportUnnecessaryIsInstance]  a person may pass its id
        what = f"project({id!r}, …) takes what repl_pair.surface returned, not {type_name(source)}."
        raise AuthoringError("bad_body", what)
    if not members:
        raise AuthoringError("bad_body", f"project({id!r}, …) names at least one member.")
    found = {name: _sources_of(id, source, part) for name, part in members.items()}
    check_id("surface", KINDS["surface"].grammar, id)
    for name, entries in found.items():
        _check_part(id, name, entries, expose=expose)
    handle, worker = surface(id, tier=tier, doc=doc), Worker(id)
    for name, part in members.items():
        first = found[name][0]
        _SOURCES.update((entry.kind, entry.id) for entry in found[name])
        if first.kind == "function":
            own = f"{id}.{name}"
            kept = {"tool": tool_name(own), "exposed": expose, "source": first.id}
            enter_function(own, replace(first.body, **kept), tier)
        else:
            body = replace(_body(worker, part, found[name]), exposed=expose, source=first.id)
            enter("member", f"{id}/{name}", body, tier)
    return handle


def _body(worker: Worker, part: str | Derived | Mapped, sources: list[Entry]) -> Member:
    if isinstance(part, str):
        return sources[0].body
    ids = tuple(entry.id for entry in sources)
    takes = takes_of(part.fn)
    hides = takes.gives_secret or any(
        is_secret_key(id) or declares_secret(read_hint(found.body.hint))
        for entry in sources
        for id in followed_ids(entry)
        if (found := REGISTRY.find("member", id)) is not None
    )
    is_cell = isinstance(part, Derived)
    keep = 0 if is_cell else sources[0].body.state.entries.maxlen
    state = State("cell" if is_cell else "stream", keep=keep)
    step = _derive_step(state, part, ids) if is_cell else _map_step(state, part.fn, ids[0], hides)
    state.computed = Computation(state, ids, step, worker, hides=hides)
    doc = inspect.getdoc(part.fn) or ""
    return Member(kind=state.kind, hint=takes.returns, doc=doc, state=state)


def _derive_step(state: State, part: Derived, ids: tuple[str, ...]) -> Callable[[], bool]:
    def compute() -> bool:
        values = [held_by(id) for id in ids]
        if any(value is NOTHING for value in values):
            return set_value(state, NOTHING)
        return set_value(state, part.fn(*values))

    return compute


def _map_step(state: State, fn: Callable[[Any], Any], id: str, hides: bool) -> Callable[[], bool]:
    """Make what maps the entries that came since; a gap of the source is a gap of the state."""
    before: State | None = None
    last = 0

    def compute() -> bool:
        nonlocal before, last
        with LOCK:
            source = STATES.get(id)
            if source is None:
                return False
            is_gap = before is not None and (source is not before or last < source.lost)
            new = [one for one in source.entries if source is not before or one[0] > last]
            before, last = source, source.revision
        made = [_map_entry(fn, value, hides) for _, value in new]
        with LOCK:
            if is_gap:
                state.entries.clear()
                state.revision += 1
                state.began = state.revision
            for value in made:
                state.revision += 1
                state.entries.append((state.revision, value))
        return bool(made or is_gap)

    return compute


def _map_entry(fn: Callable[[Any], Any], value: Any, hides: bool) -> Any:
    try:
        return fn(value)
    except BaseException as error:  # noqa: BLE001  it is the person's code
        return {"unreadable": type_name(error) if hides else text_of_raised(error)}


def _sources_of(id: str, source: SurfaceHandle, part: str | Derived | Mapped) -> list[Entry]:
    """Return the entries that a part follows; AuthoringError where the part cannot follow one."""
    if not isinstance(part, Derived | Mapped):
        return [source.part(part)]
    names, word, legal = (
        (part.sources, "derive", ("cell", "collection", "stream", "event"))
        if isinstance(part, Derived)
        else ((part.source,), "mapped", ("stream", "event"))
    )
    entries = [source.part(name) for name in names]
    for entry in entries:
        kind = "function" if entry.kind == "function" else entry.body.kind
        if kind not in legal:
            what = f"{word} takes a {' or '.join(legal)}, and {entry.id} is a {kind}."
            raise AuthoringError("bad_body", f"project({id!r}): {what}")
    return entries


def _check_part(id: str, name: str, sources: list[Entry], *, expose: bool) -> None:
    """Refuse what could not be registered, before anything is."""
    first = sources[0]
    own = f"{id}.{name}" if first.kind == "function" else f"{id}/{name}"
    check_id(first.kind, KINDS[first.kind].grammar, own)
    if any(own in followed_ids(entry) for entry in sources):
        what = f"{own} would follow itself: give the surface another name than those it follows."
        raise AuthoringError("bad_body", f"project({id!r}): {what}")
    if first.kind == "function":
        check_function(own, replace(first.body, tool=tool_name(own), exposed=expose))


def _check_function(fn: Any, where: str) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(fn):
        raise AuthoringError("bad_body", f"{where} takes a function that is not async.")
    return check_callable(fn, where)


_SOURCES: set[tuple[str, str]] = set()
"""Kinds and ids of all that was ever projected: only their changes are looked at."""


def _follow(change: Change) -> None:
    kind = _KIND_OF.get(change.member)
    if kind is not None and change.key is not None and (kind, change.key) in _SOURCES:
        source = REGISTRY.find(kind, change.key)
        for entry in list(REGISTRY.snapshot(kind).values()):
            if entry.body.source == change.key or _is_computed_from(entry, change.key):
                _settle(entry, source)


def _settle(entry: Entry, source: Entry | None) -> None:
    """Let a projected entry leave with its source, or follow the new declaration of it."""
    body = entry.body
    if source is None:
        REGISTRY.unregister(entry.kind, entry.id, entry=entry)
    elif entry.kind == "function":
        kept = {"tool": body.tool, "exposed": body.exposed, "source": body.source}
        renew(entry, replace(source.body, **kept))
    elif body.state.computed is not None:
        body.state.computed.note(source.id)
    elif body.state is not source.body.state:
        kept = {"exposed": body.exposed, "source": body.source}
        renew(entry, replace(source.body, **kept))


def _is_computed_from(entry: Entry, id: str) -> bool:
    state = getattr(entry.body, "state", None)
    return state is not None and state.computed is not None and id in state.computed.sources


_KIND_OF = {KINDS[kind].collection: kind for kind in ("member", "function")}
STORE.subscribe(_follow)
