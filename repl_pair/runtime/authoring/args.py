"""Checking and freezing args by the parameters and hints of a component."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from repl_pair.errors import AuthoringError, did_you_mean
from repl_pair.runtime.registry.model import Component
from repl_pair.runtime.secrets.needles import NEEDLES
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import secrets_in
from repl_pair.runtime.values.hints import takes_of
from repl_pair.runtime.values.marks import is_secret_key


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
    hints = takes_of(component).hints
    passed = {n: v for n, v in (args or {}).items() if n not in set(dispatched)}
    check_names(where, component, passed)
    frozen = {
        str(name): freeze(value, hints.get(name, Any), where=f"{where}: args.{name}")
        for name, value in (args or {}).items()
    }
    for secret in secrets_in(frozen) if pinned else ():
        NEEDLES.add(secret, pinned=True)
    return frozen


def learn_defaults(component: Callable[..., Any]) -> None:
    """Learn the defaults of parameters that are secret by hint or name, for good."""
    takes = takes_of(component)
    for name, parameter in (takes.parameters or {}).items():
        text = parameter.default
        if type(text) is str and (name in takes.secret or is_secret_key(name)):
            NEEDLES.add(text, pinned=True)


def freeze_plain(where: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Freeze a mapping that no hints describe."""
    return {str(k): freeze(value, Any, where=f"{where}.{k}") for k, value in args.items()}


def check_names(where: str, component: Callable[..., Any], args: Mapping[str, Any]) -> None:
    """Refuse argument names that the component does not take."""
    parameters = takes_of(component).parameters
    if parameters is None:
        raise bad_body(
            where,
            f"{Component.of(component).qualname} does not say what it takes; "
            "register a function that calls it.",
        )
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    legal = [
        n for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY)
    ]
    for name in args:
        if name not in legal:
            raise bad_body(
                where,
                f"{Component.of(component).qualname} takes no argument {name!r}."
                f"{did_you_mean(name, legal)} It takes: {', '.join(legal) or 'none'}.",
            )
