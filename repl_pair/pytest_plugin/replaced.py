"""What runs is what was collected: a run on what another file has replaced is refused."""

import pytest

from repl_pair.errors import RequestError
from repl_pair.runtime.loading.load import place_of
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import file_of
from repl_pair.runtime.registry.registry import REGISTRY, differ


def note_entries(config: pytest.Config, since: int) -> None:
    """Note what the file that was just loaded has registered, the first file all that is there."""
    if (noted := config.stash.get(_NOTED, None)) is None:
        noted, since = config.stash.setdefault(_NOTED, {}), 0
    for kind in REGISTRY.kinds:
        entries = REGISTRY.snapshot(kind).values()
        noted.update(((kind, one.id), one) for one in entries if one.revision > since)


def refuse_replaced(config: pytest.Config, plan: Plan) -> None:
    """Refuse a run that rests on what was registered by another file than as it was collected.

    RequestError `cannot_run` with both places. A file that was executed again is the same one.
    """
    noted = config.stash[_NOTED]
    for key, now in plan.reached.items():
        was = noted.get(key)
        if was is None or now is None or was is now:
            continue
        if file_of(was.origin) != file_of(now.origin) and differ(was, now):
            raise RequestError(
                "cannot_run",
                f"{now.kind} {now.id!r} was collected from {place_of(was)}, and {place_of(now)} "
                "has registered it since: give one of them another id.",
            )


_NOTED = pytest.StashKey[dict[tuple[str, str], Entry]]()
