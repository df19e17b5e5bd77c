"""From what stands at a path to a verdict, also where it is expected as `[redacted]`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from repl_pair.runtime.assertions.compare import difference
from repl_pair.runtime.assertions.view import NOTHING, Path, PathNotFound, Places, Read, RunView
from repl_pair.runtime.reading.expand import as_rows, open_up
from repl_pair.runtime.reading.steps import PathMiss, read_member
from repl_pair.runtime.registry.outcomes import Verdict
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.secrets.truncate import Limits
from repl_pair.runtime.values.classes import is_map, is_row
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import Steps, format_path, meets, parse_path
from repl_pair.wire import REDACTED, Json

WIDE = Limits(depth=64, width=1_000_000, text=1_000_000, nodes=1_000_000)
"""Nothing of a value that an assertion looks at is cut, up to a million parts."""


def shown_at(steps: Steps, value: Any, secrets: Places) -> tuple[Json, int]:
    """Return what would leave of a value that stands at a place, and how much would not.

    What is too large to be read whole counts as if it held a secret.
    """
    below = [place[len(steps) :] for place in secrets if meets(place, steps)]
    if () in below or any(is_secret_key(str(step)) for step in steps):
        return REDACTED, 1
    # As it stands its private fields are read too; opened, its tables are whole.
    kept = send_out(value, sensitive=below, limits=WIDE).redacted
    out = send_out(open_up(value, as_rows), sensitive=below, limits=WIDE)
    return out.value, max(kept, out.redacted + out.elided)


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
    """Return whether a marker is expected wherever a secret stands: then nothing can be guessed."""
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


Why = Callable[[Any, str], str | None]
"""Returns what is wrong with a value at a path; nothing if it is as expected."""


def judge_at(
    settled: RunView, path: Path, expected: Any, why: Why, *, facing: Any = NOTHING
) -> Verdict:
    """Judge the value at a path; a path that leads nowhere fails and names what is near."""
    try:
        actual = settled.at(path, facing=facing)
    except PathNotFound as miss:
        return Verdict.of(str(miss), expected=expected)
    reason = why(actual, format_path(parse_path(path)))
    return Verdict.of(reason, expected=expected, actual=actual)


def judge_equal(settled: RunView, path: Path, expected: Any) -> Verdict:
    """Judge whether the value at a path equals the expected one, by content."""

    def why(actual: Any, where: str) -> str | None:
        return difference(unmasked(settled, path, expected, actual), actual, where)

    return judge_at(settled, path, expected, why, facing=expected)


def has_marker(expected: Any) -> bool:
    """Return whether a `[redacted]` marker stands anywhere in what is expected."""
    if isinstance(expected, str):
        return REDACTED in expected
    if is_map(expected):
        return any(has_marker(item) for item in expected.values())
    return is_row(expected) and any(has_marker(item) for item in expected)


def unmasked(settled: RunView, path: Path, expected: Any, actual: Any) -> Any:
    """Return what is expected with its `[redacted]` markers held against what would be redacted."""
    if not has_marker(expected):
        return expected
    if settled.declares(path):
        return reveal(expected, actual, REDACTED)
    return reveal(expected, actual, shown_at(parse_path(path), actual, settled.secrets)[0])


def secret_within(looks: Iterable[Read], secrets: Places) -> str:
    """Name a place looked at that holds a secret where no marker was expected; else nothing.

    Reads all of what was looked at, as the door out of the kernel does.
    """
    learn_secrets()
    for look in looks:
        shown, hidden = shown_at(look.steps, look.value, secrets)
        if look.declared:
            shown, hidden = REDACTED, 1
        if hidden and not (has_marker(shown) and faces(look.facing, shown)):
            return format_path(look.steps)
    return ""
