"""Reads and writes stored outputs: a file a story, with the images beside it."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from repl_pair.records import record
from repl_pair.runtime.project.whole_files import locked, write_whole
from repl_pair.runtime.snapshots import entry_text, story_text
from repl_pair.runtime.snapshots.places import file_stem, folder_of, story_file
from repl_pair.runtime.snapshots.records import SnapshotKey, Stored, Unreadable


class SnapshotStore:
    """Keeps outputs as files, for a person to read and to put under version control.

    The outputs of a story are at `<folder>/<story>.txt`, their images at `<folder>/<story>/`.
    Without a `folder`, `folder_of` finds one. Reading writes nothing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._known: dict[Path, _Known] = {}

    def find(self, key: SnapshotKey) -> Stored | Unreadable | None:
        """Return what is stored, None where nothing is."""
        path = self.path_of(key)
        story = self.read(path)
        if story.fault is not None:
            return Unreadable(place=f"{shorten(path)}:{story.fault[0]}", what=story.fault[1])
        entry = story.entries.get(key)
        return None if entry is None else _open(path, key, entry)

    def write(self, key: SnapshotKey, given: Stored) -> None:
        """Store an output, in the place of an older one.

        What can't be read in its file stays there, until all of its outputs are stored again.
        """
        path = self.path_of(key)
        images = {_image_path(path, key, name): name for name in given.images}
        with self._changing(path) as entries:
            before = set(_images_of(path, key))
            for image, name in images.items():
                image.parent.mkdir(exist_ok=True)
                write_whole(image, given.images[name])
            digests = {name: _digest(image) for name, image in given.images.items()}
            body = entry_text.Body(text=given.text, about=given.about, images=digests)
            entries[key] = entry_text.write_entry(key, body)
        _remove_files(before - images.keys())

    def remove(self, key: SnapshotKey) -> None:
        """Forget an output, if it is there."""
        path = self.path_of(key)
        if path.is_file():
            with self._changing(path) as entries:
                entries.pop(key, None)
            _remove_files(_images_of(path, key))

    def listed(self) -> Iterator[SnapshotKey]:
        """Return what can be read in a store with a folder."""
        return (key for path in self.files() for key in self.read(path).entries)

    def files(self) -> list[Path]:
        """Return the files of stories in a store with a folder."""
        return [] if self.folder is None else sorted(self.folder.glob("*.txt"))

    def path_of(self, key: SnapshotKey) -> Path:
        """Return the file of a key's story."""
        return story_file(self.folder or folder_of(key.variant_id), key.variant_id)

    def read(self, path: Path) -> story_text.StoryText:
        """Read the file of a story, again only where it is another one; empty without a file."""
        try:
            known = self._known.get(path)
            if known is None or known.state != _state_of(path):
                known = self._note(path, path.read_bytes())
        except FileNotFoundError:
            return story_text.StoryText(entries={})
        except OSError as error:
            return story_text.StoryText(entries={}, fault=(1, str(error)))
        return known.story

    def _note(self, path: Path, content: bytes) -> "_Known":
        before = self._known.get(path)
        story = story_text.read_story(content, {} if before is None else before.story.blocks)
        found = self._known[path] = _Known(state=_state_of(path), content=content, story=story)
        return found

    @contextmanager
    def _changing(self, path: Path) -> Generator[dict[SnapshotKey, entry_text.EntryText]]:
        """Let the outputs of a file be changed, by one process at a time."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent):
            before = path.read_bytes() if path.is_file() else b""
            known = self._known.get(path)
            # A time stamp may be too coarse to tell what another process has just written.
            if known is None or known.content != before:
                known = self._note(path, before) if before else None
            story = story_text.StoryText(entries={}) if known is None else known.story
            entries = dict(story.entries)
            yield entries
            after = story_text.write_story(entries, story)
            if not after:
                path.unlink(missing_ok=True)
            elif after != before:
                write_whole(path, after)
                self._note(path, after)


@record
class _Known:
    """A file as it was read; its `state` tells whether it is still that one."""

    state: tuple[int, ...]
    content: bytes
    story: story_text.StoryText


SNAPSHOTS = SnapshotStore()
"""The stored outputs of this process's variants."""


def shorten(path: Path) -> Path:
    """Return a path as it is seen from the working directory, where it is below that."""
    with suppress(OSError, ValueError):  # the folder may be gone, or elsewhere
        return path.relative_to(Path.cwd())
    return path


def _state_of(path: Path) -> tuple[int, ...]:
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _open(path: Path, key: SnapshotKey, entry: entry_text.EntryText) -> Stored | Unreadable:
    body = entry_text.read_entry(entry)
    images: dict[str, bytes] = {}
    for name, digest in body.images.items():
        file = _image_path(path, key, name)
        images[name] = file.read_bytes() if file.is_file() else b""
        if _digest(images[name]) != digest:
            what = (
                "it is not the image that was stored" if images[name] else "there is no such image"
            )
            return Unreadable(
                place=f"{shorten(path)}:{entry.line}", what=f"{shorten(file)}: {what}"
            )
    return Stored(text=body.text, about=body.about, images=images)


def _image_path(path: Path, key: SnapshotKey, name: str) -> Path:
    return path.with_suffix("") / f"{file_stem(key)}.{name}"


def _images_of(path: Path, key: SnapshotKey) -> list[Path]:
    stem = f"{file_stem(key)}."
    folder = path.with_suffix("")
    return [p for p in folder.iterdir() if p.name.startswith(stem)] if folder.is_dir() else []


def _digest(image: bytes) -> str:
    return sha256(image).hexdigest()[:16]


def _remove_files(files: Iterable[Path]) -> None:
    """Remove files, and their folder where nothing else is in it."""
    for file in files:
        file.unlink(missing_ok=True)
        if not any(file.parent.iterdir()):
            file.parent.rmdir()
