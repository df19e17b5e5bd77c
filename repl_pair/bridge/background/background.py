"""What one session keeps running, until it closes."""

from contextlib import AsyncExitStack

from repl_pair.bridge.background.calls import Caller
from repl_pair.bridge.background.runs import Runs
from repl_pair.bridge.background.triggers import Triggers
from repl_pair.bridge.background.workers import Workers


class Background:
    """The runs, triggers and workers of one session, which is the `caller` of its runs."""

    def __init__(self, caller: Caller, workers: Workers) -> None:
        self.caller = caller
        self.runs = Runs(caller)
        self.triggers = Triggers(caller, self.runs)
        self.workers = workers

    async def close(self) -> None:
        """End all of it; what fails to end keeps nothing else running."""
        async with AsyncExitStack() as ending:
            ending.push_async_callback(self.workers.close)
            ending.push_async_callback(self.runs.close)
            ending.push_async_callback(self.triggers.close)
