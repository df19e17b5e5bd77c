"""The state of one run between its phases, and how what is asynchronous is waited for."""

import inspect
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.captured import Captured
from repl_pair.runtime.effects import Scope
from repl_pair.runtime.model import Event
from repl_pair.runtime.nodes import Ref
from repl_pair.runtime.plan import Plan
from repl_pair.runtime.run_record import Outcome, StepRecord
from repl_pair.runtime.thaw import thaw

Settle = Callable[[Awaitable[Any]], Awaitable[Any]]


@dataclass(kw_only=True, eq=False, repr=False)
class Frame:
    """The state of one run between its phases.

    `live` is what events and steps act on: a class component's instance; a function's loaded args,
    and from render on what it returned. `error` is what was raised and no assertion expected yet.
    """

    plan: Plan
    settle: Settle
    captured: Captured
    scope: Scope = field(default_factory=Scope)
    component: Callable[..., Any] | None = None
    """The component as its decorators wrap it."""
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    live: Any = None
    result: Any = None
    last: Any = None
    error: BaseException | None = None
    raised: BaseException | None = None
    """What was raised last, expected or not."""
    events: list[Event] = field(default_factory=list[Event])
    played: int = 0
    """How many of the events came before the plays."""
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    steps: list[StepRecord] = field(default_factory=list[StepRecord])
    at: tuple[str, int] | None = None
    """The play and step that run now."""
    refusal: str = ""
    around: ExitStack = field(default_factory=ExitStack)
    """The context managers of decorators, left at teardown."""
    undo: list[Callable[[], Any]] = field(default_factory=list[Callable[[], Any]])

    @property
    def is_class(self) -> bool:
        """Tell whether the component is constructed rather than called."""
        return isinstance(self.plan.component, type)

    @property
    def state(self) -> Any:
        """What the story projects of the live object, or that object itself."""
        project = self.plan.story.state
        return self.live if project is None else project.resolve()(self.live)

    async def value_of(self, value: Any) -> Any:
        """Wait for what is asynchronous, and read a generator to its end; pass on the rest."""
        if inspect.isawaitable(value):
            value = await self.settle(value)
        if inspect.isgenerator(value):
            return list(value)
        if inspect.isasyncgen(value):
            return await self.settle(_listed(value))
        return value


async def _listed(items: Any) -> list[Any]:
    return [item async for item in items]


def thaw_data(value: Any, where: str) -> Any:
    """Make fresh values of frozen data that may hold no `ref`."""
    return thaw(value, Any, load=_no_refs, where=where)


def _no_refs(ref: Ref) -> Any:
    raise RequestError("cannot_run", f"ref({ref.loader!r}) stands where only data may.")
