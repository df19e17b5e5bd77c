"""What the person writes to compose variants: decorators, workspaces, panels, functions."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.authoring.args import bad_body, check_callable
from repl_pair.runtime.authoring.bodies import known, read_words
from repl_pair.runtime.authoring.decorator_uses import unraisable
from repl_pair.runtime.authoring.entries import Handle, enter, function_kind
from repl_pair.runtime.authoring.given import freeze_given, freeze_response
from repl_pair.runtime.authoring.lines import read_events
from repl_pair.runtime.registry.ids import WORDS, check_id
from repl_pair.runtime.registry.model import Component, Decorator, Panel, Workspace
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.paths import parse_path

DECORATORS: Mapping[str, tuple[str, ...]] = {
    "wrap": ("wrap",),
    "frame_setup": ("init", "teardown", "patch"),
    "fx_override": ("effect", "response", "responses"),
}
"""The kinds of decorators, and what each is given."""
LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "grid": ("variants",),
    "prose": ("content",),
    "variants_grid": ("story", "variants"),
    "tabs": ("variants",),
    "custom": ("render",),
}
"""The layouts of workspaces, and what each must be given: one of these, and no other."""
_MAY_ALSO: Mapping[str, tuple[str, ...]] = {"custom": ("variants",)}
PLACEMENTS = ("right", "left", "bottom", "top", "modal", "centre")

handler = function_kind(
    "handler",
    "Register a function `fn(live, **payload)` that events of its id go to; it may change `live`.",
)
derived = function_kind(
    "derived", "Register a function `fn(state)` that assertions may ask what follows from a state."
)


def decorator(
    id: str,
    *,
    kind: str = "wrap",
    wrap: Callable[..., Any] | None = None,
    init: Iterable[Any] = (),
    teardown: Iterable[Any] = (),
    patch: Mapping[str, Any] | None = None,
    effect: str = "",
    doc: str = "",
    tier: str | None = None,
    **answers: Any,
) -> Any:
    """Register what a run puts around a component; `@decorator(id)` over a function is a wrap.

    A wrap is a generator that yields once, gives a context manager, or takes `component` first and
    gives another; its further parameters are the `args` of `[id, {args}]`. A frame_setup sets the
    paths of `patch`, dispatches `init` before the variant's events and `teardown` at the end. An
    fx_override answers for `effect`, an effect's id or a Python function's dotted name: with
    `response=` each time, with `responses=[...]` once each; `{"$raise": "TimeoutError"}` raises.
    Data is made anew for each call; any other value is given as it is, and identified by its class.
    What an fx_override leaves open, its use gives: `[id, {"effect": ..., "response": ...}]`.
    """
    where = f"decorator {check_id('decorator', WORDS, id)!r}"
    given = {"wrap": wrap, "init": init, "teardown": teardown, "patch": patch, "effect": effect}
    _check_slots(where, kind, {n for n, v in given.items() if v} | set(answers))

    def register(fn: Callable[..., Any] | None) -> Handle:
        body = Decorator(
            kind=kind,
            doc=doc or (inspect.getdoc(fn) if fn else "") or "",
            wrap=None if fn is None else Component.of(check_callable(fn, where)),
            init=read_events(where, init),
            teardown=read_events(where, teardown),
            patch=_patch(where, patch or {}),
            effect=str(effect),
            responses=_responses(where, answers),
            repeats="responses" not in answers,
        )
        return enter("decorator", id, body, tier)

    return register if kind == "wrap" and wrap is None else register(wrap)


def workspace(
    id: str,
    *,
    layout: str,
    variants: Sequence[str] = (),
    story: str | None = None,
    columns: int | None = None,
    content: Iterable[Mapping[str, Any]] = (),
    render: str | None = None,
    modes: Sequence[str] = (),
    isolation: str = "isolated",
    doc: str = "",
    tier: str | None = None,
) -> Handle:
    """Register variants that are laid out together: `some.place/Name`.

    grid and tabs take `variants`, prose takes `content` (a list of {"prose": text} and
    {"variant": id}), variants_grid takes a `story`, all whose variants it shows, or `variants`,
    custom takes `render`, the id of a panel, and may take `variants`. `isolation="shared"` shows
    one cell of a variants_grid at a time.
    """
    where = f"workspace {id!r}"
    _check_known(where, "layout", layout, LAYOUTS)
    slots = {"variants": variants, "story": story, "content": content, "render": render}
    given = [name for name, value in slots.items() if value]
    needed = LAYOUTS[layout]
    others = slots.keys() - {*needed, *_MAY_ALSO.get(layout, ())}
    if len([slot for slot in given if slot in needed]) != 1 or others.intersection(given):
        raise bad_body(
            where,
            f"layout {layout} takes {' or '.join(needed)}, and not {', '.join(sorted(others))}; "
            f"given: {', '.join(given) or 'none'}.",
        )
    if columns is not None and (type(columns) is not int or columns < 1):
        raise bad_body(where, f"columns is 1 or more, not {columns!r}.")
    is_shared = isolation == "shared" and layout == "variants_grid"
    if isolation != "isolated" and not is_shared:
        raise bad_body(where, "isolation is isolated, or shared in a variants_grid.")
    body = Workspace(
        layout=layout,
        doc=doc,
        variants=read_words("variant", variants),
        story=None if story is None else known("story", str(story)),
        columns=columns,
        content=tuple(_block(where, block) for block in content),
        render=render,
        modes=read_words("mode", modes),
        isolation=isolation,
    )
    return enter("workspace", id, body, tier)


def panel(
    id: str,
    *,
    title: str,
    placement: str,
    render: str | Callable[..., Any],
    doc: str = "",
    tier: str | None = None,
) -> Handle:
    """Register something to be shown beside the variants.

    `render` is a function, or the id of another panel whose function is looked up when this one
    is shown; who registers the same id later replaces it.
    """
    where = f"panel {id!r}"
    if placement not in PLACEMENTS:
        raise bad_body(where, f"placement is {', '.join(PLACEMENTS)}, not {placement!r}.")
    made = render if isinstance(render, str) else Component.of(check_callable(render, where))
    return enter("panel", id, Panel(title=title, placement=placement, render=made, doc=doc), tier)


def _check_known(where: str, what: str, name: str, legal: Iterable[str]) -> None:
    if name not in legal:
        near, there = did_you_mean(name, legal), ", ".join(legal)
        raise bad_body(where, f"there is no {what} {name!r}.{near} There are {there}.")


def _check_slots(where: str, kind: str, given: set[str]) -> None:
    _check_known(where, "kind", kind, DECORATORS)
    if odd := sorted(given - set(DECORATORS[kind])):
        raise bad_body(
            where, f"a {kind} takes {', '.join(DECORATORS[kind])}, not {', '.join(odd)}."
        )
    if kind == "frame_setup" and not given:
        raise bad_body(where, "a frame_setup has init, teardown or patch.")
    answers = len(given & {"response", "responses"})
    if kind == "fx_override" and (answers > 1 or ("effect" in given and not answers)):
        raise bad_body(
            where, "an fx_override has response=, given each time, or responses=[...], once each."
        )


def _responses(where: str, answers: Mapping[str, Any]) -> tuple[Any, ...]:
    if not answers:
        return ()
    responses = answers.get("responses", [answers.get("response")])
    if wrong := unraisable(responses):
        raise bad_body(where, wrong)
    return tuple(freeze_response(r, f"{where}: response {i}") for i, r in enumerate(responses))


def _block(where: str, block: Any) -> Mapping[str, Any]:
    if is_map(block) and len(block) == 1:
        ((kind, value),) = block.items()
        if kind == "prose":
            return {"prose": str(value)}
        if kind == "variant":
            return {"variant": known("variant", str(value))}
    raise bad_body(
        where, f"content is a list of {{'prose': text}} and {{'variant': id}}, not {block!r:.80}."
    )


def _patch(where: str, patch: Any) -> dict[str, Any]:
    if not is_map(patch):
        raise bad_body(where, f"patch is {{path: value}}, not {patch!r:.80}.")
    try:
        for path in patch:
            parse_path(path)
    except RequestError as error:
        raise bad_body(where, f"patch: {error.message}") from error
    return {str(p): freeze_given(value, where=f"{where}: patch {p}") for p, value in patch.items()}
