"""The life of this process: its name, and the calls that were taken in it."""

import uuid

from repl_pair.errors import RequestError

REMEMBERED_CALLS = 10_000


class Life:
    """What outlives every attach and detach; see `LIFE`."""

    def __init__(self) -> None:
        self.boot = uuid.uuid4().hex
        self._taken: dict[str, None] = {}

    def check(self, call_id: str) -> None:
        """Refuse a call that came before: no call runs twice."""
        if call_id in self._taken:
            raise RequestError("bad_arguments", f"Call {call_id} came twice; it ran once.")

    def take(self, call_id: str) -> None:
        """Remember a call, and forget the oldest of more than 10,000."""
        self._taken[call_id] = None
        if len(self._taken) > REMEMBERED_CALLS:
            del self._taken[next(iter(self._taken))]


LIFE = Life()
"""The life of this process."""
