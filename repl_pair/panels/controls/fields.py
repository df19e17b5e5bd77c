"""The fields of a form: one an arg, with the control that its type and argtypes call for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, cast

from repl_pair.panels.controls.messages import FieldShape
from repl_pair.records import record
from repl_pair.runtime.signatures.schema import Schema, type_schema
from repl_pair.runtime.values.classes import is_map, real_class
from repl_pair.runtime.values.frozen import to_plain
from repl_pair.runtime.values.hints import ANYTHING, Hint, item_hint
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.takes import takes_of

Path = tuple[str, ...]

RADIOS = 4
"""Up to how many choices are shown all at once."""
DEEPEST = 4
"""How deep fields nest; what is below is one text of JSON."""


@record
class Field:
    """One arg, or one part of one; `options` are the choices, as they are passed."""

    path: Path
    control: str
    type: str
    schema: Schema
    hint: Hint
    doc: str = ""
    is_nullable: bool = False
    is_required: bool = False
    options: Sequence[Any] = ()
    least: float | None = None
    most: float | None = None
    step: float | None = None
    fields: "tuple[Field, ...]" = ()

    def to_json(self) -> FieldShape:
        """Return what a browser needs to show it."""
        slots: Any = {name: getattr(self, name) for name in FieldShape.__annotations__}
        texts = [one if isinstance(one, str) else repr(one) for one in self.options]
        return slots | {"options": texts, "fields": [part.to_json() for part in self.fields]}


@record
class ArgType:
    """One arg in argtypes."""

    control: str = ""
    doc: str = ""
    options: Sequence[Any] = ()
    bounds: Mapping[str, float] = field(default_factory=dict[str, float])


def fields_of(
    component: Callable[..., Any],
    argtypes: Mapping[str, Any],
    *,
    required: Sequence[str],
    others: Mapping[str, Any],
) -> tuple[Field, ...]:
    """Return a field for each parameter of a component, and for each of the `others`.

    Those are args that no parameter names; their values give their types.
    """
    hints = dict(takes_of(component).read)
    for name, value in others.items():
        kind = real_class(value)
        known = Hint((kind,)) if kind in (bool, int, float, str, list, dict) else ANYTHING
        hints.setdefault(name, known)
    return tuple(
        _field((name,), hint, read_argtype(argtypes.get(name)), needed=name in required)
        for name, hint in hints.items()
    )


def read_argtype(given: Any) -> ArgType:
    """Read one argtype: a text is its doc, `control` a word or a mapping with `type`."""
    plain = to_plain(given)
    if not is_map(plain):
        return ArgType(doc=str(plain or ""))
    control: Any = plain.get("control", "")
    inner: Mapping[str, Any] = control if is_map(control) else {"type": control}
    word = str(inner.get("type", ""))
    asked = _OTHER_WORDS.get(word, word)
    slots = {**plain, **inner}
    numbers = {n: slots[n] for n in ("min", "max", "step") if type(slots.get(n)) in (int, float)}
    options = slots.get("options", ())
    return ArgType(
        control=asked if asked in _CONTROLS else "",
        doc=str(plain.get("doc") or plain.get("description") or ""),
        options=tuple(cast("list[Any]", options)) if isinstance(options, list | tuple) else (),
        bounds=numbers,
    )


_OTHER_WORDS = {"slider": "range", "color": "colour", "inline-radio": "radio", "object": "json"}
_FITTING: Mapping[str, tuple[str, ...]] = {
    "range": ("integer", "number"),
    "number": ("integer", "number"),
    "text": ("string",),
    "textarea": ("string",),
    "colour": ("string",),
    "json": ("array", "object"),
}
"""The types that a control can be asked for."""
_CONTROLS = frozenset((*_FITTING, "radio", "select", "expression"))
"""The controls that can be asked for; those beside these types fit any."""
_BY_FORMAT = {"date-time": "datetime", "date": "date", "time": "time", "color": "colour"}
_BY_TYPE = {
    "boolean": "checkbox",
    "integer": "number",
    "number": "number",
    "string": "text",
    "array": "json",
    "object": "json",
}


def _field(path: Path, hint: Hint, argtype: ArgType, *, needed: bool) -> Field:
    schemas = [type_schema(arm) for arm in hint.arms]
    numeric = bool(schemas) and all(s.get("type") in ("integer", "number") for s in schemas)
    schema: Schema = schemas[0] if len(schemas) == 1 else {"type": "number"} if numeric else {}
    about = {} if hint.doc is None else {"description": hint.doc}
    schema = schema | about | ({"writeOnly": True} if hint.sensitive else {})
    options = tuple(schema.get("enum", argtype.options))
    secret = bool(schema.get("writeOnly")) or is_secret_key(path[-1])
    control = "secret" if secret else _control(schema, argtype, options)
    inner = _inner(path, hint, schema) if control == "json" and argtype.control != "json" else ()
    return Field(
        path=path,
        control="group" if inner else control,
        type=str(hint),
        schema=schema,
        hint=hint,
        doc=argtype.doc or str(schema.get("description", "")),
        is_nullable=hint.nullable,
        is_required=needed,
        options=() if secret else options,
        least=argtype.bounds.get("min"),
        most=argtype.bounds.get("max"),
        step=argtype.bounds.get("step"),
        fields=inner,
    )


def _control(schema: Schema, argtype: ArgType, options: Sequence[Any]) -> str:
    kind = str(schema.get("type", ""))
    if options:
        usual = "radio" if len(options) <= RADIOS else "select"
        return argtype.control if argtype.control in ("radio", "select") else usual
    if argtype.control and kind in _FITTING.get(argtype.control, (kind,)):
        bounded = {"min", "max"} <= argtype.bounds.keys()
        return "number" if argtype.control == "range" and not bounded else argtype.control
    if kind in ("integer", "number") and {"min", "max"} <= argtype.bounds.keys():
        return "range"
    return _BY_FORMAT.get(str(schema.get("format")), _BY_TYPE.get(kind, "expression"))


def _inner(path: Path, hint: Hint, schema: Schema) -> tuple[Field, ...]:
    """Return the fields of a record; other values have none."""
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    if len(path) >= DEEPEST or schema.get("additionalProperties") is True:
        return ()
    needed = schema.get("required", ())
    return tuple(
        _field((*path, name), item_hint(hint, name), ArgType(), needed=name in needed)
        for name in properties
    )
