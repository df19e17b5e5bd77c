"""What is given as data: frozen, unless runs would build another value of it."""

from collections.abc import Iterator, Mapping
from dataclasses import fields as dataclass_fields
from typing import Any, TypeAlias, cast

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.values import canonical
from repl_pair.runtime.values.classes import (
    is_map,
    is_row,
    per_class,
    real_class,
)
from repl_pair.runtime.values.declared_fields import (
    attrs_fields,
    fields_of,
    is_dataclass_kind,
)
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import (
    SCALAR_IDS,
    EnumMember,
    Frozen,
    Given,
    Record,
    Ref,
    Secret,
    bad_data,
    nodes_in,
)
from repl_pair.runtime.values.paths import join_path
from repl_pair.runtime.values.thaw import refuse_ref, thaw

_FROZEN = frozenset(map(id, (Record, Ref, Secret, Given, EnumMember)))
_Instance: TypeAlias = tuple[Any, Mapping[str, Frozen], str]
"""An instance, its frozen fields and its place."""


def freeze_given(value: Any, hint: Any = Any, *, where: str = "args") -> Frozen:
    """Freeze what somebody wrote, as `freeze`; a run gets what is equal to it.

    A run builds instances by their constructor, which this calls where it has code of the person's.
    AuthoringError `bad_body` also where it refuses the fields, or makes another value of one each
    time. What differs from call to call, and what is no data, is left to the constructor.
    """
    frozen = freeze(value, hint, where=where)
    for found in _instances(value, frozen, where):
        _check_rebuilt(*found)
    return frozen


def freeze_response(value: Any, where: str) -> Frozen:
    """Turn a value into plain data, or keep it as it is where that is no data or another value."""
    try:
        return freeze_given(value, where=where)
    except AuthoringError:
        return Given(value)


def _instances(value: Any, frozen: Frozen, where: str) -> Iterator[_Instance]:
    """Return the instances in a value whose constructor has code, those inside others first."""
    if type(frozen) is Secret:
        frozen = frozen.value
    if id(real_class(frozen)) in SCALAR_IDS or id(real_class(value)) in _FROZEN:
        return
    fields = fields_of(value)
    if fields is not None:
        known = cast("Mapping[str, Frozen]", frozen.fields if type(frozen) is Record else frozen)
        for name, inner in fields.items():
            yield from _instances(inner, known[name], join_path(where, name))
        if not _is_built_as_declared(real_class(value)):
            yield value, known, where
    elif is_map(value) and is_map(frozen):
        for inner, (key, part) in zip(value.values(), frozen.items(), strict=False):
            yield from _instances(inner, part, join_path(where, key))
    elif is_row(value) and is_row(frozen):
        for index, (inner, part) in enumerate(zip(value, frozen, strict=False)):
            yield from _instances(inner, part, f"{where}[{index}]")


@per_class
def _is_built_as_declared(cls: Any) -> bool:
    """Return whether a class is a dataclass whose generated constructor sets each field."""
    return (
        is_dataclass_kind(cls)
        and not hasattr(cls, "__post_init__")
        and cls.__dataclass_params__.init
        and all(field.init for field in dataclass_fields(cls))
    )


def _check_rebuilt(value: Any, fields: Mapping[str, Frozen], where: str) -> None:
    if any(type(node) is Ref for node in nodes_in(fields)):
        return  # what its loader makes is known at a run
    cls = real_class(value)
    declared = (
        dataclass_fields(cls) if is_dataclass_kind(cls) else (attrs_fields(cls) or {}).values()
    )
    names = [field.name for field in declared] or fields
    made = _build(fields, cls, where)
    for name in names:
        given, rebuilt = _content(value, name), _content(made, name)
        if None in (given, rebuilt) or given == rebuilt:
            continue
        if _content(_build(fields, cls, where), name) == rebuilt:
            raise bad_data(
                where,
                f"is a {cls.__qualname__} that runs would get changed: they build it from its "
                f"fields, and its constructor makes another {name} of them. Write what the "
                "constructor takes as a mapping, or ref('loader_id', ...) to a loader that makes "
                "it",
            )


def _build(fields: Mapping[str, Frozen], cls: Any, where: str) -> Any:
    try:
        return thaw(fields, cls, load=refuse_ref, where=where)
    except RequestError as error:
        raise AuthoringError("bad_body", error.message, detail=error.detail) from error


def _content(instance: Any, name: str) -> bytes | None:
    """Return one field as bytes, None where it is no data."""
    parts: list[bytes] = []
    try:
        canonical.write(freeze(getattr(instance, name, None)), parts.append)
    except AuthoringError:
        return None
    return b"".join(parts)
