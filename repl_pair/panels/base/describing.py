"""Values as bounded JSON for the person's own panels; none of their code runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from pprint import pformat
from typing import Any, cast

from repl_pair.runtime.reading.bounded import Bounds, copy_within, cut_text
from repl_pair.runtime.reading.fields import Pairs
from repl_pair.runtime.reading.parts import Elided, describe
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.known import NEEDLES, within
from repl_pair.runtime.secrets.learning import SEARCH
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.secrets.redaction import copy_plain
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.frozen import live_to_plain
from repl_pair.runtime.values.marks import SHORTEST_BESIDE, secret_type
from repl_pair.runtime.values.paths import Place, below
from repl_pair.wire import REDACTED, Json

Places = Sequence[Place]
"""Where a secret stands in a value."""
_BIGGEST = 1 << 53
WHOLE = Bounds()
"""What is shown of a value by itself."""
SHORT = Bounds(depth=3, width=8, text=80, nodes=24)
"""What fits on one line."""


def to_json(value: Any, bounds: Bounds = WHOLE, secret: Places = ()) -> Json:
    """Return any value as JSON; what is cut is marked where it stood."""

    def read(value: Any, places: Places) -> Any:
        if secret_type(value) or () in places:
            return REDACTED
        parts = describe(value, room=max(10_000, bounds.width))
        if type(parts.body) is Elided:
            return f"<{parts.kind} of {parts.body.size}>"
        body = dict(parts.body.items) if type(parts.body) is Pairs else parts.body
        return body if real_class(body) in (dict, list) else _leaf(body, bounds.text)

    return copy_within(value, bounds, read, secret)


def phrase(words: Sequence[Any], secret: Places = ()) -> str:
    """Write the words of a line, an event or an effect on one line: `add(n=1), result.total, 4`."""
    return ", ".join(
        _word(to_json(word, SHORT, below(secret, at))) for at, word in enumerate(words)
    )


def call_phrase(name: str, payload: Mapping[str, Any], secret: Places = ()) -> str:
    """Write an event or an effect as a call on one line."""
    return f"{name}({', '.join(_pairs(to_json(payload, SHORT, secret)))})"


def _word(word: Json) -> str:
    if isinstance(word, str):
        return word
    if isinstance(word, list) and len(word) == 2 and isinstance(word[1], dict):
        return f"{_word(word[0])}({', '.join(_pairs(word[1]))})"
    return ", ".join(_pairs(word)) if isinstance(word, dict) else literal(word)


def _pairs(mapping: Json) -> list[str]:
    pairs = cast("Mapping[str, Json]", mapping)
    return [f"{name}={literal(value)}" for name, value in pairs.items()]


def literal(value: Json) -> str:
    """Write JSON as a person would write it in Python."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {literal(v)}' for name, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)


def readable(value: Json) -> str:
    """Write JSON as `literal` does, over several lines where it is long or a text has them."""
    is_plain = isinstance(value, str) and ("\n" in value or value == REDACTED)
    return str(value) if is_plain else pformat(value, width=88, sort_dicts=False)


def _leaf(body: Any, longest: int) -> Json:
    if type(body) is str:
        return cut_text(body, longest)
    if type(body) is float:
        return body if math.isfinite(body) else str(body)
    if type(body) is int:
        if abs(body) < _BIGGEST:
            return body
        return str(body) if body.bit_length() < 4_000 else f"<int of {body.bit_length()} bits>"
    return body if body is None or type(body) is bool else str(body)


Hide = Callable[[Any], Any]
"""Returns JSON without secrets in its texts."""


def hide_of(run: RunRecord | None) -> Hide:
    """Return what replaces the secrets that a run was given, or met, in the texts of JSON.

    Short ones too: of a run it is known where they came from.
    """
    if run is None:
        return lambda found: found
    own, declared = Needles(), [at[1:] for at in run.sensitive if at[0] == "effective_args"]
    args = {name: live_to_plain(arg) for name, arg in run.effective_args.items()}
    given = copy_plain(args, needles=own, sensitive=declared, search=SEARCH).learned
    short = sorted((text for text in given if len(text) >= SHORTEST_BESIDE), key=len, reverse=True)

    def scrub(text: str) -> str:
        for needles in (own, NEEDLES):
            text, _ = needles.scrub(text)
        for secret in short:
            text = text.replace(secret, REDACTED)
        return text

    def hide(found: Any) -> Any:
        if isinstance(found, str):
            return scrub(found)
        if isinstance(found, list | tuple):
            return [hide(item) for item in cast("list[Any]", found)]
        if isinstance(found, dict):
            return {hide(key): hide(item) for key, item in cast("dict[Any, Any]", found).items()}
        return found

    def hide_all(found: Any) -> Any:
        with within(run.secrets):
            return hide(found)

    return hide_all
