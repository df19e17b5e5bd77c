"""An estimate of the kernel's clock, so that no request is taken up after its deadline."""

import time
from dataclasses import dataclass, replace

from repl_pair.wire import LATE, Reply, Request


@dataclass(frozen=True, kw_only=True)
class KernelClock:
    """How far the kernel's monotonic clock is ahead of this process's at least, in seconds.

    Never more than it is: so a time in the kernel's clock is never later than was meant here.
    """

    ahead_s: float

    @classmethod
    def of(cls, read_s: float) -> "KernelClock":
        """Make the clock from what the kernel read off its own, just before."""
        return cls(ahead_s=read_s - time.monotonic())

    def corrected(self, read_s: float) -> "KernelClock":
        """Return the closer of two estimates; the further ahead is it, since none is too far."""
        return max(self, KernelClock.of(read_s), key=lambda clock: clock.ahead_s)


def bound_request(
    request: Request, clock: KernelClock | None, until: float, fresh_s: float
) -> Request:
    """Return the request with the times until which it may be taken up and begun.

    `until` is when the caller gives it up, on this clock. Without a clock there is no limit.
    """
    if clock is None:
        return request
    take_by = min(time.monotonic() + fresh_s, until)
    return replace(request, take_by=clock.ahead_s + take_by, begin_by=clock.ahead_s + until)


def was_late(reply: Reply) -> float | None:
    """Return the kernel's clock from the refusal of a request that came too late; else None."""
    return None if reply["ok"] else reply["error"].get("detail", {}).get(LATE)
