"""Frozen values as JSON data that is the same in every process, and back.

What JSON holds stands as itself. All else is a marker: `{"$ref": loader, **kwargs}`,
`{"$type": "decimal", "value": "1.10"}` and similar, `[redacted]` for a secret. What no data carries
(arrays, frames, scalars of libraries) is named by a marker that is refused when it is read.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from repl_pair.records import row
from repl_pair.runtime.values.classes import TypeRef, is_map, is_row, is_set, real_class
from repl_pair.runtime.values.frozen import EnumMember, Frozen, Given, Record, Ref, Secret, bad_data
from repl_pair.runtime.values.leaves import LEAVES, leaf_of
from repl_pair.runtime.values.marks import holds_named_secret, is_secret_key
from repl_pair.runtime.values.value_parts import judged_name
from repl_pair.wire import ELIDED, REDACTED, Json

REF, TYPE = "$ref", "$type"
"""The keys that make a mapping a marker."""
ENUM = "enum"
BIGGEST_INT = 2**53 - 1
"""The largest whole number that every reader of JSON keeps."""


def to_json_data(frozen: Frozen) -> Any:
    """Return frozen data as JSON data: keys sorted, members of sets in the order of their text.

    A Secret stays one, for `without_secrets` or the way out of the kernel to hide.
    """
    kind = real_class(frozen)
    if kind is Secret or _is_json(frozen):
        return frozen
    if kind is Ref:
        if _is_plain_map(frozen.kwargs):
            return dict(sorted({REF: frozen.loader, **_sorted_map(frozen.kwargs)}.items()))
        return {TYPE: "ref", "kwargs": to_json_data(frozen.kwargs), "loader": frozen.loader}
    if kind is Record:
        return {
            TYPE: "record",
            "class": _class_name(frozen.type),
            "fields": to_json_data(frozen.fields),
        }
    if kind is Given:
        return _of_no_data(frozen.value)
    if kind is EnumMember:
        return {TYPE: ENUM, "class": _class_name(frozen.type), "name": frozen.name}
    if is_map(frozen):
        if _is_plain_map(frozen):
            return _sorted_map(frozen)
        pairs = [
            _pair(key, item, is_secret_key(judged_name(key) or str(key)))
            for key, item in frozen.items()
        ]
        return {TYPE: "map", "value": sorted(pairs, key=json_text)}
    if is_set(frozen):
        return {TYPE: "set", "value": sorted(map(to_json_data, frozen), key=json_text)}
    if is_row(frozen):
        if kind is tuple and holds_named_secret(frozen):
            return {TYPE: "tuple", "value": _pair(frozen[0], frozen[1], True)}
        items = list(map(to_json_data, frozen))
        return {TYPE: "tuple", "value": items} if kind is tuple else items
    leaf = leaf_of(kind)
    marker = None if leaf is None else leaf.marker
    slots = None if marker is None else marker.write(frozen)
    return _of_no_data(frozen) if marker is None or slots is None else {TYPE: marker.name} | slots


def _pair(key: Frozen, item: Frozen, is_secret: bool) -> list[Any]:
    """Return a row of two: in these lists nothing shows that the first names the second."""
    return [
        to_json_data(key),
        Secret(item) if is_secret and item is not None else to_json_data(item),
    ]


def read_data(
    data: Any, where: str = "args", *, classes: bool = True, redacted: bool = False
) -> Frozen:
    """Read what `to_json_data` wrote; AuthoringError `bad_body` names the place that is no data.

    Without `classes`, markers that name a class of Python's are refused too. Only what may expect
    a secret may set `redacted`.
    """
    return _Reader(classes, redacted).read(data, where)


def without_secrets(data: Any) -> Json:
    """Return JSON data with `[redacted]` in the place of each Secret."""
    if is_map(data):
        return {name: without_secrets(item) for name, item in data.items()}
    if is_row(data):
        return [without_secrets(item) for item in data]
    return REDACTED if type(data) is Secret else data


def json_text(data: Any) -> str:
    """Return JSON data as its one text: keys sorted, no spaces, nothing escaped without need."""
    return json.dumps(
        without_secrets(data),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )


@row
class _Reader:
    classes: bool
    redacted: bool

    def read(self, data: Any, where: str) -> Frozen:
        if isinstance(data, list):
            items = enumerate(cast("list[Any]", data))
            return [self.read(item, f"{where}[{index}]") for index, item in items]
        if isinstance(data, str) and data == REDACTED and not self.redacted:
            raise bad_data(where, "is a secret, which data does not carry: leave it out")
        if not is_map(data):
            return data
        if ELIDED in data:
            raise bad_data(where, "was cut for its size: read it whole first")
        slots = {key: self.read(item, f"{where}.{key}") for key, item in data.items()}
        if TYPE in slots:
            return self._marked(slots, where)
        return Ref(str(slots.pop(REF)), slots) if REF in slots else slots

    def _marked(self, slots: dict[str, Any], where: str) -> Frozen:
        name = slots[TYPE]
        markers = (leaf.marker for leaf in LEAVES.values() if leaf.marker is not None)
        read = next((one.read for one in markers if one.name == name), _NODES.get(str(name)))
        if read is None:
            ref = f'{{"{REF}": "loader_id"}}'
            raise bad_data(where, f"is of {name}, which data does not carry: write {ref} for it")
        if name in ("record", ENUM) and not self.classes:
            raise bad_data(where, f"names the class {slots.get('class')}: write plain JSON for it")
        try:
            return read(slots)
        except Exception as error:  # of invalid slots it raises anything, see `Marker`
            raise bad_data(where, f"is not a valid {name}: {error!r}") from error


def _slot(slots: Mapping[str, Any], name: str, kind: type) -> Any:
    if type(slots[name]) is not kind:
        raise TypeError(f"{name} is no {kind.__name__}")
    return slots[name]


_NODES: Mapping[str, Callable[[Mapping[str, Any]], Frozen]] = {
    "tuple": lambda slots: tuple(_slot(slots, "value", list)),
    "set": lambda slots: frozenset(_slot(slots, "value", list)),
    "map": lambda slots: dict(_slot(slots, "value", list)),
    "record": lambda slots: Record(_class_of(slots), _slot(slots, "fields", dict)),
    ENUM: lambda slots: EnumMember(_class_of(slots), _slot(slots, "name", str)),
    "ref": lambda slots: Ref(_slot(slots, "loader", str), _slot(slots, "kwargs", dict)),
}


def _class_name(ref: TypeRef) -> str:
    return f"{ref.module}:{ref.qualname}"


def _class_of(slots: Mapping[str, Any]) -> TypeRef:
    module, _, qualname = _slot(slots, "class", str).partition(":")
    return TypeRef(module, qualname)


def _is_json(value: Any) -> bool:
    kind = real_class(value)
    if kind is str:
        return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)
    if kind is int:
        return -BIGGEST_INT <= value <= BIGGEST_INT
    return value is None or kind is bool or (kind is float and math.isfinite(value))


def _is_plain_map(value: Mapping[Any, Any]) -> bool:
    named = all(real_class(key) is str and _is_json(key) for key in value)
    return named and not {REF, TYPE, ELIDED} & value.keys()


def _sorted_map(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: to_json_data(value[key]) for key in sorted(value)}


def _of_no_data(value: Any) -> dict[str, Any]:
    kind = real_class(value)
    marker: dict[str, Any] = {TYPE: f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"}
    if (dtype := getattr(value, "dtype", None)) is not None:
        marker["dtype"] = str(dtype)
    if shape := getattr(value, "shape", ()):
        marker["shape"] = list(shape)
    return marker
