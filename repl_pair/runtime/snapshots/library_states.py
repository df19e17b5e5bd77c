"""The state of values that pickle refuses though they are data, or keeps as nobody could read."""

from collections.abc import Callable, Iterable
from typing import Any

from repl_pair.errors import text_of
from repl_pair.runtime.reading.fields import read_fields
from repl_pair.runtime.reading.table_names import hide_beside, hide_labelled
from repl_pair.runtime.reading.whole_tables import each_row
from repl_pair.runtime.snapshots.made_up import hide_addresses
from repl_pair.runtime.snapshots.secret_parts import hide_fields
from repl_pair.runtime.snapshots.states import State, Unstorable, Words, hide_declared
from repl_pair.runtime.values.classes import (
    is_array_scalar,
    is_library_scalar,
    lineage,
    name_of,
    qualname_of,
    real_class,
    root_of,
)
from repl_pair.runtime.values.declared_fields import is_model_class
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.library import exact_columns
from repl_pair.runtime.values.marks import is_secret_label
from repl_pair.runtime.values.value_parts import added_fields, plain_array, response_parts


def _is_callable_by_name(value: Any, cls: type[Any]) -> bool:
    return isinstance(value, type) or name_of(cls) in (
        "function",
        "builtin_function_or_method",
        "method-wrapper",
    )


