"""Where stored outputs are kept: beside the file that registers a variant, else in the project."""

import importlib.util
import json
import re
from hashlib import sha256
from pathlib import Path

from repl_pair.runtime.project.root import FOLDER, own_root
from repl_pair.runtime.registry.ids import name_run, story_of
from repl_pair.runtime.registry.model import Origin
from repl_pair.runtime.registry.origin import SENT, file_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.snapshots.records import SnapshotKey

BESIDE = f"__{__name__.partition('.')[0]}__"
"""The folder beside files with stories. It has our name: others remove what they don't know."""
LONGEST = 60
"""How many characters of an id or a name are in the name of a file."""
_LONGEST_BYTES = 200  # of 255 that disks take: a digest, an image's name and a draft's end follow


def folder_of(variant_id: str) -> Path:
    """Return the folder for a variant's stored outputs: the same in every process that has it.

    `__repl_pair__/<stem>` beside the file of the module that registers it; of a notebook's or
    an agent's variant, `.repl_pair/snapshots` of the project of this process (`own_root`).
    """
    entry = REGISTRY.find("variant", variant_id)
    file = None if entry is None else _file_of(entry.origin)
    if file is not None:
        return folder_beside(file)
    return own_root() / FOLDER / "snapshots"


def folder_beside(file: Path) -> Path:
    """Return the folder for the stored outputs of a file with stories."""
    return file.parent / BESIDE / file.stem


def story_file(folder: Path, variant_id: str) -> Path:
    """Return the file of a story in such a folder."""
    story = story_of(variant_id)
    # On some disks `Shop` and `shop` are one file; the folder of `a.txt` would be the file of `a`.
    is_plain = story == story.lower() and len(story) <= LONGEST and not story.endswith(".txt")
    return folder / f"{story if is_plain else f'{story[:LONGEST]}~{_digest(story)}'}.txt"


def file_stem(key: SnapshotKey) -> str:
    """Return what the names of a key's own files begin with: to be read, and of no other key."""
    variant = name_run(key.variant_id.partition("/")[2], key.modes)
    readable = re.sub(r"[^\w.-]+", "_", f"{variant} {key.name}").strip("_")[:LONGEST]
    short = readable.encode()[:_LONGEST_BYTES].decode(errors="ignore")
    return f"{short}~{_digest(key.order)}"


def _digest(words: object) -> str:
    return sha256(json.dumps(words).encode()).hexdigest()[:8]


def _file_of(origin: Origin) -> Path | None:
    place, _, module = origin.key.removeprefix(SENT).partition(":")
    if place != "module" or module == "__main__":
        return None
    file = file_of(origin)
    if not file:  # another process has imported it
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            return None
        file = spec.origin if spec is not None and spec.has_location else None
    return None if file is None else Path(file).resolve()
