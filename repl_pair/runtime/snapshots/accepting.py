"""Stores what other runs rendered, as their artifacts hold it, for the variants that are here."""

from collections.abc import Iterator
from pathlib import Path

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.snapshots.artifacts import ACTUAL, find_rendered
from repl_pair.runtime.snapshots.provenance import describe_about, describe_changes
from repl_pair.runtime.snapshots.store import SNAPSHOTS, SnapshotStore, shorten
from repl_pair.runtime.snapshots.stored import SnapshotKey, Stored, Unreadable


@record
class Accepted:
    """What became of one output: stored, or refused and why."""

    label: str
    refusal: str = ""
    note: str = ""
    """How what it was made of differs from what is here."""


def accept_rendered(folder: Path) -> list[Accepted]:
    """Store the outputs in the artifacts below a folder; RequestError where there are none.

    Refused are those of variants and modes that are not registered in this process, those that
    can't be read, and two that differ under one key.
    """
    stores = find_rendered(folder)
    if not stores:
        what = f"There is no folder {ACTUAL!r} with outputs below {folder}"
        raise RequestError("not_found", f"{what}: give what pytest --pair-artifacts kept.")
    return [*_faults(stores), *_accept_all(stores)]


def _faults(stores: list[SnapshotStore]) -> Iterator[Accepted]:
    for store in stores:
        for path in store.files():
            if (fault := store.read(path).fault) is not None:
                yield Accepted(label=f"{shorten(path)}:{fault[0]}", refusal=fault[1])


def _accept_all(stores: list[SnapshotStore]) -> Iterator[Accepted]:
    found = {key: None for store in stores for key in sorted(store.listed(), key=lambda k: k.order)}
    for key in found:
        given = [one for store in stores if (one := store.find(key)) is not None]
        yield _accept(key, given)


def _accept(key: SnapshotKey, given: list[Stored | Unreadable]) -> Accepted:
    bad = [str(one) for one in given if isinstance(one, Unreadable)]
    good = [one for one in given if isinstance(one, Stored)]
    if refusal := next(iter(bad), "") or _unknown(key):
        return Accepted(label=key.label, refusal=refusal)
    if len({one.digest for one in good}) > 1:
        what = "several runs gave outputs that differ; give the folder of one of them"
        return Accepted(label=key.label, refusal=what)
    SNAPSHOTS.write(key, good[0])
    return Accepted(label=key.label, note=_changes(key, good[0]))


def _unknown(key: SnapshotKey) -> str:
    if REGISTRY.find("variant", key.variant_id) is None:
        near = did_you_mean(key.variant_id, REGISTRY.ids("variant"))
        return f"this project has no such variant.{near}"
    modes = REGISTRY.ids("mode")
    missing = [mode for mode in key.modes if mode not in modes]
    return f"there is no mode {missing[0]!r}.{did_you_mean(missing[0], modes)}" if missing else ""


def _changes(key: SnapshotKey, given: Stored) -> str:
    try:
        now = describe_about(plan_variant(key.variant_id, modes=key.modes))
    except RequestError as error:
        return error.message
    return "" if given.about is None else describe_changes(given.about, now)