def _name(value: Any) -> Words:
    """Write a class or function by its name; another of the same name can't be distinguished."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if "<" in name:
        raise Unstorable("it has no name that leads to it")
    return Words(f"{module}.{name}" if module not in (None, "builtins") else name)


def _model(value: Any) -> State:
    fields = read_fields(value, private=True)
    if fields is None:
        raise Unstorable("its fields can't be read")
    found = fields[0]
    private, extra = found.pop("__pydantic_private__", None), found.pop("__pydantic_extra__", None)
    found.pop("__pydantic_fields_set__", None)
    return State(qualname_of(real_class(value)), (), {**found, **(extra or {}), **(private or {})})


def _response(value: Any) -> State:
    status, url, headers, content = response_parts(value)
    try:
        content = content.decode(value.encoding or "utf-8")
    except (UnicodeDecodeError, LookupError):
        pass  # its bytes are written
    fields = {"status_code": status, "url": url, "headers": headers, "content": content}
    return State(qualname_of(real_class(value)), (), fields)


def _mapped(value: Any) -> State:
    made = _model(value)
    kept: Any = made.fields["_sa_instance_state"]
    expired = kept.expired_attributes.intersection(kept.mapper.column_attrs.keys())
    if expired:  # as after a commit: what the database holds is read at the next access
        raise Unstorable(f"expired: {', '.join(sorted(expired))}; refresh it before it is returned")
    # Loaded rows have their columns in an order of hashes.
    names = [name for name in [*kept.mapper.attrs.keys(), *made.fields] if name in made.fields]
    fields = {name: made.fields[name] for name in names if name != "_sa_instance_state"}
    return made._replace(fields=fields)


def _arrow(value: Any) -> State:
    try:
        listed = [one.to_pylist() for one in getattr(value, "columns", [value])]
    except ValueError as error:  # moments finer than those of Python
        raise Unstorable(text_of(error)) from error
    if not hasattr(value, "columns"):
        return State(name_of(real_class(value)), (Words(str(value.type)), listed[0]))
    listed = hide_beside([field.name for field in value.schema], listed)
    named = zip(value.schema, listed, strict=True)
    columns = (
        _column(field.name, field, items)._replace(fields=_about(field)) for field, items in named
    )
    return State(name_of(real_class(value)), tuple(columns), _about(value.schema))


def _about(schema: Any) -> dict[str, Any]:
    about = getattr(schema, "metadata", None)
    return {"metadata": about} if about else {}


def _row(value: Any) -> State:
    """Write a row of a query by columns, whose names need not differ."""
    names = [str(name) for name in value._fields]
    columns = zip(names, hide_beside(names, [[part] for part in value]), strict=True)
    cells = (State("column", (), {name: part}) for name, (part,) in columns)
    return State(name_of(real_class(value)), tuple(cells))


def _polars(value: Any) -> State:
    found = exact_columns(value)
    names, listed = [one[0] for one in found], [one[2] for one in found]
    columns = map(_column, names, [one[1] for one in found], hide_beside(names, listed))
    return State(name_of(real_class(value)), tuple(columns))


def _scalar(value: Any) -> State | Words:
    hide = hide_fields(value.dtype) if is_array_scalar(value) else None
    is_secret = hide is not None and hide(row := value.item()) is not row
    return _array(value.reshape(())) if is_secret else _by_repr(value)


def _by_repr(value: Any) -> Words:
    text = repr(value)
    if hide_addresses(text) != text:  # as that of a moment whose zone has no repr of its own
        raise Unstorable(f"its repr has an address, {hide_addresses(text)}")
    return Words(text)


def _array(value: Any) -> State:
    fields = {"dtype": Words(str(value.dtype)), "shape": value.shape}
    fields |= {"fill_value": value.fill_value} if hasattr(value, "fill_value") else {}
    items = each_row(plain_array(value), hide_fields(value.dtype))
    return State(name_of(real_class(value)), (items,), fields | _added(value))


def _added(value: Any) -> dict[str, Any]:
    return hide_declared(value, added_fields(value))


def _frame(value: Any) -> State:
    labels, names = value.columns, value.columns.tolist()
    listed = [value.iloc[:, at].tolist() for at in range(len(names))]
    listed = hide_beside(names, hide_labelled(listed, value))
    # A list of the labels has not their classes, such as `numpy.int64`.
    labelled = [value.iloc[:, at].name for at in range(len(names))]
    written = map(_column, labelled, value.dtypes, listed)
    fields: dict[str, Any] = {"index": _index(value.index)}
    if str(labels.dtype) == "category":  # its labels alone are those of any other index
        fields["columns"] = _index(labels)
    elif any(labels.names):
        fields["columns"] = list(labels.names)
    return State(name_of(real_class(value)), tuple(written), fields | _added(value))


def _series(value: Any) -> State:
    column = _column(value.name, value.dtype, *hide_labelled([value.tolist()], value))
    fields = {"index": _index(value.index), **_added(value)}
    return State(name_of(real_class(value)), (column,), fields)


def _index(value: Any) -> State:
    levels = [value.get_level_values(at) for at in range(value.nlevels)]
    columns = (_column(one.name, one.dtype, one.tolist()) for one in levels)
    return State(name_of(real_class(value)), tuple(columns))


def _column(name: Any, dtype: Any, items: Any) -> State:
    is_secret = is_secret_label(name)
    kind: Any = Words(str(dtype))
    if str(dtype) == "category":  # neither text of it names them all
        names: Any = _index(dtype.categories)
        names = Secret(names) if is_secret else names
        kind = State("category", (names,), {"ordered": dtype.ordered})
    return State("column", (name, kind, Secret(items) if is_secret else items))


def _unit(value: Any) -> State:
    scale = getattr(value, "scale", 1)  # rounded in the text
    return State(name_of(real_class(value)), (str(value),), {} if scale == 1 else {"scale": scale})


def _is(root: str, *names: str) -> Callable[[Any, type[Any]], bool]:
    return lambda _, cls: any(root_of(b) == root and name_of(b) in names for b in lineage(cls))


_Row = tuple[Callable[[Any, type[Any]], bool], Callable[[Any], State | Words]]
ROWS: Iterable[_Row] = (
    (lambda value, _: is_library_scalar(value), _scalar),
    (_is("pandas", "DataFrame"), _frame),
    (_is("pandas", "Series"), _series),
    (_is("pandas", "Index"), _index),
    (_is("numpy", "ndarray"), _array),
    (_is("polars", "DataFrame", "Series"), _polars),
    (_is("pyarrow", "Table", "RecordBatch", "Array", "ChunkedArray"), _arrow),
    (_is("sqlalchemy", "Row"), _row),
    (_is("sqlalchemy", "RowMapping"), lambda value: State("RowMapping", (dict(value),))),
    (_is("array", "array"), lambda v: State("array", (v.typecode, v.tolist()))),
    (_is("datetime", "datetime", "time", "timezone"), _by_repr),
    (_is("ipaddress", "_IPAddressBase"), lambda v: State(name_of(real_class(v)), (str(v),))),
    (_is_callable_by_name, _name),
    (lambda _, cls: hasattr(cls, "__mapper__"), _mapped),
    (lambda _, cls: is_model_class(cls), _model),
    *((_is(root, "Response"), _response) for root in ("httpx", "httpx2", "requests")),
    *((_is(root, "Unit", "UnitBase"), _unit) for root in ("unyt", "astropy")),
    (_is("builtins", "mappingproxy"), lambda value: State("mappingproxy", (dict(value),))),
    (
        _is("builtins", "memoryview"),
        lambda value: State("memoryview", (value.tobytes(), value.format, list(value.shape))),
    ),
)
"""What pickle refuses though it is data, or keeps in a form that nobody could read."""
