"""A plain copy of a value, and how much of the value one walk reads for it."""

from enum import Enum
from typing import Any, NamedTuple


class Hidden(Enum):
    """Stands for a secret in a copy."""

    SECRET = "secret"


class Share(Enum):
    """How much of what stands in a value is a secret."""

    NAMED = "what has a secret's name or type"
    BESIDE_SENTENCE = "what `secrets_beside_sentence` gives"
    ALL = "all"


class Search(NamedTuple):
    """The budget of a walk that looks for secrets, in private fields and columns of tables too."""

    parts: int
    secrets: int
    rows: int
    """Of each table."""


class Span(NamedTuple):
    """How many parts of a value one walk reads; of them `margin` beyond what may be shown.

    What may be shown is read first: of each container in it the first `shown` parts. Of the margin
    that is left, one container gets a quarter at most.
    """

    parts: int
    margin: int
    shown: int


class PlainCopy(NamedTuple):
    """Fresh dicts and lists, shared and cyclic as the value's own parts are.

    Leaves are None, bool, int, float, str, Hidden.SECRET and Elided. `kinds` names the type that
    stands behind a dict or list, by its id. With `has_too_many_secrets` more were found than can
    be looked for: nothing of it may leave. `left_out` counts the parts and secrets beyond the
    budget. `learned` are the texts of the secrets that stand in the value, short ones too.
    """

    root: Any
    kinds: dict[int, str]
    has_too_many_secrets: bool
    left_out: int
    learned: frozenset[str]
    left: dict[int, int]
    """How many parts behind a dict or list were not read, by its id."""
    room: int
    """How many parts more could have been read; each container costs 8 on top."""
