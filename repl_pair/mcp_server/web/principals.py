"""The agents that come over HTTP, each served while it is in use."""

import logging
from collections.abc import Sequence

from anyio.abc import TaskGroup

from repl_pair.bridge.tokens import Token
from repl_pair.mcp_server.web.principal import Defaults, Principal

_log = logging.getLogger(__name__)


class Principals:
    """The agents that are in use now, by their tokens."""

    def __init__(self, defaults: Defaults, tasks: TaskGroup) -> None:
        self._defaults = defaults
        self._tasks = tasks
        self._serving: dict[Token, Principal] = {}

    def get(self, token: Token) -> Principal:
        """Return the agent of a token; it is made at its first request, and anew if it failed."""
        principal = self._serving.get(token)
        if principal is None or principal.has_ended:
            principal = self._serving[token] = Principal(token, self._defaults)
            self._tasks.start_soon(principal.serve)
        return principal

    def end_unused(self, valid: Sequence[Token]) -> None:
        """End the agents whose tokens are not valid any more, or which are not in use.

        The triggers of an agent end with its last client.
        """
        for token, principal in list(self._serving.items()):
            if not principal.has_clients:
                principal.end_triggers()
            if token not in valid or not principal.is_in_use:
                _log.info("%s is not served any more", token.name)
                del self._serving[token]
                principal.end()

    def end_all(self) -> None:
        """End all agents."""
        self.end_unused(())
