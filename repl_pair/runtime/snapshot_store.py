"""Where stored outputs are kept: in memory, or as files under the project's folder."""

import os
import re
from pathlib import Path
from typing import Protocol

from repl_pair.records import record

FOLDER = ".repl_pair/snapshots"


@record
class SnapshotKey:
    """Names one stored output: of a variant with one content, perhaps with a name of its own."""

    variant_id: str
    content_hash: str
    name: str = ""


class SnapshotStore(Protocol):
    """Keeps texts by key."""

    def read(self, key: SnapshotKey) -> str | None:
        """Give a stored text, None where there is none."""
        ...

    def write(self, key: SnapshotKey, text: str) -> None:
        """Store a text, in the place of an older one."""
        ...

    def has_other(self, key: SnapshotKey) -> bool:
        """Tell whether the variant has a text of this name under another content."""
        ...


class MemorySnapshots:
    """Keeps texts for as long as the process lives."""

    def __init__(self) -> None:
        self.texts: dict[SnapshotKey, str] = {}

    def read(self, key: SnapshotKey) -> str | None:
        """Give a stored text, None where there is none."""
        return self.texts.get(key)

    def write(self, key: SnapshotKey, text: str) -> None:
        """Store a text, in the place of an older one."""
        self.texts[key] = text

    def has_other(self, key: SnapshotKey) -> bool:
        """Tell whether the variant has a text of this name under another content."""
        return any(
            (other.variant_id, other.name) == (key.variant_id, key.name) and other != key
            for other in self.texts
        )


class FileSnapshots:
    """Keeps texts as files, for a person to read and to put under version control.

    One lies at `<folder>/<story>/<variant>/<name or "result">.<hash>.txt`; without a folder, in
    `.repl_pair/snapshots` of the project that the process works in.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def read(self, key: SnapshotKey) -> str | None:
        """Give a stored text, None where there is none."""
        path = self.path_of(key)
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def write(self, key: SnapshotKey, text: str) -> None:
        """Store a text, in the place of an older one."""
        path = self.path_of(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Runs of two processes may store at once; each file is whole.
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(path)

    def has_other(self, key: SnapshotKey) -> bool:
        """Tell whether the variant has a text of this name under another content."""
        path = self.path_of(key)
        return any(other != path for other in path.parent.glob(f"{_stem(key)}.*.txt"))

    def path_of(self, key: SnapshotKey) -> Path:
        """Give the file of a key."""
        folder = project_folder() / FOLDER if self._folder is None else self._folder
        digest = key.content_hash.rpartition(":")[2][:16]
        return folder.joinpath(*key.variant_id.split("/"), f"{_stem(key)}.{digest}.txt")


def project_folder() -> Path:
    """Give the nearest folder upwards that is a project's, else the working directory."""
    here = Path.cwd()
    marks = (".repl_pair", "pyproject.toml", ".git")
    return next((d for d in (here, *here.parents) if any((d / m).exists() for m in marks)), here)


def _stem(key: SnapshotKey) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", key.name) or "result"
