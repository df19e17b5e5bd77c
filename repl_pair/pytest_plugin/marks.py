"""What pytest is given of a variant: its tags as marks, and the properties of its run."""

from collections.abc import Iterable, Sequence

import pytest

from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.tags import ACTING, reason_of


def mark_items(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Give variants their tags as marks, registered; a mark that takes arguments is no tag's.

    It is done once all files are collected: what a tag means does not depend on their order.
    """
    heads = [str(line).partition(":")[0] for line in config.getini("markers")]
    taken = {head.partition("(")[0].strip() for head in heads if "(" in head} - {*ACTING}
    marks: dict[str, pytest.MarkDecorator] = {}
    for item in items:
        tags: Sequence[str] = getattr(item, "variant_tags", ())
        for tag in tags:
            if tag not in taken:
                marks[tag] = marks.get(tag) or _mark(tag, config)
                item.add_marker(marks[tag])


def _mark(tag: str, config: pytest.Config) -> pytest.MarkDecorator:
    if tag in ACTING:
        mark: pytest.MarkDecorator = getattr(pytest.mark, tag)
        return mark(reason=reason_of(tag))
    entry = REGISTRY.find("tag", tag)
    doc = "" if entry is None else entry.body.doc
    line = f"{tag}: {doc.partition(chr(10))[0]}"
    if line not in config.getini("markers"):
        config.addinivalue_line("markers", line)
    return getattr(pytest.mark, tag)


def properties_of(
    variant_id: str, modes: Sequence[str], status: str, assertions: int, **more: str
) -> list[tuple[str, str]]:
    """Return the properties of a run for JUnit files and the like, by their names."""
    shared = [("story", story_of(variant_id)), ("variant", variant_id), ("modes", "+".join(modes))]
    return [*shared, ("status", status), ("assertions", str(assertions)), *more.items()]
