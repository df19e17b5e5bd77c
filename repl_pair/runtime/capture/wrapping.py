"""Functions replaced by hooks, until the undo; in a run a hook may take the run's own way."""

from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, cast

from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import current_capture


def for_run(take: Callable[..., Any]) -> Callable[..., Any]:
    """Make a `call` for `wrap`: in a run `take` is called instead, the run's capture first."""

    def call(own: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        captured = current_capture()
        return own(*args, **named) if captured is None else take(captured, *args, **named)

    return call


def replacement_of(own: Callable[..., Any], call: Callable[..., Any]) -> Any:
    """Return a function that looks like `own`, and calls `call(own, …)`."""

    def replacement(*args: Any, **named: Any) -> Any:
        return call(own, *args, **named)

    return update_wrapper(replacement, own)


def wrap(owner: Any, name: str, call: Callable[..., Any]) -> Undo:
    """Replace a function `own` by `call(own, …)`; the undo keeps what others set since."""
    own = getattr(owner, name)
    own_names = cast("Mapping[str, Any]", vars(owner))
    was_own_name = name in own_names
    wrapped = replacement_of(own, call)
    setattr(owner, name, wrapped)

    def undo() -> None:
        if own_names.get(name) is not wrapped:
            return
        if was_own_name:
            setattr(owner, name, own)
        else:
            delattr(owner, name)

    return undo
