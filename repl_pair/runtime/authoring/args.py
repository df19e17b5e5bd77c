"""Checking and freezing args by the parameters and hints of a component."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from repl_pair.errors import AuthoringError, did_you_mean
from repl_pair.runtime.authoring.given import freeze_given
from repl_pair.runtime.registry.model import Component
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.needles import Rank
from repl_pair.runtime.values.frozen import secrets_in
from repl_pair.runtime.values.hints import ANYTHING
from repl_pair.runtime.values.takes import takes_of


def bad_body(where: str, what: str) -> AuthoringError:
    """Make the refusal of a body."""
    return AuthoringError("bad_body", f"{where}: {what}")


def check_callable(fn: Any, where: str) -> Callable[..., Any]:
    """Return the function or class; AuthoringError `bad_body` for anything else."""
    if not callable(fn):
        raise bad_body(where, f"the component is a {type(fn).__name__}, not a function or class.")
    return fn


def freeze_args(
    where: str,
    component: Callable[..., Any],
    args: Mapping[str, Any] | None,
    *,
    dispatched: Iterable[str] = (),
    pinned: bool = True,
) -> dict[str, Any]:
    """Freeze args through the component's hints; `dispatched` names those that events take.

    Their secrets are learned for good, unless they are not `pinned`.
    """
    given = check_mapping(f"{where}: args", args or {})
    check_names(where, component, [name for name in given if name not in set(dispatched)])
    frozen = freeze_by_hints(component, given, f"{where}: args")
    if pinned:
        learn_secrets_in(frozen)
    return frozen


def freeze_by_hints(
    component: Callable[..., Any], args: Mapping[str, Any], where: str = "args"
) -> dict[str, Any]:
    """Freeze args as the component's hints read them, which also mark what is secret in them."""
    hints = takes_of(component).read
    return {
        str(name): freeze_given(value, hints.get(name, ANYTHING), where=f"{where}.{name}")
        for name, value in args.items()
    }


def learn_secrets_in(frozen: Any) -> None:
    """Learn the secrets in frozen data for good: only in what the person wrote."""
    for secret in secrets_in(frozen):
        NEEDLES.add(secret, rank=Rank.GIVEN)


def freeze_plain(where: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Freeze a mapping that no hints describe."""
    slots = check_mapping(where, args).items()
    return {str(k): freeze_given(value, Any, where=f"{where}.{k}") for k, value in slots}


def check_mapping(where: str, given: Any) -> Mapping[str, Any]:
    """Return a mapping of names to values; AuthoringError `bad_body` for anything else."""
    if not isinstance(given, Mapping):
        what = f"is a mapping of names to values, not a {type(given).__name__}."
        raise AuthoringError("bad_body", f"{where} {what}")
    return cast("Mapping[str, Any]", given)


def check_names(where: str, component: Callable[..., Any], names: Iterable[str]) -> None:
    """Refuse argument names that the component does not take."""
    takes = takes_of(component)
    if takes.parameters is None:
        raise bad_body(
            where,
            f"{Component.of(component).qualname} does not say what it takes; "
            "register a function that calls it.",
        )
    if takes.takes_any:
        return
    legal = takes.hints
    for name in names:
        if name not in legal:
            raise bad_body(
                where,
                f"{Component.of(component).qualname} takes no argument {name!r}."
                f"{did_you_mean(name, legal)} It takes: {', '.join(legal) or 'none'}.",
            )
