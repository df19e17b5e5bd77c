"""An estimate of the kernel's clock, so that no request is taken up after its deadline."""

import time
from dataclasses import replace

from repl_pair.wire import LATE, Reply, Request


class KernelClock:
    """How far a kernel's monotonic clock is ahead of this process's at least.

    `read_s` is what the kernel read off its own just before: the estimate is never more than it
    is, so a time in the kernel's clock is never later than was meant here. Of several, the largest
    is the closest.
    """

    def __init__(self, read_s: float) -> None:
        self.ahead_s = read_s - time.monotonic()

    def bound(self, request: Request, until: float, fresh_s: float) -> Request:
        """Return the request with the times until which it may be taken up and begun.

        `until` is when the caller gives it up, on this clock.
        """
        take_by = min(time.monotonic() + fresh_s, until)
        return replace(request, take_by=self.ahead_s + take_by, begin_by=self.ahead_s + until)

    def was_late(self, reply: Reply) -> bool:
        """Return whether a request came too late; its refusal corrects the estimate."""
        late_at = None if reply["ok"] else reply["error"].get("detail", {}).get(LATE)
        if late_at is not None:
            self.ahead_s = max(self.ahead_s, late_at - time.monotonic())
        return late_at is not None
