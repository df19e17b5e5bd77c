"""From what stands at a path to a verdict, and what of it is secret or expected as `[redacted]`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from repl_pair.records import row
from repl_pair.runtime.assertions.comparison import difference
from repl_pair.runtime.assertions.view import NOTHING, Path, PathNotFound, Places, Read, RunView
from repl_pair.runtime.reading.expansion import (
    TooManyPartsError,
    declared_fields,
    leaves_of,
    open_up,
    short_secrets,
)
from repl_pair.runtime.reading.steps import PathMiss, read_member
from repl_pair.runtime.reading.whole_tables import as_rows
from repl_pair.runtime.registry.outcomes import Verdict
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.secrets.truncation import Limits
from repl_pair.runtime.values.classes import is_map, is_row
from repl_pair.runtime.values.marks import is_secret_key, secret_type
from repl_pair.runtime.values.paths import Place, Steps, format_path, meets, parse_path
from repl_pair.wire import REDACTED, Json

WIDE = Limits(depth=64, width=1_000_000, text=1_000_000, nodes=1_000_000)
"""Nothing of a value that an assertion looks at is cut, up to a million parts."""


def secret_parts(steps: Steps, secrets: Places) -> list[Place]:
    """Return the secret places below a place, from there on; `()` where it is secret itself."""
    if any(is_secret_key(str(step)) for step in steps):
        return [()]
    return [place[len(steps) :] for place in secrets if meets(place, steps)]


def shown_at(steps: Steps, value: Any, secrets: Places) -> tuple[Json, int]:
    """Return what would leave of a value that stands at a place, and how much would not.

    What is too large to be read whole counts as if it held a secret.
    """
    below = secret_parts(steps, secrets)
    if () in below:
        return REDACTED, 1
    # As it stands its private fields are read too; opened, its tables are whole.
    kept = send_out(value, sensitive=below, limits=WIDE).redacted
    try:
        out = send_out(open_up(value, as_rows), sensitive=below, limits=WIDE)
    except TooManyPartsError:
        return REDACTED, 1
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


@row
class _Marker:
    """Stands for a marker that was expected where no secret stands."""

    text: str

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
    """Name a place looked at that holds a secret where no marker was expected; else nothing."""
    learn_secrets()
    for look in looks:
        shown, hidden = shown_at(look.steps, look.value, secrets)
        if look.declared:
            shown, hidden = REDACTED, 1
        if hidden and not (has_marker(shown) and faces(look.facing, shown)):
            return format_path(look.steps)
    return ""


def secret_place(looks: Iterable[Read], secrets: Places) -> str:
    """Name a place looked at that is known as secret by its path, key or type; else nothing."""
    for look in looks:
        is_secret = look.declared or () in secret_parts(look.steps, secrets)
        if is_secret or secret_type(look.value):
            return format_path(look.steps)
    return ""


def places_within(looks: Iterable[Read], secrets: Places) -> list[Place]:
    """Return the declared places that are inside what was looked at, from there on."""
    return [place for look in looks for place in secret_parts(look.steps, secrets) if place]


def places_repeating(slots: Mapping[str, Any], looks: Iterable[Read]) -> list[Place]:
    """Return the places in slots of an outcome that repeat a field declared as `Sensitive`.

    Known by the field's name, or by its text. What was looked at is itself no repetition.
    """
    looked = [look.value for look in looks]
    fields = [field for value in looked for field in declared_fields(value)]
    names = {name for name, _ in fields}
    texts = {text for _, text in fields if text}
    own = {slot: v for slot, v in slots.items() if fields and not any(v is one for one in looked)}
    return [
        place
        for place, leaf in leaves_of(own)
        if not names.isdisjoint(place[1:]) or any(text in str(leaf) for text in texts)
    ]


def without_secrets(
    texts: Mapping[str, str], looks: Iterable[Read], secrets: Places
) -> dict[str, str]:
    """Get texts without what was looked at and is secret, but too short to be known elsewhere."""
    left = {name: text for name, text in texts.items() if text}
    for look in looks if left else ():
        for secret in short_secrets(look.value, places_within([look], secrets)):
            left = {name: text.replace(secret, REDACTED) for name, text in left.items()}
    return left
