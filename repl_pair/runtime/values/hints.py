"""Type hints as the runtime reads them: flattened, a marker never lost."""

import types
import typing
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NewType,
    TypeVar,
    get_args,
    get_origin,
)

from repl_pair.records import row
from repl_pair.runtime.values.classes import (
    hint_class,
    is_genuine,
    is_map_class,
    is_secret_class,
    name_of,
    real_class,
    spell,
)
from repl_pair.runtime.values.declared_fields import (
    attrs_fields,
    behind,
    has_fields,
    is_mark,
    is_named_tuple,
)
from repl_pair.runtime.values.written_hints import WRAPPERS, hints_of, kept_hints, word_of

Fields = Callable[[type], Mapping[str, Any]]
"""Gives the hints of the fields of a class."""


@row
class Container:
    """An alternative that says what is in it: by its args, or by the hints of its fields."""

    cls: type
    args: tuple[Any, ...]
    has_fields: bool

    @cached_property
    def parts(self) -> "tuple[Hint, ...]":
        """The args, flattened."""
        return tuple(read_hint(part) for arg in self.args for part in _unpack(arg))

    @cached_property
    def is_fixed(self) -> bool:
        """Whether it is a tuple with a hint for each place; one with an unpacked part is not."""
        is_listed = bool(self.args) and self.args[-1] is not Ellipsis
        return issubclass(self.cls, tuple) and is_listed and not any(map(_is_unpacked, self.args))

    @cached_property
    def values(self) -> "tuple[Hint, ...]":
        """The hint of whatever stands in it, if it has one: of a mapping, that of its values."""
        if any(map(_is_unpacked, self.args)):
            return (_join([*self.parts]),)
        return self.parts[1:2] if is_map_class(self.cls) else self.parts[:1]


@row
class Hint:
    """A hint flattened: the alternatives without None; no alternative stands for anything."""

    arms: tuple[Any, ...] = ()
    nullable: bool = False
    sensitive: bool = False
    doc: str | None = None
    metadata: tuple[Any, ...] = ()
    """Of the hint and all its alternatives."""

    @cached_property
    def only(self) -> Any:
        """The alternative if there is exactly one, else Any."""
        return self.arms[0] if len(self.arms) == 1 else Any

    @cached_property
    def cls(self) -> Any:
        """The class behind that alternative, None where there is none."""
        return hint_class(self.only)

    @cached_property
    def containers(self) -> "tuple[Container, ...]":
        """The alternatives that say what is in them."""
        kinds = ((hint_class(arm), get_args(arm)) for arm in self.arms)
        found = (Container(k, args, has_fields(k)) for k, args in kinds if k is not None)
        return tuple(one for one in found if one.args or one.has_fields)

    def __str__(self) -> str:
        names = [spell(arm) for arm in self.arms] + ["None"] * self.nullable
        return " | ".join(names) or "anything"


ANYTHING = Hint()
_PLAIN: Mapping[Any, Hint] = {cls: Hint((cls,)) for cls in (bool, int, float, str, bytes)}


def read_hint(hint: Any, above: tuple[Any, ...] = ()) -> Hint:
    """Flatten a hint: annotations, unions, aliases and type variables give way to their arms."""
    if type(hint) is Hint:
        return hint
    if hint is Any:
        return ANYTHING
    if type(hint) is type and hint in _PLAIN:
        return _PLAIN[hint]
    bare, metadata, above = _unwrap(hint, above)
    if get_origin(bare) in (typing.Union, types.UnionType):
        inner = _join([read_hint(arm, above) for arm in get_args(bare)])
    else:
        is_none = bare is None or bare is type(None)
        is_unknown = bare is Any or bare is object or isinstance(bare, str | ForwardRef)
        arms = () if is_none or is_unknown else (bare,)
        may_be_none = is_none or (get_origin(bare) is Literal and None in get_args(bare))
        inner = Hint(arms, nullable=may_be_none, sensitive=is_secret_class(bare))
    sensitive = inner.sensitive or any(map(is_mark, metadata))
    doc = next((m for m in metadata if isinstance(m, str)), inner.doc)
    return Hint(inner.arms, inner.nullable, sensitive, doc, metadata + inner.metadata)


