"""Ops that tell an agent how to begin and what a story is; nothing of the person's runs."""

from collections.abc import Callable
from typing import Any

from repl_pair.runtime.model import Entry
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.paging import DEFAULT_LIMIT, Cursor, Limit, page
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.ops.visible import StoryId, visible_entry, visible_ids
from repl_pair.runtime.registry import REGISTRY

MOST_CHARS = 200_000
"""What of a documentation leaves the kernel at once; a face has a budget of its own."""


@op(access="read", lane="inline", toolset="story")
def get_story_instructions(call: Call) -> dict[str, Any]:
    """Read how to work with stories: the words, the usual calls, statuses, writing."""
    from repl_pair.runtime.instructions import INSTRUCTIONS  # few kernels need it

    call.suggest("list_stories()")
    return {"instructions": INSTRUCTIONS}


@op(access="read", toolset="story")
def get_docs_markdown(
    call: Call, story_id: StoryId, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> dict[str, Any]:
    """Read one story as Markdown: args, tags, decorators, modes, variants, last statuses."""
    from repl_pair.runtime.story_docs import write_docs  # few kernels need it

    entry = visible_entry(call.view, "story", story_id)
    ids = visible_ids(call.view, "variant", f"{entry.id}/")
    query = ["docs", entry.id, call.view.tier]
    chosen = page(ids, _line, limit=limit, cursor=cursor, revision=REGISTRY.revision, query=query)
    shown = chosen["items"] = [line["id"] for line in chosen["items"]]
    text = write_docs(entry, shown, look=_looking(call), left_out=len(ids) - len(shown))
    call.room = max(limit, min(len(text), MOST_CHARS))
    if "cursor" in chosen:
        call.suggest(f"get_docs_markdown(story_id={entry.id!r}, cursor={chosen['cursor']!r})")
    call.suggest(*(f"run_variant(variant_id={id!r})" for id in shown[:1]))
    return {"story_id": entry.id, "markdown": str(text)} | chosen


def _line(id: str) -> dict[str, Any]:
    return {"id": id}


def _looking(call: Call) -> Callable[[str, str], Entry | None]:
    def look(kind: str, id: str) -> Entry | None:
        return REGISTRY.find(kind, id) if id in visible_ids(call.view, kind, id) else None

    return look
