"""Pytest's fixtures in variants: refs that only a run under pytest resolves."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.records import holding
from repl_pair.runtime.registry.model import Component, Function, Origin
from repl_pair.runtime.registry.origin import BUILTIN
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values.frozen import Ref, refs_in

LOADER = "pytest/fixture"
"""The loader that refs to fixtures name, registered by the first of them."""


def fixture(name: str) -> Ref:
    """Return a ref to a pytest fixture; a run outside of pytest is `cannot_run`.

    The fixture has the scope that it has in tests. AuthoringError `bad_body` for what is no name.
    """
    if not isinstance(name, str) or not name.isidentifier():  # pyright: ignore[reportUnnecessaryIsInstance]  a notebook is not type-checked
        raise AuthoringError("bad_body", f"fixture takes a fixture's name: 'db', not {name!r}.")
    if REGISTRY.find("loader", LOADER) is None:
        body = Function(component=Component.of(give), doc="Give what a pytest fixture gives.")
        origin = Origin(key=BUILTIN, label="repl_pair", line=0)
        REGISTRY.register("loader", LOADER, body, origin=origin)
    return Ref(LOADER, {"name": name})


def fixtures_in(*frozen: Any) -> Sequence[str]:
    """Return the names of the fixtures in frozen data, each once."""
    if REGISTRY.find("loader", LOADER) is None:
        return ()
    refs = [ref for ref in refs_in(list(frozen)) if ref.loader == LOADER]
    return tuple(dict.fromkeys(str(ref.kwargs["name"]) for ref in refs))


def fixtures_from(give: Callable[[str], Any]) -> AbstractContextManager[None]:
    """Give runs of this context their fixtures during the block."""
    return holding(_GIVE, give)


def give(name: str) -> Any:
    """Return the value of a fixture; RequestError `cannot_run` outside of pytest."""
    resolve = _GIVE.get()
    if resolve is None:
        raise RequestError(
            "cannot_run",
            f"{name!r} is a pytest fixture, and this run is not run by pytest: run the "
            "variant with pytest, or use repl_pair.ref to a loader, which works everywhere.",
        )
    return resolve(name)


_GIVE: ContextVar[Callable[[str], Any] | None] = ContextVar("repl_pair_fixtures", default=None)
