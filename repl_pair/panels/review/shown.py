"""Threads as the review panel shows them: grouped by target, and as text."""

from collections.abc import Sequence
from itertools import groupby

from repl_pair.panels.review import messages
from repl_pair.runtime.reading.bounded import cut_text
from repl_pair.runtime.results.markdown import Markdown, cell, code, table
from repl_pair.runtime.review.model import Annotation
from repl_pair.runtime.review.threads import ListedThread, Threads
from repl_pair.runtime.values.invisible import escape_invisible

_LINE = 120


def group_by_target(found: Threads, here: Sequence[str]) -> messages.Listing:
    """Return the threads by target; `here` are the targets that the shell shows."""
    groups = {
        target: list(of_target)
        for target, of_target in groupby(
            found["threads"], lambda thread: thread["annotation"]["target"]
        )
    }
    # What the shell shows has a place, also where nobody has remarked on it.
    groups = {target: groups.get(target, []) for target in here[:1]} | groups
    return {
        "groups": [
            {
                "target": target,
                "label": escape_invisible(target, keep=""),
                "here": target in here,
                "drafts": found["drafts"].get(target, []),
                "reviews": _reviews_of(of_target),
                "threads": [thread["annotation"]["id"] for thread in of_target],
            }
            for target, of_target in groups.items()
        ],
        "total": found["total"],
        "shown": len(found["threads"]),
    }


def text_of(found: Threads) -> Markdown:
    """Return threads as a table, and how many more there are."""
    head = ("on", "section", "status", "by", "remark", "replies")
    text = table(head, map(_cells, found["threads"])) or "No open remarks."
    more = found["total"] - len(found["threads"])
    return Markdown(f"{text}\n\n… and {more} more remarks." if more > 0 else text)


def thread_of(
    about: Annotation, replies: Sequence[Annotation], earlier: int
) -> messages.ThreadShown:
    """Return a thread as the page shows it, with the last of its replies."""
    return {
        **_remark_of(about),
        "target": escape_invisible(about["target"]),
        "review": about["review_id"],
        "replies": list(map(_remark_of, replies)),
        "earlier": earlier,
    }


def _remark_of(annotation: Annotation) -> messages.Remark:
    return {
        "id": annotation["id"],
        "author": annotation["author"],
        "principal": escape_invisible(annotation["principal"], keep=""),
        "status": annotation["status"],
        "section": escape_invisible(annotation["section"], keep=""),
        "quote": escape_invisible(annotation["quote"]),
        "content": escape_invisible(annotation["content"]),
        "edited_by": escape_invisible(annotation.get("edited_by", ""), keep=""),
        "created": annotation["created_at"],
        "changed": annotation["updated_at"],
    }


def _reviews_of(of_target: Sequence[ListedThread]) -> list[messages.ReviewShown]:
    found = {thread["review"]["id"]: thread["review"] for thread in of_target if thread["review"]}
    return [{"id": id, "status": review["status"]} for id, review in sorted(found.items())]


def _cells(thread: ListedThread) -> Sequence[str]:
    about = thread["annotation"]
    target, words = about["target"], about["content"]
    return (
        _as_text(target) if set("[`|") & set(target) else code(escape_invisible(target, keep="")),
        _as_text(about["section"]),
        about["status"],
        _as_text(about["principal"]),
        _as_text(cut_text(words, _LINE)),
        str(len(thread["replies"]) + thread["earlier"]),
    )


def _as_text(words: str) -> str:
    """Return the words of anyone as a cell in which they make no link and no image."""
    return cell(escape_invisible(words)).replace("!\\[", "![").replace("[", "&#91;")
