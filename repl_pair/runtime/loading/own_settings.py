"""The table `[tool.repl_pair]` of a pyproject.toml, for all that reads it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from repl_pair.errors import AuthoringError, did_you_mean
from repl_pair.runtime.loading.pytest_settings import is_texts, read_table

KEYS: Mapping[str, str] = {
    "stories": '["stories_*.py"]',
    "private": '["drafts/*", "*.private.md"]',
}
"""Its keys, each a list of patterns, with an example."""
_NAME = "repl_pair"


def read_patterns(file: Path, key: str) -> Sequence[str] | None:
    """Return the patterns of a key, None where it is not set.

    AuthoringError `bad_body` for no list of texts; also for a key or table that nothing reads, as
    a misspelt `private` would leave pages public.
    """
    for name in read_table(file, "tool"):
        if name != _NAME and _plain(name) == _plain(_NAME):
            what = f"[tool.{name}] is not read: the name of the table is [tool.{_NAME}]."
            raise AuthoringError("bad_body", f"{file}: {what}")
    table = read_table(file, "tool", _NAME)
    for name in [name for name in table if name not in KEYS]:
        what = f"[tool.{_NAME}] has no key {name!r}.{did_you_mean(name.lower(), KEYS)}"
        raise AuthoringError("bad_body", f"{file}: {what} Its keys are {' and '.join(KEYS)}.")
    if (found := table.get(key)) is None or is_texts(found):
        return found
    what = f"[tool.{_NAME}] {key} is a list of patterns: {KEYS[key]}."
    raise AuthoringError("bad_body", f"{file}: {what}")


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
