"""What one session keeps running, until it closes."""

from repl_pair.bridge.background.calls import Caller
from repl_pair.bridge.background.runs import Runs
from repl_pair.bridge.background.triggers import Triggers


class Background:
    """The runs and triggers of one session, which is their `caller`."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.runs = Runs(caller)
        self.triggers = Triggers(caller, self.runs)

    async def close(self) -> None:
        """End all of it."""
        await self.triggers.close()
        await self.runs.close()
