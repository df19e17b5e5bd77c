"""Typed builders of the steps that a play may hold; each returns a list."""

from collections.abc import Sequence
from typing import Any

from repl_pair.errors import did_you_mean
from repl_pair.runtime.registry.model import BuiltStep, Step


def dispatch(event: str, **payload: Any) -> Step:
    """Dispatch an event: to the handler of its name, else to a public method of the live object."""
    return BuiltStep("dispatch", [event, payload])


def wait(ms: float) -> Step:
    """Let that many milliseconds pass, at most 30,000; other tasks of the run go on meanwhile."""
    return BuiltStep("wait", ms)


def set(path: str | Sequence[str | int], value: Any) -> Step:
    """Set a key, index or field of the live object that is there; mappings take new keys too."""
    return BuiltStep("set", path if isinstance(path, str) else list(path), value)


def call(method: str, **kwargs: Any) -> Step:
    """Call a public method of the live object; unlike an event it is not recorded as one."""
    return BuiltStep("call", method, *([kwargs] if kwargs else []))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"repl_pair.step has no {name!r}.{did_you_mean(name, __dir__())}")


def __dir__() -> list[str]:
    own = (name for name, it in globals().items() if getattr(it, "__module__", "") == __name__)
    return sorted(name for name in own if not name.startswith("_"))
