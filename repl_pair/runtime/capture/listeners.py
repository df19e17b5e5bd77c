"""Who stands by a run here, and is told the live objects that a record only describes."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True, eq=False, repr=False)
class Witness:
    """What the runs of a block raised, in order, and the warnings that they gave.

    `warned` holds the arguments of `warnings.showwarning`.
    """

    raised: list[BaseException] = field(default_factory=list[BaseException])
    warned: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])


@contextmanager
def stand_by() -> Generator[Witness]:
    """Witness the runs that this context begins during the block."""
    witness = Witness()
    token = _WITNESS.set(witness)
    try:
        yield witness
    finally:
        _WITNESS.reset(token)


def tell_raised(error: BaseException) -> None:
    """Tell what a phase of a run raised."""
    witness = _WITNESS.get()
    if witness is not None:
        witness.raised.append(error)


def tell_warned(*warning: Any) -> None:
    """Tell a warning that a run gave."""
    witness = _WITNESS.get()
    if witness is not None:
        witness.warned.append(warning)


_WITNESS: ContextVar[Witness | None] = ContextVar("repl_pair_witness", default=None)
