"""Images among outputs: equal bytes, else equal pixels but for as many as the ini file allows."""

from base64 import b64decode

from repl_pair.pytest_plugin.notebooks.artifacts import Artifacts
from repl_pair.records import record
from repl_pair.runtime.snapshots.images import compare_images


@record
class ImageComparer:
    """Compares the images of one cell, and keeps those that differ."""

    name: str
    artifacts: Artifacts
    tolerance: float

    def compare(self, mime: str, stored: str, now: str) -> str:
        """Return how an image differs from the stored one, or nothing."""
        wanted, found = b64decode(stored), b64decode(now)
        differs = compare_images(wanted, found, tolerance=self.tolerance)
        if differs is None:
            return ""
        kept = {"expected": wanted, "actual": found, "diff": differs.diff}
        places = [self._keep(mime, kind, image) for kind, image in kept.items() if image]
        return "\n".join([differs.words, *(place for place in places if place)])

    def _keep(self, mime: str, kind: str, image: bytes) -> str:
        suffix = "png" if kind == "diff" else mime.rpartition("/")[2]
        return self.artifacts.keep_image(f"{self.name}-{kind}.{suffix}", image)
