"""The only way out of the kernel: live values become bounded JSON that holds no known secret."""

from collections.abc import Collection
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.reading.parts import Elided
from repl_pair.runtime.secrets.cleaning import clean
from repl_pair.runtime.secrets.fit import shape_within
from repl_pair.runtime.secrets.known import NEEDLES, CallSecrets, within
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.secrets.plain_copy import Span
from repl_pair.runtime.secrets.redaction import copy_plain
from repl_pair.runtime.secrets.truncation import Keep, Limits, is_plain_number
from repl_pair.runtime.values.paths import Place
from repl_pair.wire import Json

__all__ = ["Limits", "Outgoing", "send_out"]

WINDOW, PARTS = 15_000, 80_000
"""How many parts of one container, and in all, are read and searched; not all of them leave."""


@record
class Outgoing:
    """JSON fit to leave; `redacted` and `elided` count the markers that were put into it.

    Secrets in a long string count for the whole string, though only its head is shown.
    """

    value: Json
    redacted: int
    elided: int
    learned: frozenset[str] = frozenset()
    """The texts of the secrets that stand in the value, short ones too."""


def send_out(
    value: Any,
    *,
    sensitive: Collection[Place] = (),
    limits: Limits = Limits(),  # noqa: B008  it is frozen
    keep: Keep | None = None,
    needles: Needles = NEEDLES,
    secrets: CallSecrets | None = None,
    shape: Any = Any,
) -> Outgoing:
    """Turn any live value into bounded JSON without secrets; sending the outcome changes nothing.

    Never raises, and never runs the code of the value's classes.
    `sensitive` are key paths to hide, "*" for any key or index. `keep` takes the redacted JSON of
    what is elided and gives the handle for its marker. `secrets` are
    those of the run that the value is of, where another or none is in progress. `shape` is the
    type of an answer: the slots and words that it names are never redacted.
    """
    with within(secrets):
        if not sensitive and is_plain_number(value, needles):
            return Outgoing(value=value, redacted=0, elided=0)
        needles.trim()
        copy = copy_plain(
            value,
            needles=needles,
            sensitive=sensitive,
            depth=limits.depth,
            span=Span(parts=max(PARTS, 2 * limits.width), margin=4 * WINDOW, shown=limits.width),
        )
        if copy.has_too_many_secrets:
            copy = copy._replace(root=Elided("value", 1))
        shaper, shaped = shape_within(copy, limits, needles, keep, shape)
        value = clean(shaper, shaped, shape)
    return Outgoing(
        value=value, redacted=shaper.redacted, elided=shaper.elided, learned=copy.learned
    )


def learn_from(value: Any, *, sensitive: Collection[Place] = ()) -> None:
    """Learn the secrets that stand in a value which is not shown: what leaves may hold them."""
    copy_plain(value, needles=NEEDLES, sensitive=sensitive, span=Span(PARTS, 4 * WINDOW, WINDOW))


def holds_secret(value: Any) -> bool:
    """Return whether a secret stands in a value, by its type, its name or as one that is known."""
    return send_out(value, limits=_WHOLE).redacted > 0


_WHOLE = Limits(depth=64, width=100_000, text=1_000_000, nodes=100_000)
