"""The state of one run between its phases, and how what is asynchronous is waited for."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import mutable
from repl_pair.runtime.authoring.decorator_uses import Used
from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.registry.model import Event
from repl_pair.runtime.registry.outcomes import Outcome, StepRecord
from repl_pair.runtime.running.effects import Scope
from repl_pair.runtime.stopping.loops import WaitFor

TeardownStep = Callable[[], Any]
"""Undoes one thing; called again where a stop cut it short, it only does what is left."""

MOST_ITEMS = 1_000_000
"""How many items a generator may give."""


@mutable
class Frame:
    """The state of one run between its phases.

    `live` is what events and steps act on: a class component's instance; a function's loaded args,
    and once it was called what it returned, with containers of their own where a play changes them.
    `error` is what was raised and no assertion expected yet.
    """

    plan: Plan
    wait_for: WaitFor
    captured: Captured
    scope: Scope = field(default_factory=Scope)
    component: Callable[..., Any] | None = None
    """The component as its decorators wrap it."""
    uses: Sequence[Used] = ()
    """The decorators, from the outermost in."""
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    secret_results: tuple[tuple[str, ...], ...] | None = None
    """The secret places in what a function component gives, once they were asked for."""
    live: Any = None
    result: Any = None
    last: Any = None
    gave: Sequence[tuple[str, ...]] = ()
    """The secret places in what a handler or method gave."""
    last_secrets: Sequence[tuple[str, ...]] = ()
    """The secret places in `last`."""
    is_made: bool = False
    """The component was called, and gave something."""
    error: BaseException | None = None
    raised: BaseException | None = None
    """What was raised last, expected or not."""
    events: list[Event] = field(default_factory=list[Event])
    played: int = 0
    """How many of the events came before the plays."""
    took: dict[str, float] = field(default_factory=dict[str, float])
    """Milliseconds that each phase took."""
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    steps: list[StepRecord] = field(default_factory=list[StepRecord])
    rendered_state: Any = None
    """The state before the first step that acts."""
    left_state: Any = None
    """The state before teardown."""
    doing: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What runs now, in the words of a failure: its play and step, event or loader."""
    erred_in: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What ran when `error` was raised."""
    refusal: str = ""
    failure: BaseException | None = None
    """What ended the run before teardown."""
    failed_in: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What ran when `failure` was raised."""
    sensitive: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    undo: list[TeardownStep] = field(default_factory=list[TeardownStep])
    loaded: int = 0
    """How many undos there were before those of loading were complete."""

    @property
    def is_class(self) -> bool:
        """Return whether the component is constructed rather than called."""
        return isinstance(self.plan.component, type)

    @property
    def state(self) -> Any:
        """What the story projects of the live object, or that object itself.

        A projection is not asked before the component was called.
        """
        project = self.plan.story.state
        return self.live if project is None or not self.is_made else project.resolve()(self.live)

    def keep(self, error: BaseException) -> None:
        """Keep what was raised for the next step to expect."""
        self.error = self.raised = error
        self.erred_in = self.doing

    async def value_of(self, value: Any) -> Any:
        """Wait for what is asynchronous, and read a generator to its end; pass on the rest."""
        if inspect.isawaitable(value):
            value = await self.wait_for(value)
        if inspect.isgenerator(value):
            items: list[Any] = list(islice(value, MOST_ITEMS + 1))
            value.close()
        elif inspect.isasyncgen(value):
            items = await self.wait_for(_listed(value))
        else:
            return value
        if len(items) <= MOST_ITEMS:
            return items
        raise RequestError(
            "cannot_run",
            f"A generator gave over {MOST_ITEMS:,} items, and all that it gives is read: "
            "let the component give fewer, or a value that holds the generator.",
        )


async def _listed(items: Any) -> list[Any]:
    found: list[Any] = []
    async for item in items:
        found.append(item)
        if len(found) > MOST_ITEMS:
            await items.aclose()
            break
    return found
