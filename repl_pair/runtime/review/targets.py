"""Targets: what a remark speaks of, as text of one form."""

import posixpath
import re
from functools import lru_cache

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.runtime.reading.bounded import cut_text

ENTRIES = ("story", "variant", "workspace")
"""The kinds of targets that are registered, by their ids."""
FORMS = "story:ID, variant:ID, workspace:ID, notebook:PATH#CELL and doc:PATH#HEADING"
PAGES = {"doc": (".md", ".markdown"), "notebook": (".ipynb",)}
"""The kinds of targets that are files, and how their names end."""
MAX_TARGET_CHARS = 1_000

_PATH = {
    kind: re.compile(rf"(.+?(?:{'|'.join(map(re.escape, ends))}))(?:#(.*))?", re.I | re.S)
    for kind, ends in PAGES.items()
}


@record
class Target:
    """An entry by its id, or a page by its path below the project, with a part of it or without."""

    kind: str
    name: str
    part: str = ""

    @property
    def whole(self) -> str:
        """The target without its part."""
        return f"{self.kind}:{self.name}"

    @property
    def text(self) -> str:
        """The target as it is written."""
        return f"{self.whole}#{self.part}" if self.part else self.whole

    def covers(self, other: "Target") -> bool:
        """Return whether another is this one, or a part of it."""
        return self.whole == other.whole and self.part in ("", other.part)


@lru_cache(maxsize=4096)
def parse_target(text: str) -> Target:
    """Read a target, its path normalised; whether it is there is not asked.

    RequestError `bad_arguments` for what is none.
    """
    kind, _, rest = text.partition(":")
    if kind in ENTRIES and rest and "#" not in rest and len(text) <= MAX_TARGET_CHARS:
        return Target(kind=kind, name=rest)
    found = _PATH[kind].fullmatch(rest) if kind in PAGES else None
    if found is None or len(text) > MAX_TARGET_CHARS:
        raise _illegal(text, f"Targets are {FORMS}; paths end in .md or .ipynb.")
    path = posixpath.normpath(found[1])
    if path.startswith(("/", "..")) or "\\" in path or not path.isprintable():
        raise _illegal(text, "A path is relative to the project's folder and stays in it.")
    return Target(kind=kind, name=path, part=(found[2] or "").strip())


def _illegal(text: str, why: str) -> RequestError:
    return RequestError("bad_arguments", f"{cut_text(text, 200)!r} is not a target. {why}")
