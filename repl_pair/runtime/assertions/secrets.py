"""The assertion on secrets: none stands in anything that a run put out."""

from typing import Any

from repl_pair.runtime.assertions.verdicts import WIDE
from repl_pair.runtime.assertions.view import RunView
from repl_pair.runtime.reading.expansion import TooManyPartsError, open_up
from repl_pair.runtime.reading.whole_tables import as_columns
from repl_pair.runtime.registry.outcomes import Verdict
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.values.classes import is_map, is_row
from repl_pair.runtime.values.paths import join_path
from repl_pair.wire import REDACTED


def no_secret(settled: RunView) -> Verdict:
    """`[]`: no known secret stands in anything that the run put out; the places are named.

    That is result, outputs, stdout, stderr, logs, warnings, effects and what was raised last.
    """
    learn_secrets()
    found: list[str] = []
    values = {root: getattr(settled, root) for root in _PUT_OUT}
    places = {root: [at[1:] for at in settled.secrets if at[0] == root] for root in _PUT_OUT}
    for root, value in values.items():  # what is a secret in one may stand as a text in another
        send_out(value, sensitive=places[root], limits=WIDE)
    for root, value in values.items():
        secrets = places[root]
        try:
            out = send_out(open_up(value, as_columns), sensitive=secrets, limits=WIDE)
        except TooManyPartsError as error:
            return Verdict.of(f"{root}: {error}, too many to be searched", expected=[])
        found += _marked(out.value, root) if out.redacted else []
    reason = f"a secret stands at {', '.join(found)}" if found else ""
    return Verdict.of(reason, expected=[], actual=found)


_PUT_OUT = ("result", "outputs", "stdout", "stderr", "logs", "warnings", "effects", "raised")


def _marked(shown: Any, path: str) -> list[str]:
    if isinstance(shown, str):
        return [path] if REDACTED in shown else []
    if is_map(shown):
        pairs = [(join_path(path, key), REDACTED in str(key), item) for key, item in shown.items()]
    else:
        rows = shown if is_row(shown) else []
        pairs = [(join_path(path, at), False, item) for at, item in enumerate(rows)]
    found = [[at] if is_marked else _marked(item, at) for at, is_marked, item in pairs]
    return [place for places in found for place in places]
