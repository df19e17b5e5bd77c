"""Reads and writes stored outputs: a file a story, with the images beside it."""

from collections.abc import Generator, Iterable, Iterator, Mapping
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

    The outputs of a story are at `<folder>/<story>.txt`, their images at `<folder>/<story>/`, with
    their digests in their names: no image that a text names is overwritten by another one.
    Without a `folder`, `folder_of` finds one. Reading writes nothing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._known: dict[Path, _Known] = {}

    def find(self, key: SnapshotKey) -> Stored | Unreadable | None:
        """Return what is stored, None where nothing is."""
        path = self.path_of(key)
        while True:
            story = self.read(path)
            if story.fault is not None:
                return Unreadable(place=f"{shorten(path)}:{story.fault[0]}", what=story.fault[1])
            entry = story.entries.get(key)
            found = None if entry is None else _open(path, key, entry)
            if not isinstance(found, Unreadable) or not self._is_replaced(path):
                return found

    def write(self, key: SnapshotKey, given: Stored) -> None:
        """Store an output, in the place of an older one.

        What can't be read in its file stays there, until all of its outputs are stored again.
        """
        path = self.path_of(key)
        digests = {name: _digest(image) for name, image in given.images.items()}
        body = entry_text.Body(text=given.text, about=given.about, images=digests)
        with self._changing(path, key) as entries:
            for file, name in _image_paths(path, key, digests).items():
                file.parent.mkdir(exist_ok=True)
                write_whole(file, given.images[name])
            entries[key] = entry_text.write_entry(key, body)

    def remove(self, key: SnapshotKey) -> None:
        """Forget an output, if it is there."""
        path = self.path_of(key)
        if path.is_file():
            with self._changing(path, key) as entries:
                entries.pop(key, None)

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
                state = _state_of(path)  # before the content, which may be replaced meanwhile
                known = self._note(path, path.read_bytes(), state)
        except FileNotFoundError:
            return story_text.StoryText(entries={})
        except OSError as error:
            return story_text.StoryText(entries={}, fault=(1, str(error)))
        return known.story

    def _is_replaced(self, path: Path) -> bool:
        """Return whether a file is no longer as it was read last; it is read again."""
        known = self._known.pop(path, None)
        self.read(path)
        now = self._known.get(path)
        return known is None or now is None or known.content != now.content

    def _note(self, path: Path, content: bytes, state: tuple[int, ...]) -> "_Known":
        before = self._known.get(path)
        story = story_text.read_story(content, {} if before is None else before.story.blocks)
        found = self._known[path] = _Known(state=state, content=content, story=story)
        return found

    @contextmanager
    def _changing(
        self, path: Path, key: SnapshotKey
    ) -> Generator[dict[SnapshotKey, entry_text.EntryText]]:
        """Let one output of a file be changed, by one process at a time: whole, or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent):
            before = path.read_bytes() if path.is_file() else b""
            story, images = self._read_again(path, before), _images_of(path, key)
            entries = dict(story.entries)
            try:
                yield entries
                self._replace(path, before, story_text.write_story(entries, story))
            except BaseException:
                _remove_files(_images_of(path, key) - images)
                raise
            kept = entry_text.read_entry(entries[key]).images if key in entries else None
            _remove_files(_images_of(path, key) - _image_paths(path, key, kept or {}).keys())

    def _read_again(self, path: Path, content: bytes) -> story_text.StoryText:
        """Read a file's content: a time stamp may be too coarse to tell what was just written."""
        known = self._known.get(path)
        if known is None or known.content != content:
            known = self._note(path, content, _state_of(path)) if content else None
        return story_text.StoryText(entries={}) if known is None else known.story

    def _replace(self, path: Path, before: bytes, after: bytes) -> None:
        if not after:
            path.unlink(missing_ok=True)
        elif after != before:
            write_whole(path, after)
            self._note(path, after, _state_of(path))


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
        file, images[name] = _read_image(path, key, name, digest)
        if _digest(images[name]) != digest:
            what = (
                "it is not the image that was stored" if images[name] else "there is no such image"
            )
            return Unreadable(
                place=f"{shorten(path)}:{entry.line}", what=f"{shorten(file)}: {what}"
            )
    return Stored(text=body.text, about=body.about, images=images)


def _image_paths(path: Path, key: SnapshotKey, digests: Mapping[str, str]) -> dict[Path, str]:
    """Return the names of an output's images by their files."""
    stem = path.with_suffix("") / file_stem(key)
    return {stem.with_name(f"{stem.name}.{digests[name]}.{name}"): name for name in digests}


def _read_image(path: Path, key: SnapshotKey, name: str, digest: str) -> tuple[Path, bytes]:
    """Return the file of an image and what it holds, nothing where it is gone.

    One that an earlier version stored has no digest in its name.
    """
    (file,) = _image_paths(path, key, {name: digest})
    plain = file.with_name(f"{file_stem(key)}.{name}")
    file = plain if plain.is_file() and not file.is_file() else file
    with suppress(FileNotFoundError):
        return file, file.read_bytes()
    return file, b""


def _images_of(path: Path, key: SnapshotKey) -> set[Path]:
    stem, folder = f"{file_stem(key)}.", path.with_suffix("")
    return {p for p in folder.iterdir() if p.name.startswith(stem)} if folder.is_dir() else set()


def _digest(image: bytes) -> str:
    return sha256(image).hexdigest()[:16]


def _remove_files(files: Iterable[Path]) -> None:
    """Remove files, and their folder where nothing else is in it."""
    for file in files:
        file.unlink(missing_ok=True)
        if not any(file.parent.iterdir()):
            file.parent.rmdir()
