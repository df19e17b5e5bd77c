"""What was expected against what is there: by content, with JSON taken to the actual type."""

import dataclasses
from reprlib import Repr
from typing import Any

from repl_pair.runtime.assertions.coercion import Leaves, coerce, is_same, key_finder
from repl_pair.runtime.assertions.tables import (
    Differ,
    at_place,
    polars_difference,
    table_difference,
)
from repl_pair.runtime.reading.bounded import equal_head
from repl_pair.runtime.reading.comparing import has_own_equality
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.classes import (
    is_map,
    is_polars,
    is_row,
    is_set,
    kind_of,
    real_class,
    same_class,
)
from repl_pair.runtime.values.declared_fields import (
    attrs_fields,
    fields_of,
)
from repl_pair.runtime.values.frozen import SCALAR_IDS, Secret, to_plain
from repl_pair.runtime.values.library import all_values
from repl_pair.runtime.values.paths import join_path

_LONGEST, _LONGEST_PART = 1000, 400


class _Short(Repr):
    """Leaves out what is long, whole: half a secret would not be known as one."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 6
        self.maxlong = _LONGEST_PART

    def repr_str(self, x: str, level: int) -> str:
        if len(x) <= _LONGEST_PART:
            return repr(x)
        return "<str>" if NEEDLES.find(x) else f"<str of {len(x)} characters>"

    def repr_instance(self, x: Any, level: int) -> str:
        text = repr(x)
        return text if len(text) <= _LONGEST_PART else f"<{_name(x)}>"


_SHORT = _Short()


def equal(expected: Any, actual: Any) -> bool:
    """Return whether `actual` is what was expected; never raises."""
    return difference(expected, actual) is None


def difference(expected: Any, actual: Any, path: str = "") -> str | None:
    """Return the first difference as a sentence that starts with its path, None where equal.

    Containers, records, arrays and frames count by content, NaN equals NaN, a bool is no number.
    A JSON expectation is taken to the actual type first. A comparison that raises is a difference.
    """
    try:
        return _difference(expected, actual, path)
    except Exception as error:  # noqa: BLE001  the person's objects may raise whatever they are asked
        return at_place(path, f"the two could not be compared: {type(error).__name__}")


def _difference(expected: Any, actual: Any, path: str) -> str | None:
    if expected is actual:
        return None
    if type(expected) is Secret:
        found = _difference(expected.value, actual, path)
        return at_place(path, "it is not the expected secret") if found else None
    expected = coerce(expected, actual)
    if {id(real_class(expected)), id(real_class(actual))} <= SCALAR_IDS:
        return _leaf_difference(expected, actual, path)
    if kind_of(expected) or kind_of(actual):
        return table_difference(expected, actual, path, _difference)
    if is_polars(expected) or is_polars(actual):
        return polars_difference(expected, actual, path, _difference)
    if is_map(expected) and is_map(actual):
        return _map_difference(all_values(expected), all_values(actual), path)
    if is_set(actual) and (is_set(expected) or is_row(expected)):
        return _set_difference(expected, actual, path)
    same_kind = isinstance(expected, list) == isinstance(actual, list)
    if is_row(expected) and is_row(actual) and same_kind:
        return item_difference(expected, actual, path, _difference)
    may_be_record = is_map(expected) or same_class(real_class(expected), real_class(actual))
    if not may_be_record or fields_of(actual) is None:
        return _leaf_difference(expected, actual, path)
    # A field that its class leaves out of `==` may be left out.
    given = expected if is_map(expected) else compared_fields(expected, ())
    found = _map_difference(given, compared_fields(actual, given), path)
    asks = found and not is_map(expected) and has_own_equality(real_class(actual))
    return None if asks and is_same(expected, actual) else found


def _map_difference(expected: Any, actual: Any, path: str) -> str | None:
    known, find = set[Any](), key_finder(actual)
    for name, value in expected.items():
        key = find(to_plain(name))
        if key not in actual or key in known:
            lack = "are not two" if key in known else "is none"
            return at_place(path, f"expected a key {short(name)}, there {lack}")
        known.add(key)
        if found := _difference(value, actual[key], join_path(path, key)):
            return found
    extra = next((key for key in actual if key not in known), known)
    return None if extra is known else at_place(path, f"the key {short(extra)} was not expected")


def item_difference(expected: Any, actual: Any, path: str, differ: Differ) -> str | None:
    """Return the first difference of two rows, None where they are equal."""
    if len(expected) != len(actual):
        return at_place(path, f"expected {len(expected)} items, got {len(actual)}")
    pairs = enumerate(zip(expected, actual, strict=True))
    found = (differ(e, a, f"{path}[{i}]") for i, (e, a) in pairs)
    return next((text for text in found if text), None)


def _set_difference(expected: Any, actual: Any, path: str) -> str | None:
    left, leaves = {id(member): member for member in actual}, Leaves(actual)
    for item in [item for item in expected if left.pop(id(leaves.find(item)), left) is left]:
        same = next((i for i, a in left.items() if _difference(item, a, "") is None), None)
        if same is None:
            return at_place(path, f"expected the member {short(item)}, there is none")
        del left[same]
    extra = next(iter(left.values()), left)
    return at_place(path, f"the member {short(extra)} was not expected") if left else None


def compared_fields(value: Any, named: Any) -> dict[str, Any]:
    """Return the fields of a record that count: none that its class leaves out, unless `named`."""
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {f.name: getattr(value, f.name) for f in fields if f.compare or f.name in named}
    if (declared := attrs_fields(real_class(value))) is not None:
        counted = {n: f for n, f in declared.items() if f.compared or n in named}
        return {name: getattr(value, field.name) for name, field in counted.items()}
    return fields_of(value) or {}


def _leaf_difference(expected: Any, actual: Any, path: str) -> str | None:
    try:
        same = is_same(expected, actual)
    except Exception as error:  # noqa: BLE001  __eq__ is the person's code
        return at_place(path, f"comparing with {short(expected)} raised {type(error).__name__}")
    if same:
        return None
    wanted, got = short(expected), short(actual)
    if isinstance(expected, str) and isinstance(actual, str):
        where = ""
        if "<str" in (wanted[:4], got[:4]):
            same = equal_head(expected, actual)
            line, column = expected.count("\n", 0, same) + 1, same - expected.rfind("\n", 0, same)
            where = f"; they differ from line {line}, character {column} on"
        return at_place(path, f"expected {wanted}, got {got}{where}")
    if wanted == got:
        wanted, got = f"{_name(expected)} {wanted}", f"{_name(actual)} {got}"
    return at_place(path, f"expected {wanted}, got {got}")


def _name(value: Any) -> str:
    return type(value).__name__


def short(value: Any) -> str:
    """Get a value's text for a sentence, and its class alone where that is long; never raises."""
    try:
        text = _SHORT.repr(value)
    except Exception:  # noqa: BLE001  __repr__ and __len__ are the person's code
        return f"<{_name(value)}>"
    return text if len(text) <= _LONGEST else f"<{_name(value)}>"
