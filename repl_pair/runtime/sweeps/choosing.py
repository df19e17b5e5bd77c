"""Which variants to run, chosen in exactly one way."""

from collections.abc import Sequence

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.registry.visible import visible_entry, visible_variants
from repl_pair.runtime.results.last import has_current_identity, last_result
from repl_pair.wire import View

NEAR = 5
"""How many unknown ids an error names, each with what is near."""


def select(
    view: View,
    *,
    ids: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    changed: bool = False,
    story: str | None = None,
) -> Sequence[str]:
    """Return the visible variants chosen by `ids`, `tags` or `changed`, or all of a story.

    A story narrows tags and `changed`. RequestError `bad_arguments` for no way or two,
    `not_found` if the story or any of the ids or tags is unknown.
    """
    if story is not None:
        visible_entry(view, "story", story)
    given = {"ids": ids is not None, "tags": tags is not None, "changed": changed}
    ways = [name for name, is_given in given.items() if is_given]
    if len(ways) > 1 or (not ways and story is None) or (ids is not None and story is not None):
        named = [*ways, *(["story"] if story is not None else [])]
        raise RequestError(
            "bad_arguments",
            "Choose the variants in one way: ids, tags or changed, the last two perhaps of one "
            f"story, or a story alone. Given: {' and '.join(named) or 'none'}. Nothing was run.",
        )
    if ids is not None:
        return _known(list(map(str, ids)), visible_variants(view, None, None))
    found = visible_variants(view, story, tags)
    if not changed:
        return found
    last = {id: last_result(id) for id in found}
    return [id for id, run in last.items() if run is None or not has_current_identity(run)]


def _known(ids: Sequence[str], seen: Sequence[str]) -> Sequence[str]:
    there = set(seen)
    unknown = [id for id in dict.fromkeys(ids) if id not in there]
    if not unknown:
        return ids
    text = " ".join(f"There is no variant {id!r}.{did_you_mean(id, seen)}" for id in unknown[:NEAR])
    more = f" And {len(unknown) - NEAR} more are unknown." if len(unknown) > NEAR else ""
    raise RequestError(
        "not_found",
        f"{text}{more} Nothing was run.",
        detail={"unknown": unknown[:100]},
        next_steps=["list_variants()"],
    )
