"""Where stored outputs are kept: beside the file that registers a variant, else in the project."""

import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.registry.origin import SENT
from repl_pair.runtime.registry.registry import REGISTRY

BESIDE = "__snapshots__"
FOLDER = ".repl_pair/snapshots"


def folder_of(variant_id: str) -> Path:
    """Return the folder for a variant's stored outputs: the same in every process that has it.

    `__snapshots__/<stem>` beside the file of the module that registers it; of a notebook's or
    an agent's variant, `.repl_pair/snapshots` of the project that the process works in.
    """
    entry = REGISTRY.find("variant", variant_id)
    file = None if entry is None else _file_of(entry.origin.key.removeprefix(SENT))
    if file is not None:
        return folder_beside(file)
    # The nearest folder upwards that is a project's, else the working directory.
    here, marks = Path.cwd(), (".repl_pair", "pyproject.toml", ".git")
    projects = (d for d in (here, *here.parents) if any((d / mark).exists() for mark in marks))
    return next(projects, here) / FOLDER


def folder_beside(file: Path) -> Path:
    """Return the folder for the stored outputs of a file with stories."""
    return file.parent / BESIDE / file.stem


def _file_of(origin: str) -> Path | None:
    place, _, module = origin.partition(":")
    if place != "module" or module == "__main__":
        return None
    file = getattr(sys.modules.get(module), "__file__", None)
    if not file:  # another process has imported it
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            return None
        file = spec.origin if spec is not None and spec.has_location else None
    return None if file is None else Path(file).resolve()


@record
class SnapshotKey:
    """Names one stored output: of a variant with one content, perhaps with a name of its own."""

    variant_id: str
    content_hash: str
    name: str = ""


About = Mapping[str, Any]
"""What the identity of a stored output was made of, as JSON; see `snapshot_about`."""

Images = Mapping[str, bytes]


@record
class Stored:
    """A stored output; `about` is None where nothing that can be read was kept beside the text."""

    text: str
    about: About | None = None
    images: Images = field(default_factory=dict[str, bytes])

    @property
    def digest(self) -> str:
        """Distinguish this output from any other one, by text and images."""
        images = b"".join(b"\0%s\0%s" % (n.encode(), i) for n, i in self.images.items())
        return sha256(self.text.encode() + images).hexdigest()[:16]


class SnapshotStore:
    """Keeps outputs as files, for a person to read and to put under version control.

    One lies at `<folder>/<story>/<variant>/<name or "result">.<hash>.txt`; beside it are its images
    and, as `.json`, what its identity was made of. Without a `folder`, `folder_of` finds one.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def find(self, key: SnapshotKey) -> Stored | None:
        """Return a stored text with what is kept beside it, None where there is none."""
        return _read_stored(self.path_of(key))

    def find_other(self, key: SnapshotKey, about: About | None = None) -> Stored | None:
        """Return what is stored of this variant and name under another content, nearest and latest.

        With `about`, what is known to be of other modes or another substrate is not considered.
        """
        path = self.path_of(key)
        others = set(path.parent.glob(f"{stem_of(key.name)}.*.txt")) - {path}
        latest_last = sorted(others, key=lambda path: (path.stat().st_mtime_ns, path.name))
        fitting = [
            (_count_other(stored.about, about, about["slots"] if about else ()), stored)
            for other in reversed(latest_last)
            if (stored := _read_stored(other))
            and not _count_other(stored.about, about, ("modes", "substrate"))
        ]
        return min(fitting, key=lambda pair: pair[0], default=(0, None))[1]

    def write(self, key: SnapshotKey, given: Stored) -> None:
        """Store an output, in the place of an older one."""
        path = self.path_of(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        for other in set(_files_beside(path)) - {_image_path(path, name) for name in given.images}:
            other.unlink(missing_ok=True)
        for name, image in given.images.items():
            put_whole(_image_path(path, name), image)
        if given.about is not None:
            text = json.dumps(given.about, indent=1, sort_keys=True) + "\n"
            put_whole(path.with_suffix(".json"), text.encode())
        put_whole(path, given.text.encode())

    def remove(self, key: SnapshotKey) -> None:
        """Forget an output, if it is there."""
        remove_stored(self.path_of(key))

    def path_of(self, key: SnapshotKey) -> Path:
        """Return the file of a key."""
        folder = folder_of(key.variant_id) if self.folder is None else self.folder
        digest = key.content_hash.rpartition(":")[2][:16]
        return folder.joinpath(*key.variant_id.split("/"), f"{stem_of(key.name)}.{digest}.txt")


SNAPSHOTS = SnapshotStore()
"""The stored outputs of this process's variants."""


def _read_stored(path: Path) -> Stored | None:
    if not path.is_file():
        return None
    file, head = path.with_suffix(".json"), len(path.stem) + 1
    images = {one.name[head:]: one.read_bytes() for one in _files_beside(path) if one != file}
    try:
        about = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    except ValueError:
        about = None
    return Stored(text=path.read_text(encoding="utf-8"), about=about, images=images)


def remove_stored(path: Path) -> None:
    """Remove a text's file and those beside it."""
    for one in (path, *_files_beside(path)):
        one.unlink(missing_ok=True)


def put_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    # Runs of two processes may store at once.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)


def _files_beside(path: Path) -> list[Path]:
    return sorted(one for one in path.parent.glob(f"{path.stem}.*") if one != path)


def _count_other(one: About | None, other: About | None, slots: Iterable[str]) -> int:
    if one is None or other is None:
        return 0
    pairs = ((one["slots"].get(slot, {}), other["slots"].get(slot, {})) for slot in slots)
    return sum(before.get("hash") != after.get("hash") for before, after in pairs)


def stem_of(name: str) -> str:
    """Return what the files of a snapshot's name begin with."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name) or "result"


def _image_path(path: Path, name: str) -> Path:
    return path.with_name(f"{path.stem}.{name}")
