"""Which changes of files ask for a round of `watch`: those that the variants make do not."""

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

from watchfiles import Change


class ChangedFiles:
    """Tells changes of the person from those of the rounds, by when they came and what changed.

    A file that appears while a round runs, unless it is Python, and one whose content changes in
    two rounds in a row is written by the variants: what happens to it within a round asks for no
    other. `own` are the latter.
    """

    def __init__(self) -> None:
        self.own: set[str] = set()
        self._began = self._ended = 0
        self._in_last: set[str] = set()
        self._digests: dict[str, bytes] = {}

    def begin(self) -> None:
        """Note that a round begins."""
        self._began = time.time_ns()

    def end(self) -> None:
        """Note that a round has ended."""
        self._ended = time.time_ns()

    def choose(self, changed: Iterable[tuple[Change, str]]) -> set[str]:
        """Return the paths of these changes that ask for a round."""
        kinds: dict[str, set[Change]] = {}
        for kind, path in changed:
            kinds.setdefault(path, set()).add(kind)
        inside = {path for path in kinds if self._is_inside(Path(path), kinds[path])}
        made = {p for p in inside if Change.added in kinds[p] and Path(p).suffix != ".py"}
        written = {path for path in inside - made if self._has_new_content(path)}
        self.own |= written & self._in_last
        self._in_last = written if inside else self._in_last
        return (kinds.keys() - inside) | (written - self.own)

    def _is_inside(self, path: Path, kinds: set[Change]) -> bool:
        try:
            # The clock of a file system may be a few milliseconds late.
            return self._began <= path.stat().st_mtime_ns <= self._ended
        except OSError:
            return Change.added in kinds  # it came and went

    def _has_new_content(self, path: str) -> bool:
        try:
            digest = hashlib.sha256(Path(path).read_bytes()).digest()
        except OSError:
            return False
        before, self._digests[path] = self._digests.get(path), digest
        return before != digest
