"""What the person writes to register stories, variants, modes, tags, loaders and assertions."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from repl_pair.errors import AuthoringError
from repl_pair.runtime.authoring.args import (
    bad_body,
    check_callable,
    freeze_args,
    freeze_plain,
)
from repl_pair.runtime.authoring.bodies import (
    known,
    list_of,
    read_marks,
    read_substrates,
    read_uses,
    read_words,
)
from repl_pair.runtime.authoring.entries import Handle, enter
from repl_pair.runtime.authoring.lines import read_arg_events, read_events, read_plays, read_steps
from repl_pair.runtime.authoring.rows import Rows, read_rows
from repl_pair.runtime.registry.extending import check_parent, lay_over
from repl_pair.runtime.registry.ids import STORY, VARIANT, check_id, story_of
from repl_pair.runtime.registry.model import Component, Step, Story, Variant
from repl_pair.runtime.registry.origin import find_origin, is_same_run
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.learning import learn_defaults
from repl_pair.runtime.values.classes import is_installed, lineage, names_in, root_of
from repl_pair.runtime.values.declared_fields import is_dataclass_kind, is_named_tuple

F = TypeVar("F", bound=Callable[..., Any])


def story(
    id: str | Callable[..., Any],
    *,
    component: Callable[..., Any] | None = None,
    args: Mapping[str, Any] | None = None,
    argtypes: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    modes: Sequence[str] = (),
    decorators: Sequence[Any] = (),
    substrates: Sequence[str] = (),
    variants: Rows = (),
    state: Callable[..., Any] | None = None,
    doc: str = "",
    thread_safe: bool = False,
    agent_overrides: bool = True,
    tier: str | None = None,
) -> Any:
    """Register a component under an id: as a decorator it returns the function unchanged.

    `@story` and `story(fn)` take the id from the function: `module.name`, in a notebook `name`.
    With `component=` it registers at once and returns the handle. `args` are the defaults of all
    its variants; names are checked now, types at the first run. `modes` names those that fit;
    declaring them activates none. `variants` is a table, as `repl_pair.variants` takes it. `state`
    projects a class's instance, or what a function returned.
    """

    story_id = own_story_id(id) if callable(id) else check_id("story", STORY, id)
    rows = variants

    def register(fn: Callable[..., Any]) -> Handle:
        where = f"story {story_id!r}"
        body = Story(
            component=Component.of(check_callable(fn, where)),
            doc=doc or _doc_of(fn),
            args=freeze_args(where, fn, args),
            argtypes=freeze_plain(f"{where}: argtypes", argtypes or {}),
            tags=read_words("tag", tags),
            modes=read_words("mode", modes),
            decorators=read_uses(where, decorators),
            substrates=read_substrates(where, substrates),
            state=None if state is None else Component.of(check_callable(state, where)),
            thread_safe=thread_safe,
            agent_overrides=agent_overrides,
        )
        learn_defaults(fn)
        read = read_rows(where, fn, rows, inspect.signature(variant).parameters)
        handle = enter("story", story_id, body, tier)
        _enter_all(story_id, read, tier)
        return handle

    def decorate(fn: F) -> F:
        register(fn)
        return fn

    if callable(id):
        return decorate(id)
    return decorate if component is None else register(component)


def own_story_id(fn: Callable[..., Any]) -> str:
    """Return the id of a story that is given none; an id has no part that begins with `_`.

    AuthoringError `bad_id` for what has no name.
    """
    name, module = getattr(fn, "__name__", None), getattr(fn, "__module__", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise AuthoringError("bad_id", f"{fn!r} has no name: give the id, `story('id')`.")
    parts = [*("" if module == "__main__" else module).split("."), name]
    return ".".join(filter(None, (part.lstrip("_") for part in parts)))


def _doc_of(fn: Callable[..., Any]) -> str:
    """Return a component's doc; none that was generated, nor that of a library's base class."""
    if isinstance(fn, partial):
        return _doc_of(fn.func)
    doc = inspect.getdoc(fn) or ""
    cls = fn if isinstance(fn, type) else type(fn)
    owner = next((base for base in lineage(cls) if names_in(base).get("__doc__")), cls)
    is_librarys = owner is not cls and is_installed(root_of(owner))
    may_be_generated = is_dataclass_kind(cls) or is_named_tuple(cls)
    is_generated = may_be_generated and doc.startswith(f"{cls.__name__}(")
    return "" if is_generated or (is_librarys and doc == inspect.getdoc(owner)) else doc


def variant(
    id: str,
    *,
    extends: str | None = None,
    args: Mapping[str, Any] | None = None,
    argtypes: Mapping[str, Any] | None = None,
    events: Iterable[Any] = (),
    args_to_events: Mapping[str, str] | Sequence[Sequence[str]] | None = None,
    play: Iterable[Step] = (),
    plays: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    loaders: Sequence[str] = (),
    loaders_complete_when: str | Sequence[str] | None = None,
    loaders_teardown: Iterable[Any] = (),
    tags: Sequence[str] = (),
    modes: Sequence[str] = (),
    marks: Sequence[Any] = (),
    decorators: Sequence[Any] = (),
    substrates: Sequence[str] = (),
    doc: str = "",
    tier: str | None = None,
) -> Handle:
    """Register one named state of a story that is registered: `story.id/Name`.

    The body is data: JSON, declared dataclasses and similar, arrays and frames. What data cannot
    hold is a `ref` to a loader. `!word` takes out a tag or mode of the story's. `marks` are of
    pytest, such as `pytest.mark.timeout(5)`. What `extends` names is laid under the body for each
    run: its events and loaders come first, args merge deep, decorators and tags add up; its plays
    are not taken over. The args that `args_to_events` names are dispatched as
    `[event, {arg: value}]` and not passed. `plays` maps names to steps, or to
    `{"steps": [...], "auto_run": True}`; the first runs by itself. AuthoringError `not_found` where
    the story is not registered, `bad_id` and `bad_body` for what does not fit.
    """
    parent = REGISTRY.find("story", story_of(check_id("variant", VARIANT, id)))
    if parent is None:
        raise AuthoringError(
            "not_found", f"variant {id!r}: {REGISTRY.missing('story', story_of(id))}"
        )
    where = f"variant {id!r}"
    above = check_parent(id, extends)
    steps = read_steps(where, play)
    if steps and plays:
        raise bad_body(where, "it has `play` or `plays`, not both.")
    component = parent.body.component.resolve()
    taken_over = lay_over(above).args_to_events if above else ()
    sent = read_arg_events(where, args_to_events or {})
    body = Variant(
        doc=doc,
        extends=None if extends is None else str(extends),
        args=freeze_args(where, component, args, dispatched={*taken_over, *sent}),
        argtypes=freeze_plain(f"{where}: argtypes", argtypes or {}),
        events=read_events(where, events),
        args_to_events=sent,
        play=steps,
        plays=read_plays(where, plays or {}),
        loaders=read_words("loader", loaders),
        loaders_complete_when=_condition(where, loaders_complete_when),
        loaders_teardown=read_events(where, loaders_teardown),
        tags=read_words("tag", tags, removable=True),
        modes=read_words("mode", modes, removable=True),
        marks=read_marks(where, marks),
        decorators=read_uses(where, decorators),
        substrates=read_substrates(where, substrates),
    )
    return enter("variant", id, body, tier)


def variants(story_of: str | Callable[..., Any], rows: Rows) -> list[Handle]:
    """Register a table of variants, of a story's id or of a function, which is made a story here.

    `{"Two": ({"prices": [4, 9]}, 13)}` or `[([4, 9], 13)]`: args, and what the result must equal.
    The args are a mapping by name, a tuple by position, or the first one. In the place of the
    result stands a play where `check` or `step` made it: `(-1, check.raises(ValueError))`. A row
    may also be a mapping of what `variant` takes. A list's rows are named by their args.
    """
    if callable(story_of):
        id = own_story_id(story_of)
        known_story, here = REGISTRY.find("story", id), find_origin()
        was = None if known_story is None else known_story.origin
        # What an earlier run of this place registered goes, unless this run does so again.
        if was is None or (was.key == here.key and not is_same_run(was.run, here.run)):
            story(id, component=story_of)
    else:
        id = known("story", check_id("story", STORY, story_of))
    component = REGISTRY.get("story", id).body.component.resolve()
    read = read_rows(f"story {id!r}", component, rows, inspect.signature(variant).parameters)
    return _enter_all(id, read, None)


def _enter_all(
    story_id: str, read: Mapping[str, Mapping[str, Any]], tier: str | None
) -> list[Handle]:
    every: dict[str, dict[str, Any]] = {n: {"tier": tier, **slots} for n, slots in read.items()}
    return [variant(f"{story_id}/{name}", **slots) for name, slots in every.items()]


def _condition(where: str, given: str | Sequence[str] | None) -> str | tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str):
        return known("derived", str(given))
    return tuple(map(str, list_of(where, "loaders_complete_when", given)))
