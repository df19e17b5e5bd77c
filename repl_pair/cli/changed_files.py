"""The changes of files, and which of them ask for a round of `watch`: none that variants make."""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterable
from pathlib import Path

from watchfiles import Change, DefaultFilter, watch

from repl_pair.runtime.snapshots.places import BESIDE

NOT_WATCHED = (BESIDE, ".repl_pair", ".pytest_cache", ".ruff_cache")
PAUSE_MS = 300

ROUNDS_OF_DATA = 2
ROUNDS_OF_CODE = 10
"""In how many rounds in a row a file changes before it is taken for what the variants write."""


def watch_folder(
    root: Path, stopped: threading.Event
) -> Generator[set[tuple[Change, str]], None, None]:
    """Give what changed, at each pause of 300 ms also where that is nothing, until `stopped`."""
    return watch(
        root,
        watch_filter=DefaultFilter(ignore_dirs=(*DefaultFilter.ignore_dirs, *NOT_WATCHED)),
        rust_timeout=PAUSE_MS,
        yield_on_timeout=True,
        stop_event=stopped,
    )


class ChangedFiles:
    """Tells changes of the person from those of the rounds, by when they came and what changed.

    What changes while a round runs may be the person's, and asks for one more. It is what the
    variants write if it changes in that too; if new files of one suffix appear in both, so are all
    that do.
    Files that a round has `imported` are edited while slow rounds run: they need ten in a row.
    `taken` has the paths that the last `choose` has found to be so; `began` is in ns.
    """

    def __init__(self) -> None:
        self.imported: set[str] = set()
        self.taken: set[str] = set()
        self.began = self._ended = 0
        self._own: set[str] = set()
        self._in_this: set[str] = set()
        self._in_a_row: Counter[str] = Counter()
        self._new_in_this: set[str] = set()
        self._new_in_last: set[str] = set()
        self._made: set[str] = set()
        self._digests: dict[str, bytes] = {}

    def begin(self) -> None:
        """Note that a round begins."""
        self.began = time.time_ns()
        self._in_a_row = Counter({path: self._in_a_row[path] + 1 for path in self._in_this})
        self._in_this = set()
        self._new_in_this, self._new_in_last = set(), self._new_in_this

    def end(self) -> None:
        """Note that a round has ended."""
        self._ended = time.time_ns()

    def choose(self, changed: Iterable[tuple[Change, str]]) -> set[str]:
        """Return the paths of these changes that ask for a round."""
        kinds: dict[str, set[Change]] = {}
        for kind, path in changed:
            kinds.setdefault(path, set()).add(kind)
        inside = {path for path in kinds if self._is_inside(Path(path), kinds[path])}
        # Also of those outside: the next save may be of what was there before them.
        fresh = {path for path in kinds if self._has_new_content(path)} & inside
        # A save that replaces a file is an addition too.
        new = {path for path in fresh if Change.added in kinds[path]} - self._own - self.imported
        own = {path for path in fresh if self._is_written_by_rounds(path)} - self._own
        made = {path for path in new if Path(path).suffix in self._new_in_last}
        self.taken = own | made
        self._made |= {Path(path).suffix for path in made}
        self._own |= own
        self._in_this |= fresh
        asking = (kinds.keys() - inside) | (fresh - new - self._own)
        self._new_in_this = {Path(path).suffix for path in new} if not asking else set[str]()
        return asking | {path for path in new if Path(path).suffix not in self._made}

    def _is_written_by_rounds(self, path: str) -> bool:
        rounds = ROUNDS_OF_CODE if path in self.imported else ROUNDS_OF_DATA
        return self._in_a_row[path] + 1 >= rounds

    def _is_inside(self, path: Path, kinds: set[Change]) -> bool:
        try:
            # The clock of a file system may be a few milliseconds late.
            return self.began <= path.stat().st_mtime_ns <= self._ended
        except OSError:
            return Change.added in kinds  # it came and went

    def _has_new_content(self, path: str) -> bool:
        try:
            digest = hashlib.sha256(Path(path).read_bytes()).digest()
        except OSError:
            return False
        before, self._digests[path] = self._digests.get(path), digest
        return before != digest
