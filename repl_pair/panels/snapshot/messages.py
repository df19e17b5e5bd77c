"""What the snapshot panel and its script send each other; the script holds the same shapes."""

from collections.abc import Sequence
from typing import Any, TypedDict

from repl_pair.panels.base.differing import ShownChange, TextDifference
from repl_pair.panels.base.tables import TableDifference


class SnapshotRow(TypedDict):
    """One snapshot, with words of `why` it waits.

    `decided` is `accepted` or `rejected`; empty while it waits.
    """

    id: str
    variant: str
    name: str
    why: str
    decided: str


class Snapshots(TypedDict):
    """All snapshots that wait or were decided; `id` is the first of the variant in focus."""

    rows: Sequence[SnapshotRow]
    waiting: int
    id: str | None


class ImagePair(TypedDict):
    """The image of one name, as data URLs."""

    name: str
    baseline: str | None
    actual: str | None
    same: bool


class SlotShown(TypedDict):
    """One slot of an identity; `before` is None where it was not kept."""

    slot: str
    before: Any
    after: Any
    changed: bool
    changes: Sequence[ShownChange]


class IdentityShown(TypedDict):
    """The identities slot by slot; `is_kept` where that of the baseline is stored."""

    is_kept: bool
    has_baseline: bool
    hashes: Sequence[SlotShown]
    slots: Sequence[SlotShown]


class Comparison(TypedDict):
    """Baseline and actual with their differences; `table` is None where they are no tables.

    A decision on what is shown sends its `digest`: another output since is refused.
    """

    digest: str
    baseline: str | None
    actual: str
    text: TextDifference
    table: TableDifference | None
    images: Sequence[ImagePair]
    identity: IdentityShown


class SnapshotPatch(TypedDict, total=False):
    """Snapshots came or were decided; `focus` is that of another variant in focus."""

    list: Snapshots
    focus: str | None
