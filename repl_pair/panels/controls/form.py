"""The form of the variant in focus: its fields, what they start at, and whether an edit fits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.panels.base.context import Focus
from repl_pair.panels.controls.fields import Field, Path, fields_of
from repl_pair.panels.controls.form_values import (
    LONG,
    NotShown,
    fault_in,
    holds_secret,
    shown,
    to_form,
)
from repl_pair.panels.controls.messages import FieldState
from repl_pair.records import record
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import Frozen, Record, merge, to_plain
from repl_pair.runtime.values.takes import takes_of


@record
class Form:
    """The fields of a variant, and the frozen args that they start at.

    `defaults` are those of them that no layer gives: an override is laid over none of these.
    """

    variant_id: str
    fields: tuple[Field, ...]
    base: Mapping[str, Any]
    defaults: Mapping[str, Any]

    @property
    def parts(self) -> Mapping[Path, Field]:
        """All fields, also those that hold others."""
        return {part.path: part for part in _unfold(self.fields)}

    @property
    def leaves(self) -> Mapping[Path, Field]:
        """The fields that hold a value: one that holds others has none of its own."""
        return {path: part for path, part in self.parts.items() if not part.fields}


def form_of(focus: Focus) -> Form:
    """Make the form of the variant in focus, without overrides; RequestError for no plan."""
    assert focus.variant is not None
    plan = plan_variant(focus.variant, modes=focus.modes)
    given = {**plan.args, **plan.dispatched}
    defaults, required = _defaults(plan.component)
    base = {**defaults, **given}
    fields = fields_of(
        plan.component,
        merge(plan.story.argtypes, plan.variant.argtypes),
        required=required,
        others=given,
    )
    masked_fields = tuple(_mask(each, base) for each in fields)
    loose = {name: value for name, value in defaults.items() if name not in given}
    return Form(variant_id=plan.variant_id, fields=masked_fields, base=base, defaults=loose)


def value_at(form: Form, path: Path, overrides: Mapping[str, Any]) -> FieldState:
    """Return what one field shows, and whether it is edited."""
    part = form.parts[path]
    value = _UNSET
    for tree in (form.base, overrides):
        with suppress(KeyError):
            value = _at(tree, path)
    state: FieldState = {
        "path": list(path),
        "edited": is_edited(form, path, overrides),
        "none": value is None,
        "set": value is not _UNSET,
    }
    if value is _UNSET or value is None or part.fields or part.control == "secret":
        return state
    try:
        text = state["value"] = shown(part, value)
        if part.control == "text" and (len(text) > LONG or "\n" in text):
            state["long"] = True
    except NotShown as why:
        state["note"] = str(why)
    return state


def is_edited(form: Form, path: Path, overrides: Mapping[str, Any]) -> bool:
    """Return whether overrides change the value at a path."""
    with suppress(KeyError):
        return not equals_base(form, path, _at(overrides, path))
    return False


def edit(form: Form, overrides: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return overrides with one more edit; one that changes nothing is left out.

    A part of a default brings the rest of it: an override is laid over args, not over defaults.
    """
    head, default = path[:1], form.defaults.get(path[0])
    whole = len(path) > 1 and is_map(default)
    if whole and head[0] not in overrides:
        overrides = _put(overrides, head, default)
    if not whole and equals_base(form, path, value):
        return _drop(overrides, path)
    edited = _put(overrides, path, value)
    return _drop(edited, head) if whole and equals_base(form, head, edited[head[0]]) else edited


def reset(form: Form, overrides: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return overrides without one edit."""
    if len(path) > 1 and path[0] in form.defaults and path[0] in overrides:
        with suppress(KeyError):  # without such a part of the default the override has none either
            return edit(form, overrides, path, _at(form.base, path))
    return _drop(overrides, path)


def equals_base(form: Form, path: Path, value: Any) -> bool:
    """Return whether an edit gives the value that the field starts at."""
    try:
        # As texts: a bool is no number, 1 is no 1.0.
        return repr(to_form(_at(form.base, path))) == repr(to_form(value))
    except (KeyError, NotShown):
        return False


def find_fault(
    focus: Focus, form: Form, overrides: Mapping[str, Any], path: Path
) -> tuple[Path, str] | None:
    """Plan with an edit at a path, and return what is wrong and the field that it is about.

    Nothing runs. A fault that names no field is about the edit.
    """
    try:
        plan = plan_variant(form.variant_id, modes=focus.modes, overrides=overrides)
    except AuthoringError as error:
        return path, error.message
    except RequestError as error:
        return fault_in(error, list(form.parts)) or path, error.message
    if not is_edited(form, path, overrides):
        return None
    try:
        left = _left_in(_at(overrides, path), _at({**plan.args, **plan.dispatched}, path))
    except KeyError:  # it goes to an event of another shape
        return None
    why = f"Overrides are laid over, so {', '.join(left)} cannot be taken out here."
    return (path, why) if left else None


_UNSET: Any = object()


def _unfold(fields: Sequence[Field]) -> Iterator[Field]:
    for each in fields:
        yield each
        yield from _unfold(each.fields)


def _mask(part: Field, base: Mapping[str, Any]) -> Field:
    """Mask a field whose value, as the variant gives it, is or holds a secret."""
    if part.fields:
        return replace(part, fields=tuple(_mask(each, base) for each in part.fields))
    with suppress(KeyError):
        return replace(part, control="secret") if holds_secret(_at(base, part.path)) else part
    return part


def _defaults(component: Callable[..., Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the defaults that are data, frozen, and the names that have none."""
    takes = takes_of(component)
    found: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in (takes.parameters or {}).items():
        if name not in takes.hints:
            continue
        if parameter.default is parameter.empty:
            required.append(name)
            continue
        with suppress(AuthoringError):  # a default that is no data is shown as none
            found[name] = freeze(parameter.default, takes.hints[name])
    return found, required


def _left_in(typed: Any, effective: Frozen) -> Sequence[str]:
    """Return the keys that stay though the edit lacks them: overrides are laid over."""
    kept = effective.fields if type(effective) is Record else effective
    if not (is_map(kept) and is_map(typed)):
        return ()
    named = {str(to_plain(key)): value for key, value in kept.items()}
    below = [
        f"{key}.{inner}"
        for key in named
        if key in typed
        for inner in _left_in(typed[key], named[key])
    ]
    return [*(key for key in named if key not in typed), *below]


def _put(tree: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return overrides with one more value, at a path."""
    head, *rest = path
    inner: Any = tree.get(head)
    below = _put(inner if is_map(inner) else {}, tuple(rest), value) if rest else value
    return {**tree, head: below}


def _drop(tree: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return overrides without the value at a path, and without mappings that are then empty."""
    head, *rest = path
    kept = {name: value for name, value in tree.items() if name != head}
    inner: Any = tree.get(head)
    below = _drop(inner, tuple(rest)) if rest and is_map(inner) else {}
    return {**kept, head: below} if below else kept


def _at(tree: Any, path: Path) -> Any:
    """Return the value at a path; KeyError where there is none."""
    for key in path:
        held = tree.fields if type(tree) is Record else tree
        if not is_map(held):
            raise KeyError(key)
        tree = held[key]
    return tree