def _join(hints: list[Hint]) -> Hint:
    if len(hints) == 1:
        return hints[0]
    arms = {id(arm): arm for h in hints for arm in h.arms or (() if h.nullable else (Any,))}
    return Hint(
        arms=tuple(arms.values()),
        nullable=any(hint.nullable for hint in hints),
        sensitive=any(hint.sensitive for hint in hints),
        metadata=tuple(m for hint in hints for m in hint.metadata),
    )


def _unwrap(hint: Any, above: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Take annotations, aliases and type variables off; an alias of those `above` is Any."""
    metadata: tuple[Any, ...] = ()
    while True:
        origin = get_origin(hint)
        if origin is Annotated:
            metadata += hint.__metadata__
            hint = hint.__origin__
        elif word_of(origin) in WRAPPERS:
            hint = get_args(hint)[0]
        elif real_class(hint) is NewType:
            hint = hint.__supertype__
        elif alias := next(filter(_is_alias, (hint, origin)), None):
            is_met, above = any(alias is one for one in above), (*above, alias)
            hint = Any if is_met else behind(alias, "__value__")
        elif isinstance(hint, TypeVar):
            bound = behind(hint, "__bound__")
            hint = Any if bound is None else bound
        else:
            return hint, metadata, above


def class_hints(cls: type) -> dict[str, Hint]:
    """Return the hints of a class's fields, its bases' included, resolved as far as they can be."""
    kept = kept_hints(cls)
    known = kept.get("all")
    if known is None:
        hints, is_complete = hints_of(cls)
        known = {name: read_hint(hint) for name, hint in hints.items()}
        for given_as, one in (attrs_fields(cls) or {}).items():
            known[given_as] = known.get(one.name, ANYTHING)
        if is_complete:
            kept["all"] = known
    return known


def _is_unpacked(arg: Any) -> bool:
    return _is_unpack(arg) or (type(arg) is types.GenericAlias and arg.__unpacked__)


def _is_unpack(arg: Any) -> bool:
    return word_of(get_origin(arg)) == "Unpack"  # that of `typing_extensions` is another


def _unpack(arg: Any) -> tuple[Any, ...]:
    """Return what stands in an arg that is an unpacked tuple; any other arg alone."""
    if not _is_unpacked(arg):
        return (arg,)
    inner = get_args(get_args(arg)[0] if _is_unpack(arg) else arg)
    return tuple(p for i in inner if i is not Ellipsis for p in _unpack(i)) or (Any,)


def _is_alias(hint: Any) -> bool:
    cls = real_class(hint)
    return name_of(cls) == "TypeAliasType" and is_genuine(cls, "typing", "typing_extensions")


def item_hint(hint: Hint, key: Any, fields: Fields = class_hints) -> Hint:
    """Return the hint of the field, value or item that stands at `key` of a container."""
    found = [inner for one in hint.containers for inner in _items_of(one, key, fields)]
    return _join(found) if found else ANYTHING


def declares_secret(hint: Hint) -> bool:
    """Return whether a hint, or one in it however deep, is declared secret."""
    known: bool | None = vars(hint).get("declares")
    if known is not None:
        return known
    pending, met, classes, is_settled = [hint], set[int](), set[int](), True
    for one in pending:
        fresh = tuple(arm for arm in one.arms if id(arm) not in met)
        met.update(map(id, fresh))
        for container in Hint(fresh).containers:
            pending.extend(container.parts)
            if container.has_fields and id(container.cls) not in classes:
                classes.add(id(container.cls))
                pending.extend(class_hints(container.cls).values())
                is_settled = is_settled and "all" in kept_hints(container.cls)
    found = any(one.sensitive for one in pending)
    if is_settled:
        vars(hint)["declares"] = found
    return found


def _items_of(container: Container, key: Any, fields: Fields) -> tuple[Hint, ...]:
    cls: Any = container.cls
    if container.has_fields:
        hints, name = fields(cls), key
        if isinstance(key, int) and is_named_tuple(cls) and 0 <= key < len(cls._fields):
            name = cls._fields[key]
        return (read_hint(hints[name]),) if name in hints else ()
    if not container.is_fixed:
        return container.values
    return container.parts[key : key + 1] if isinstance(key, int) else ()
