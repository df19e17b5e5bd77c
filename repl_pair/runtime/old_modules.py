"""Modules of the person's whose files changed after a worker process imported them."""

import os
import sys
from collections.abc import Iterator

from repl_pair.errors import RequestError

_SEEN: dict[str, int] = {}
"""The files of modules, and when they were last written when they were first met here."""


def refuse_old_modules() -> None:
    """Raise RequestError `cannot_run` if a file is newer than its module in this process."""
    for name, file in _theirs():
        written = _written_ns(file)
        if _SEEN.setdefault(file, written) != written:
            raise RequestError(
                "cannot_run",
                f"{name} was changed after this worker process imported it: use fresh workers.",
            )


def _theirs() -> Iterator[tuple[str, str]]:
    """Give the modules that do not come with Python or an installed package."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and not file.startswith(_INSTALLED):
            yield name, file


def _written_ns(file: str) -> int:
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0


_INSTALLED = tuple({sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(__file__))})
