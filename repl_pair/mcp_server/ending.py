"""The signals that end a server in order: it closes its links and ends its workers first."""

import signal


def list_ending_signals() -> list[signal.Signals]:
    """Return them; SIGHUP is none where this process was started to outlive its terminal."""
    ending = [signal.SIGTERM, signal.SIGINT]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ending.append(signal.SIGHUP)  # Windows has none
    return ending
