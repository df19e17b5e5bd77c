"""The one door out of the kernel: live values become bounded JSON that holds no known secret."""

from collections.abc import Collection
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.secrets.needles import NEEDLES, Needles
from repl_pair.runtime.secrets.redact import copy_plain
from repl_pair.runtime.secrets.truncate import Keep, Limits, Shaper
from repl_pair.runtime.values.paths import Place
from repl_pair.wire import Json

__all__ = ["Limits", "Outgoing", "send_out"]


@record
class Outgoing:
    """JSON fit to leave; `redacted` and `elided` count the markers that were put into it.

    Secrets in a long string count for the whole string, though only its head is shown.
    """

    value: Json
    redacted: int
    elided: int


def send_out(
    value: Any,
    *,
    sensitive: Collection[Place] = (),
    limits: Limits = Limits(),  # noqa: B008  it is frozen
    keep: Keep | None = None,
    needles: Needles = NEEDLES,
    request: Any = None,
) -> Outgoing:
    """Turn any live value into bounded JSON without secrets; sending the outcome changes nothing.

    Never raises, and never runs the code of the value's classes.
    `sensitive` are key paths to hide, "*" for any key or index. `keep` takes the redacted JSON of
    what is elided and gives the handle for its marker. `request` are the arguments of the call
    that is answered: what is in them is hidden where a secret stands, but never learned.
    """
    needles.trim()
    copy = copy_plain(
        value, needles=needles, sensitive=sensitive, request=request, depth=limits.depth
    )
    shaper = Shaper(copy, limits, needles, keep)
    shaped = shaper.marker("value", 1) if copy.flooded else shaper.put(copy.root)
    return Outgoing(value=shaper.clean(shaped), redacted=shaper.redacted, elided=shaper.elided)
