"""What a stored output is: its key, its text and images, and what it was made of."""

from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.registry.ids import name_run

About = Mapping[str, Any]
"""What a stored output was made of, as JSON; see `describe_about`."""

Images = Mapping[str, bytes]


@record
class SnapshotKey:
    """Names one stored output: of a variant in some modes, perhaps with a name of its own.

    The modes are sorted: the order in which a run takes them makes no other key.
    """

    variant_id: str
    modes: tuple[str, ...] = ()
    name: str = ""

    @property
    def label(self) -> str:
        """Name it for a person."""
        run = name_run(self.variant_id, self.modes)
        return f"{run} {self.name!r}" if self.name else run

    @property
    def order(self) -> tuple[Any, ...]:
        """Return what keys are sorted by."""
        return self.variant_id, self.modes, self.name


@record
class Stored:
    """A stored output; `about` is None where what it was made of is not known."""

    text: str
    about: About | None = None
    images: Images = field(default_factory=dict[str, bytes])

    @property
    def digest(self) -> str:
        """Distinguish this output from any other one, by text and images."""
        images = b"".join(b"\0%s\0%s" % (n.encode(), i) for n, i in sorted(self.images.items()))
        return sha256(self.text.encode(errors="surrogatepass") + images).hexdigest()[:16]


@record
class Unreadable:
    """Stands for a stored output that is there and cannot be read; `place` is its file and line."""

    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place} can't be read: {self.what}"
