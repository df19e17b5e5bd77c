"""Calling a component with its args by name, whatever its signature demands."""

import functools
from collections.abc import Callable, Mapping
from inspect import Parameter
from types import FunctionType
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.values.classes import lineage, names_in, real_class
from repl_pair.runtime.values.takes import takes_of


def by_name(component: Callable[..., Any]) -> Callable[..., Any]:
    """Return what takes by name also the parameters that go by their position only.

    So do those of a generic function: it dispatches by the types of what is given by position.
    """
    parameters = (takes_of(component).parameters or {}).values()
    last = Parameter.POSITIONAL_OR_KEYWORD if _dispatches(component) else Parameter.POSITIONAL_ONLY
    placed = [p for p in parameters if p.kind <= last]
    if not placed:
        return component

    @functools.wraps(component)
    def call(*given: Any, **named: Any) -> Any:
        places = list(given)
        for p in placed[len(given) :]:
            if p.name not in named and p.default is p.empty:
                break
            places.append(named.pop(p.name, p.default))
        return component(*places, **named)

    return call


def _dispatches(component: Any) -> bool:
    """Return whether a callable is a generic function, of `functools.singledispatch` or alike."""
    while real_class(component) is functools.partial:
        component = component.func
    if real_class(component) is FunctionType:
        return "dispatch" in component.__dict__
    return any("dispatch" in names_in(base) for base in lineage(real_class(component)))


def check_required(component: Callable[..., Any], args: Mapping[str, Any]) -> None:
    """Refuse, by `cannot_run`, a call that lacks what the component can't do without."""
    missing = [name for name in takes_of(component).needed if name not in args]
    if missing:
        raise RequestError(
            "cannot_run",
            f"args: {', '.join(missing)} is missing: no story, mode or variant gives it, and it "
            "has no default.",
        )
