"""An estimate of the kernel's clock, so that no request is taken up after its deadline."""

import time
from dataclasses import replace

from repl_pair.wire import LATE, Reply, Request


def measure_ahead_s(read_s: float) -> float:
    """Return how far the kernel's monotonic clock is ahead of this process's at least.

    `read_s` is what the kernel read off its own just before: the result is never more than it is,
    so a time in the kernel's clock is never later than was meant here. Of several, the largest is
    the closest.
    """
    return read_s - time.monotonic()


def bound_request(request: Request, ahead_s: float | None, until: float, fresh_s: float) -> Request:
    """Return the request with the times until which it may be taken up and begun.

    `until` is when the caller gives it up, on this clock. Without the kernel's there is no limit.
    """
    if ahead_s is None:
        return request
    take_by = min(time.monotonic() + fresh_s, until)
    return replace(request, take_by=ahead_s + take_by, begin_by=ahead_s + until)


def was_late(reply: Reply) -> float | None:
    """Return the kernel's clock from the refusal of a request that came too late; else None."""
    return None if reply["ok"] else reply["error"].get("detail", {}).get(LATE)
