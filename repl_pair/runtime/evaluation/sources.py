"""The text of sent code, for tracebacks: there while something that the code defined lives."""

import io
import linecache
import weakref
from collections.abc import Iterable, Iterator
from types import CodeType

MOST = 100
"""Of how many sent codes the text is kept, the latest, where their functions live on."""
_kept: dict[str, None] = {}


def show_source(filename: str, source: str) -> None:
    """Let tracebacks show the lines of sent code, until `keep_source` or `forget_source`."""
    linecache.cache[filename] = (len(source), None, lines_of(source), filename)


def lines_of(source: str) -> list[str]:
    """Return the lines of a source as Python counts them."""
    return io.StringIO(source, newline=None).readlines()


def keep_source(filename: str, parts: Iterable[CodeType]) -> None:
    """Keep the text for as long as a function, class or generator of the code lives."""
    alive = {id(inner): inner for part in parts for inner in _inner(part)}
    keys = set(alive)

    def end(key: int) -> None:
        keys.discard(key)
        if not keys:
            forget_source(filename)

    for key, inner in alive.items():
        weakref.finalize(inner, end, key).atexit = False
    if not keys:
        forget_source(filename)
        return
    _kept[filename] = None
    for oldest in list(_kept)[:-MOST]:
        forget_source(oldest)


def forget_source(filename: str) -> None:
    """Take the text out; any thread may call it, also twice."""
    _kept.pop(filename, None)
    linecache.cache.pop(filename, None)


def _inner(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inner(constant)
