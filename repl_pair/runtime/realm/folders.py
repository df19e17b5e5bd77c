"""The folders of a realm: the names that are its own, and what else is there as faults."""

import os
import re
from pathlib import Path

from repl_pair.runtime.realm.files import NAME
from repl_pair.runtime.realm.model import Fault

_OTHER = re.compile(
    r"\..*|#.*#|readme|.*(~|\.(bak|orig|swp))|(?!.*\.json).*\.(md|rst|txt)", re.IGNORECASE
)
"""What is hidden, a draft or backup of an editor or of git, or words to people."""


def list_names(folder: Path, *parts: str, suffix: str = "", faults: list[Fault]) -> list[str]:
    """Return the names of the files with a suffix in a folder, or of its folders; sorted.

    What is neither those nor there for people alone is a fault: it was to be read.
    """
    path = os.path.join(folder, *parts)
    try:
        entries = list(os.scandir(path))
    except OSError as error:
        if os.path.lexists(path):
            why = f"Its folder cannot be read: {error.strerror}."
            faults.append(file_fault("".join(parts[1:2]), "/".join(parts), why))
        return []
    names = list[str]()
    for entry in entries:
        name, is_own = entry.name.removesuffix(suffix), entry.is_file if suffix else entry.is_dir
        is_named = entry.name.endswith(suffix) and NAME.fullmatch(name) is not None
        if is_named and is_own(follow_symlinks=False):
            names.append(name)
        elif not _OTHER.fullmatch(entry.name):
            why = _why_not(name, suffix, is_named=is_named)
            faults.append(file_fault((*parts, name)[1], "/".join((*parts, entry.name)), why))
    known = dict[str, str]()
    for name in sorted(names):
        if (other := known.setdefault(name.casefold(), name)) != name:
            why = f"On some systems it is one with {other}, of which only the case differs."
            faults.append(file_fault((*parts, name)[1], "/".join((*parts, name + suffix)), why))
    return sorted(names)


def _why_not(name: str, suffix: str, *, is_named: bool) -> str:
    if is_named:
        return f"It is a link, or not a {'plain file' if suffix else 'folder'}."
    if NAME.fullmatch(name):
        return f"Its name does not end in {suffix}."
    return "Its name is not one of a realm."


def file_fault(domain: str, file: str, why: str) -> Fault:
    """Return the fault of a file or folder that is not as it has to be."""
    return {"domain": domain, "kind": "bad_file", "message": why, "file": file}
