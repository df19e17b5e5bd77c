"""The nodes that frozen args hold beside plain JSON, immutable scalars and copied arrays."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeAlias

from repl_pair.errors import AuthoringError
from repl_pair.records import row


@row
class TypeRef:
    """A class by module and qualified name, looked up again for each run."""

    module: str
    qualname: str


@row
class Record:
    """A dataclass or model instance whose class the type hints do not already say."""

    type: TypeRef
    fields: Mapping[str, Any]


@row
class EnumMember:
    """A member of an enumeration, by name."""

    type: TypeRef
    name: str


@row
class Ref:
    """Stands for what data cannot hold: `loader` is called with `kwargs` for each run."""

    loader: str
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])


@row
class Secret:
    """A live secret in frozen args; it leaves the kernel and enters identities as a marker only."""

    value: Any

    def __repr__(self) -> str:
        return "Secret(...)"


Frozen: TypeAlias = Any
"""None, bool, int, float, complex, str, bytes, Decimal, date family, UUID, Path, tuples as tuples,
lists as lists, sets as frozensets, mappings as dicts, copied arrays and frames, and these nodes."""


def bad_data(where: str, what: str) -> AuthoringError:
    """Say what the value at a place is or does that data may not."""
    return AuthoringError("bad_body", f"{where} {what}.", detail={"path": where})
