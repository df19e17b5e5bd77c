"""Which kernel is meant, as data."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class KernelInfo:
    """One kernel as found: `path` is its connection file, `id` that file's stem sans `kernel-`.

    `began` is when its process did, in seconds since the epoch. `front_end` names the program that
    started it. What is not known for certain is None.
    """

    id: str
    name: str
    pid: int | None
    path: str
    notebook: str | None
    alive: bool
    began: float | None = None
    front_end: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON form, without the connection file's place and what is not known."""
        data = asdict(self)
        del data["path"], data["began"]
        return {name: value for name, value in data.items() if value is not None}
