"""Tags as marks: `skip` and `xfail` do what they do on any test."""

from collections.abc import Iterator, Sequence

import pytest

from repl_pair.runtime.registry.registry import REGISTRY

ACTING = ("skip", "xfail")
"""The tags that change what becomes of an item; the tag's doc is the reason."""


def marks_of(tags: Sequence[str], config: pytest.Config) -> list[pytest.MarkDecorator]:
    """Return the marks of some tags, registered; a mark that takes arguments is no tag's."""
    taken = set(_names_with_arguments(config))
    return [_mark(tag, config) for tag in tags if tag in ACTING or tag not in taken]


def _mark(tag: str, config: pytest.Config) -> pytest.MarkDecorator:
    entry = REGISTRY.find("tag", tag)
    doc = "" if entry is None else entry.body.doc
    if tag in ACTING:
        mark: pytest.MarkDecorator = getattr(pytest.mark, tag)
        return mark(reason=doc or f"tagged {tag}")
    line = f"{tag}: {doc.partition(chr(10))[0]}"
    if line not in config.getini("markers"):
        config.addinivalue_line("markers", line)
    return getattr(pytest.mark, tag)


def _names_with_arguments(config: pytest.Config) -> Iterator[str]:
    for line in config.getini("markers"):
        head = str(line).partition(":")[0]
        if "(" in head:
            yield head.partition("(")[0].strip()
