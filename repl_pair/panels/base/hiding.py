"""What panels show of a run, without the secrets that Controls masks: others may see the screen."""

from collections.abc import Callable
from typing import Any, cast

from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.known import NEEDLES, within
from repl_pair.runtime.secrets.learning import SEARCH
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.secrets.redact import copy_plain
from repl_pair.runtime.values.frozen import to_plain
from repl_pair.wire import REDACTED

SHORTEST = 4
"""How long a secret arg is that is replaced wherever it turns up in a run's texts."""
Hide = Callable[[Any], Any]
"""Returns JSON without secrets in its texts."""


def hide_of(run: RunRecord | None) -> Hide:
    """Return what replaces the secrets that a run was given, or met, in the texts of JSON.

    Short ones too: of a run it is known where they came from.
    """
    if run is None:
        return lambda found: found
    own, declared = Needles(), [at[1:] for at in run.sensitive if at[0] == "effective_args"]
    args = to_plain(run.effective_args)
    given = copy_plain(args, needles=own, sensitive=declared, search=SEARCH).learned
    short = sorted((text for text in given if len(text) >= SHORTEST), key=len, reverse=True)

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
