"""Values as they would leave the kernel, and what is expected of them as `[redacted]`."""

from collections.abc import Mapping
from typing import Any, cast

from repl_pair.runtime.egress import send_out
from repl_pair.runtime.members import PathMiss, read_member
from repl_pair.runtime.opening import as_rows, open_up
from repl_pair.runtime.paths import Steps
from repl_pair.runtime.secret_rules import is_secret_key
from repl_pair.runtime.settled import NOTHING, Places
from repl_pair.runtime.shaper import Limits
from repl_pair.runtime.shapes import is_map, is_row
from repl_pair.wire import REDACTED, Json

WIDE = Limits(depth=64, width=1_000_000, text=1_000_000, nodes=1_000_000)
"""Nothing of a value that an assertion looks at is cut, up to a million parts."""


def shown_at(steps: Steps, value: Any, secrets: Places) -> tuple[Json, int]:
    """Give what would leave of a value that stands at a place, and how much would not.

    What is too large to be read whole counts as if it held a secret.
    """
    words = [str(step) for step in steps]
    below = [place[len(words) :] for place in secrets if _leads(words, place)]
    if () in below or any(map(is_secret_key, words)):
        return REDACTED, 1
    # As it stands its private fields are read too; opened, its tables are whole.
    kept = send_out(value, sensitive=below, limits=WIDE).redacted
    out = send_out(open_up(value, as_rows), sensitive=below, limits=WIDE)
    return out.value, max(kept, out.redacted + out.elided)


def _leads(words: list[str], place: tuple[str, ...]) -> bool:
    """Tell whether a place is at or below the words, or above them, where all is secret."""
    return all(own in (word, "*") for own, word in zip(place, words, strict=False))


def reveal(expected: Any, actual: Any, shown: Json) -> Any:
    """Put what stands there in the place of each marker that it would leave as.

    A marker before anything else becomes a value that nothing equals.
    """
    if isinstance(expected, str) and REDACTED in expected:
        is_hidden = shown == expected and not (isinstance(actual, str) and actual == expected)
        return actual if is_hidden else _Marker(expected)
    if is_map(expected):
        return {k: reveal(v, _part(actual, k), _shown_part(shown, k)) for k, v in expected.items()}
    if is_row(expected):
        rows = enumerate(expected)
        return [reveal(item, _part(actual, i), _shown_part(shown, i)) for i, item in rows]
    return expected


def faces(expected: Any, shown: Json) -> bool:
    """Tell whether a marker is expected wherever a secret stands: then nothing can be guessed."""
    if isinstance(shown, str):
        return REDACTED not in shown or (isinstance(expected, str) and REDACTED in expected)
    if isinstance(shown, dict):
        return not any(REDACTED in key for key in shown) and all(
            faces(_shown_part(expected, key), item) for key, item in shown.items()
        )
    if isinstance(shown, list):
        return all(faces(_shown_part(expected, i), item) for i, item in enumerate(shown))
    return True


class _Marker:
    """Stands for a marker that was expected where no secret stands."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return repr(self.text)


def _part(value: Any, key: Any) -> Any:
    try:
        return read_member(value, key)
    except PathMiss:
        return NOTHING


def _shown_part(shown: Any, key: Any) -> Any:
    if isinstance(shown, Mapping):
        return cast("Mapping[Any, Any]", shown).get(str(key), NOTHING)
    is_there = is_row(shown) and isinstance(key, int) and key < len(shown)
    return cast("Any", shown)[key] if is_there else NOTHING
