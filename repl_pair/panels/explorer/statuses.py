"""The status of each variant, and the counts by folder, kept up to date result by result."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set as AbstractSet

from repl_pair.panels.explorer.tree import TOP, paths_above
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.results.drift import is_stale
from repl_pair.runtime.results.outdated import is_outdated
from repl_pair.runtime.results.record import RunRecord

NOT_RUN = "not_run"
RANKS = ("error", "fail", "cannot_run", "running", "stale", NOT_RUN, "pass")
"""Every status, the worst first: a folder shows the worst that is in it."""
FAILURES = frozenset({"error", "fail", "cannot_run"})
"""The verdicts that are shown under any filter, until a run gives a better one."""


class Statuses:
    """The status of each variant that has one, and how many there are of each by path.

    A result goes stale when a registration that it used changes: `dependents` finds the results;
    or when its code does.
    """

    def __init__(self) -> None:
        self.of: dict[str, str] = {}
        self.failing: set[str] = set()
        """The variants whose last verdict was not `pass`, stale or not."""
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._dependents: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._dependencies: dict[str, frozenset[tuple[str, str]]] = {}

    def note(self, variant_id: str, result: RunRecord | None, is_running: bool) -> bool:
        """Set a variant's result; None and not running where it left. Return whether it changed."""
        before = self.of.get(variant_id), variant_id in self.failing
        self._follow(variant_id, result)
        status = None if result is None else result.status
        if result is not None and (is_stale(result) or is_outdated(result)):
            status = "stale"
        status = "running" if is_running else status
        if status != before[0]:
            self._move(variant_id, before[0], status)
        if result is not None and result.status in FAILURES:
            self.failing.add(variant_id)
        else:
            self.failing.discard(variant_id)
        return (status, variant_id in self.failing) != before

    def dependents(self, member: str, keys: Iterable[str] | None) -> AbstractSet[str]:
        """Return the variants whose results used these keys of a member; None is any key."""
        if keys is None:
            return {
                id for (name, _), ids in self._dependents.items() if name == member for id in ids
            }
        return {id for key in (*keys, "") for id in self._dependents.get((member, key), ())}

    def count(self, path: str, size: int) -> Mapping[str, int]:
        """Count each status at or under a path that holds `size` variants, the worst first."""
        counted = dict(self.counts.get(path, {}))
        counted[NOT_RUN] = size - sum(counted.values())
        return {status: n for status in RANKS if (n := counted.get(status, 0))}

    def _follow(self, variant_id: str, result: RunRecord | None) -> None:
        used = frozenset(
            (member, key) for member, key, _ in (result.dependencies if result else ())
        )
        before = self._dependencies.pop(variant_id, frozenset[tuple[str, str]]())
        if used:
            self._dependencies[variant_id] = used
        for gone in before - used:
            self._dependents[gone].discard(variant_id)
            if not self._dependents[gone]:
                del self._dependents[gone]
        for new in used - before:
            self._dependents[new].add(variant_id)

    def _move(self, variant_id: str, before: str | None, now: str | None) -> None:
        for path in (*paths_above(story_of(variant_id)), TOP):
            counted = self.counts[path]
            if before is not None:
                counted[before] -= 1
            if now is not None:
                counted[now] += 1
            elif not any(counted.values()):
                del self.counts[path]
        if now is None:
            self.of.pop(variant_id)
        else:
            self.of[variant_id] = now
