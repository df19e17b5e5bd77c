"""What callables and declared classes take, by their signatures and hints."""

import inspect
import types
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from operator import is_
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args, get_origin
from weakref import ref

from repl_pair.records import record
from repl_pair.runtime.values.classes import (
    PLAIN_IDS,
    current_class,
    hint_class,
    is_installed,
    lineage,
    real_class,
    root_of,
)
from repl_pair.runtime.values.declared_fields import (
    attrs_fields,
    dataclass_names,
    has_fields,
    is_dataclass_kind,
    is_model_class,
    is_named_tuple,
    is_typed_dict,
)
from repl_pair.runtime.values.hints import Hint, class_hints, read_hint
from repl_pair.runtime.values.written_hints import hints_of, required_keys

Share: TypeAlias = Annotated[float, "a share from 0 to 1"] | None
"""The hint of an option that is a share, where it is given."""


def is_share(given: Any) -> bool:
    """Return whether a value is a number from 0 to 1; NaN and bool are none."""
    return isinstance(given, (int, float)) and not isinstance(given, bool) and 0 <= given <= 1


_TAKES: "dict[int, tuple[Sequence[Any], Takes, ref[Any]]]" = {}
"""By the id of what takes it: a metaclass may hash a class by code of its own."""
_MAX_KEPT = 5000
"""How many are kept: one whose hints name itself is not let go of by its weak key."""
_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_METACLASSES = (type, ABCMeta)
"""Those that neither change what a class takes nor how classes are compared."""
_FIXED = (types.WrapperDescriptorType, types.BuiltinFunctionType)
_NOTHING, _NEXT = object(), object()


class _UnknownFactsError(Exception):
    """What a callable takes may change unnoticed."""


@record
class Takes:
    """What a callable takes and gives, by its own signature and hints."""

    parameters: Mapping[str, inspect.Parameter] | None
    """None where the callable has no signature, as some builtins."""
    hints: Mapping[str, Any]
    """The hint of each named parameter; Any where there is none or it cannot be resolved."""
    returned: Any
    """The hint of what it gives; of a class a weak reference, so that its Takes may be kept."""

    @property
    def returns(self) -> Any:
        """The hint of what it gives; a class gives itself."""
        return self.returned() if real_class(self.returned) is ref else self.returned

    @cached_property
    def needed(self) -> Sequence[str]:
        """The parameters that have no default."""
        named = [p for p in (self.parameters or {}).values() if p.kind not in _SEVERAL]
        return [p.name for p in named if p.default is p.empty]

    @cached_property
    def takes_any(self) -> bool:
        """Whether it takes arguments of any name."""
        return any(p.kind is p.VAR_KEYWORD for p in (self.parameters or {}).values())

    @cached_property
    def read(self) -> Mapping[str, Hint]:
        """The hints, flattened."""
        return {name: read_hint(hint) for name, hint in self.hints.items()}

    @cached_property
    def secret(self) -> frozenset[str]:
        """The parameters that are declared secret as a whole."""
        return frozenset(name for name, hint in self.read.items() if hint.sensitive)

    @property
    def gives(self) -> Hint:
        """The hint of what it gives, flattened."""
        return read_hint(self.returns) if real_class(self.returned) is ref else self._gives

    @cached_property
    def _gives(self) -> Hint:
        return read_hint(self.returned)

    @cached_property
    def gives_secret(self) -> bool:
        """Whether what a function gives is a secret, or what it gives holds or yields one."""
        return not isinstance(self.returns, type) and _holds_secret(self.returns)


def takes_of(fn: Callable[..., Any]) -> Takes:
    """Read what a callable takes and gives.

    `Annotated` is kept. A hint that names a secret and cannot be resolved stays a secret.
    """
    try:
        facts = _facts_of(fn)
    except _UnknownFactsError:
        return _read_callable(fn)[0]
    key = id(fn)
    known = _TAKES.get(key)
    # The first fact is a weak reference to the callable itself.
    if known is not None and len(known[0]) == len(facts) and all(map(is_, known[0], facts)):
        return known[1]
    takes, is_complete = _read_callable(fn)
    if is_complete:
        if len(_TAKES) >= _MAX_KEPT:
            _TAKES.clear()
        _TAKES[key] = facts, takes, ref(fn, lambda _gone: _TAKES.pop(key, None))
    return takes


def _facts_of(fn: Any) -> list[Any]:
    """Return all that the reading of a function or class depends on, to be compared by identity.

    Nothing of it keeps the function or class. `_UnknownFactsError` for other callables.
    """
    kind = real_class(fn)
    if kind is types.FunctionType:
        return _facts_of_function(fn)
    if kind in _METACLASSES:
        bases = map(vars, lineage(fn)[:-1])
        return [ref(fn), *(fact for space in bases for fact in _facts_of_base(space))]
    raise _UnknownFactsError


