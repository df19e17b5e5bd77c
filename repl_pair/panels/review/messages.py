"""What the review panel and its script send each other; the script holds the same shapes."""

from collections.abc import Sequence
from typing import Literal, TypedDict


class Remark(TypedDict):
    """A remark, or a reply; in its texts each invisible character is written out.

    `edited_by`: who wrote its content, where that is another; else empty. Times are ISO 8601 in
    UTC.
    """

    id: str
    author: Literal["human", "agent"]
    principal: str
    status: str
    section: str
    quote: str
    content: str
    edited_by: str
    created: str
    changed: str


class ThreadShown(Remark):
    """A remark with its newest replies, in time order; `earlier` counts those before them."""

    target: str
    review: str | None
    replies: Sequence[Remark]
    earlier: int


class ReviewShown(TypedDict):
    """A review."""

    id: str
    status: Literal["submitted", "completed"]


class Group(TypedDict):
    """The threads of one target, by id; `label` is the target as text to show.

    `here`: the shell shows the target. `drafts` has the ids of all drafts on it.
    """

    target: str
    label: str
    here: bool
    drafts: Sequence[str]
    reviews: Sequence[ReviewShown]
    threads: Sequence[str]


class Listing(TypedDict):
    """The groups in their order; `total` threads fit the filter, of which `shown` are listed."""

    groups: Sequence[Group]
    total: int
    shown: int


class FilterState(TypedDict):
    """The filter: a status or `open`, empty for all; an author, or empty; a part of the target."""

    status: str
    author: str
    match: str


class State(TypedDict):
    """All that the panel shows; `focus` is the target that the shell shows, empty without one."""

    filter: FilterState
    focus: str
    listing: Listing
    threads: Sequence[ThreadShown]
    live: bool


class Written(TypedDict):
    """An annotation that was written; `duplicate`: it was there already."""

    id: str
    duplicate: bool


class Deletion(TypedDict):
    """What a deletion takes along, and whether it is `done` or waits for the person's consent."""

    done: bool
    replies: int
    review_deleted: bool


class Sent(TypedDict):
    """A review as it was submitted."""

    review: str
    count: int


class ReviewPatch(TypedDict, total=False):
    """What changed; of the threads, those that changed or came into the listing.

    `live`: whether changes are followed; `fault`: why they could not be read.
    """

    filter: FilterState
    focus: str
    listing: Listing
    threads: Sequence[ThreadShown]
    live: bool
    fault: str
