"""The form of the variant in focus: its fields, what they start at, and whether an edit fits."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.panels.base.context import Focus
from repl_pair.panels.controls.fields import Field, Path, fields_of, leaves_of, masked
from repl_pair.panels.controls.form_values import (
    LONG,
    NotShown,
    fault_in,
    holds_secret,
    shown,
    to_form,
)
from repl_pair.panels.controls.messages import FieldState
from repl_pair.panels.controls.overrides import at, drop, left_in, put
from repl_pair.records import record
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import merge
from repl_pair.runtime.values.hints import takes_of

FORM: Path = ()
"""The path of a fault that is about no field."""


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
    def leaves(self) -> Mapping[Path, Field]:
        """The fields that hold a value."""
        return leaves_of(self.fields)

    @property
    def groups(self) -> Mapping[Path, Field]:
        """The fields that hold others."""
        return {each.path: each for each in _groups(self.fields)}


def form_of(focus: Focus) -> Form:
    """Make the form of the variant in focus, with its modes and without overrides.

    RequestError where it cannot be planned.
    """
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
    part = form.leaves.get(path) or form.groups[path]
    value = _effective(form, path, overrides)
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
    except NotShown as why:
        state["note"] = str(why)
        return state
    if part.control == "text" and isinstance(text, str) and (len(text) > LONG or "\n" in text):
        state["long"] = True
    return state


def is_edited(form: Form, path: Path, overrides: Mapping[str, Any]) -> bool:
    """Return whether overrides change the value at a path."""
    try:
        held = at(overrides, path)
    except KeyError:
        return False
    return not equals_base(form, path, held)


def edit(form: Form, overrides: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return overrides with one more edit; one that changes nothing is left out.

    A part of a default brings the rest of it: an override is laid over args, not over defaults.
    """
    head, default = path[:1], form.defaults.get(path[0])
    whole = len(path) > 1 and is_map(default)
    if whole and head[0] not in overrides:
        overrides = put(overrides, head, default)
    if not whole and equals_base(form, path, value):
        return drop(overrides, path)
    edited = put(overrides, path, value)
    return drop(edited, head) if whole and equals_base(form, head, edited[head[0]]) else edited


def reset(form: Form, overrides: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return overrides without one edit."""
    if len(path) > 1 and path[0] in form.defaults and path[0] in overrides:
        try:
            return edit(form, overrides, path, at(form.base, path))
        except KeyError:
            pass  # the default has no such part, so neither has the override from here on
    return drop(overrides, path)


def equals_base(form: Form, path: Path, value: Any) -> bool:
    """Return whether an edit gives the value that the field starts at."""
    try:
        # As texts: a bool is no number, 1 is no 1.0.
        return repr(to_form(at(form.base, path))) == repr(to_form(value))
    except (KeyError, NotShown):
        return False


def faults_of(
    focus: Focus, form: Form, overrides: Mapping[str, Any], edited: Path | None = None
) -> Mapping[Path, str]:
    """Plan with these overrides, and return the faults by field; nothing runs."""
    try:
        plan = plan_variant(form.variant_id, modes=focus.modes, overrides=overrides)
    except RequestError as error:
        path = fault_in(error, [*form.leaves, *form.groups]) or edited or FORM
        return {path: error.message}
    if edited is None:
        return {}
    try:
        left = left_in(at(overrides, edited), at({**plan.args, **plan.dispatched}, edited))
    except KeyError:  # it goes to an event of another shape
        return {}
    if not left:
        return {}
    return {edited: f"Overrides are laid over, so {', '.join(left)} cannot be taken out here."}


_UNSET: Any = object()


def _effective(form: Form, path: Path, overrides: Mapping[str, Any]) -> Any:
    for tree in (overrides, form.base):
        try:
            return at(tree, path)
        except KeyError:
            continue
    return _UNSET


def _groups(fields: tuple[Field, ...]) -> list[Field]:
    return [found for each in fields if each.fields for found in (each, *_groups(each.fields))]


def _mask(part: Field, base: Mapping[str, Any]) -> Field:
    """Mask a field whose value, as the variant gives it, is or holds a secret."""
    if part.fields:
        return replace(part, fields=tuple(_mask(each, base) for each in part.fields))
    try:
        value = at(base, part.path)
    except KeyError:
        return part
    return masked(part) if holds_secret(value) else part


def _defaults(component: Callable[..., Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the defaults that are data, frozen, and the names that have none."""
    hints = takes_of(component).hints
    found: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in (takes_of(component).parameters or {}).items():
        if name not in hints:
            continue
        if parameter.default is parameter.empty:
            required.append(name)
            continue
        try:
            found[name] = freeze(parameter.default, hints[name])
        except AuthoringError:  # a default that is no data is shown as none
            continue
    return found, required