def _facts_of_function(fn: types.FunctionType) -> list[Any]:
    try:
        annotations = fn.__annotations__
    except Exception:  # noqa: BLE001  annotations are the person's code and may raise anything
        raise _UnknownFactsError from None
    facts = [ref(fn), fn.__code__, fn.__defaults__, getattr(fn, "__type_params__", ())]
    facts += [*annotations, *annotations.values(), _NEXT]
    if keywords := fn.__kwdefaults__:
        facts += [*keywords, *keywords.values(), _NEXT]
    if own := fn.__dict__:
        signature = own.get("__signature__")
        if type(signature) not in (types.NoneType, inspect.Signature):
            raise _UnknownFactsError
        facts += [signature, own.get("__no_type_check__")]
        if "__wrapped__" in own:
            inspect.unwrap(fn)  # refuses one that wraps itself
            facts += _facts_of(own["__wrapped__"])
    return facts


def _facts_of_base(space: Mapping[str, Any]) -> Iterable[Any]:
    """Return what one class of a lineage brings by its own names."""
    if "__signature__" in space or "__wrapped__" in space:
        raise _UnknownFactsError
    for name in ("__new__", "__init__"):
        made = space.get(name, _NOTHING)
        made = cast("Any", made).__func__ if type(made) is staticmethod else made
        if type(made) is types.FunctionType:
            yield from _facts_of_function(made)
        elif made is _NOTHING or type(made) in _FIXED:
            yield made
        else:
            raise _UnknownFactsError


def _read_callable(fn: Any) -> tuple[Takes, bool]:
    called: Any = cast("partial[Any]", fn).func if isinstance(fn, partial) else fn
    target = inspect.unwrap(called)
    made = target if isinstance(target, type) else None
    if made is not None and not is_model_class(made):
        plain = made.__init__ is object.__init__
        target = inspect.unwrap(made.__new__ if plain else made.__init__)
    elif made is None and not inspect.isroutine(target):
        target = inspect.unwrap(type(target).__call__)
    resolved, is_complete = hints_of(target)
    parameters = _parameters_of(fn)
    named = [p.name for p in (parameters or {}).values() if p.kind not in _SEVERAL]
    takes = Takes(
        parameters=parameters,
        hints={name: resolved.get(name, Any) for name in named},
        returned=resolved.get("return", Any) if made is None else ref(made),
    )
    return takes, is_complete


def _parameters_of(fn: Any) -> Mapping[str, inspect.Parameter] | None:
    try:
        return inspect.signature(fn).parameters
    except (TypeError, ValueError):
        # `inspect` compares an object with `type`, and finds no signature of one that is equal.
        call = real_class(fn).__call__
        is_own = real_class(call) is types.FunctionType
        return _parameters_of(types.MethodType(call, fn)) if is_own else None


def _holds_secret(hint: Any) -> bool:
    pending, met = [read_hint(hint)], set[int]()
    for one in pending:
        for arm in one.arms:
            pending += [] if id(arm) in met else map(read_hint, get_args(arm))
            met.add(id(arm))
    return any(one.sensitive for one in pending)


def classes_in(hints: Iterable[Hint]) -> Iterator[type[Any]]:
    """Give today's classes that these hints declare, also in fields, but for installed ones."""
    pending, met = [*hints], dict[int, Any]()
    for arm in (arm for hint in pending for arm in hint.arms):
        if id(arm) not in PLAIN_IDS and id(arm) not in met and get_origin(arm) is not Literal:
            met[id(arm)] = arm
            pending += map(read_hint, get_args(arm))
            cls = hint_class(arm)
            if not (cls is None or id(cls) in PLAIN_IDS or is_installed(root_of(cls))):
                yield (cls := current_class(cls))
                pending += class_hints(cls).values() if has_fields(cls) else ()


def field_names(cls: Any) -> tuple[Sequence[str], Sequence[str]]:
    """Name the fields that may be given for a declared class, and those that must be."""
    if is_dataclass_kind(cls):
        return dataclass_names(cls)
    if is_typed_dict(cls):
        return list(class_hints(cls)), required_keys(cls)
    if is_named_tuple(cls):
        return list(cls._fields), [n for n in cls._fields if n not in cls._field_defaults]
    if is_model_class(cls):
        infos = cls.model_fields
        return list(infos), [name for name, info in infos.items() if info.is_required()]
    if (declared := attrs_fields(cls)) is not None:
        given = {name: one.needed for name, one in declared.items() if one.init}
        return list(given), [name for name, is_needed in given.items() if is_needed]
    takes = takes_of(cls)  # it was declared, and was defined again
    return list(takes.hints), list(takes.needed)
