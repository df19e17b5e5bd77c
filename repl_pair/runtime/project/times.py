"""Times as the project keeps them and as they are answered."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=4096)
def write_time(at: float) -> str:
    """Return seconds since the epoch as ISO 8601 in UTC, to the microsecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
