"""The state of one run between its phases, and how what is asynchronous is waited for."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import islice
from types import AsyncGeneratorType, GeneratorType
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import mutable
from repl_pair.runtime.authoring.decorator_uses import Used
from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.registry.model import Event
from repl_pair.runtime.registry.outcomes import Outcome, PhaseRecord, StepRecord
from repl_pair.runtime.running.effects import Scope
from repl_pair.runtime.secrets.places import secret_names, secret_patches, secret_results
from repl_pair.runtime.secrets.raised import learn_from_raised
from repl_pair.runtime.stopping.loops import WaitFor
from repl_pair.runtime.values.classes import is_awaitable, is_exactly
from repl_pair.runtime.values.paths import Place

TeardownStep = Callable[[], Any]
"""Undoes one thing; called again where a stop cut it short, it only does what is left."""

MAX_ITEMS = 1_000_000
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
    thread: int = field(default_factory=threading.get_ident)
    """The thread that walks the phases."""
    component: Callable[..., Any] | None = None
    """The component as its decorators wrap it."""
    uses: Sequence[Used] = ()
    """The decorators, from the outermost in."""
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    live: Any = None
    result: Any = None
    last: Any = None
    gave: Sequence[Place] = ()
    """The secret places in what a handler or method gave."""
    last_secrets: Sequence[Place] = ()
    """The secret places in `last`."""
    is_made: bool = False
    """The component was called, and gave something."""
    error: BaseException | None = None
    raised: BaseException | None = None
    """What was raised last, expected or not."""
    events: list[Event] = field(default_factory=list[Event])
    played: int = 0
    """How many of the events came before the plays."""
    phases: list[PhaseRecord] = field(default_factory=list[PhaseRecord])
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    steps: list[StepRecord] = field(default_factory=list[StepRecord])
    rendered_state: Any = None
    """The state before the first step that acts."""
    left_state: Any = None
    """The state before teardown."""
    phase: str = ""
    """The phase that is walked."""
    doing: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What runs now, in the words of a failure: its play and step, event or loader."""
    erred_in: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What ran when `error` was raised."""
    refusal: str = ""
    failure: BaseException | None = None
    """What ended the run before teardown."""
    failed_in: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What ran when `failure` was raised."""
    sensitive: list[Place] = field(default_factory=list[Place])
    """What is known as secret by what came of it, beside what is declared."""
    undo: list[TeardownStep] = field(default_factory=list[TeardownStep])
    loaded: int = 0
    """How many undos there were before those of loading were complete."""

    @property
    def is_class(self) -> bool:
        """Return whether the component is constructed rather than called."""
        return isinstance(self.plan.component, type)

    @cached_property
    def given_secrets(self) -> Sequence[Place]:
        """The declared places in what a function component gives; a class has them itself."""
        return () if self.is_class else secret_results(self.plan.component)

    @property
    def state(self) -> Any:
        """What the story projects of the live object once it was made, else that object itself."""
        project = self.plan.story.state
        return self.live if project is None or not self.is_made else project.resolve()(self.live)

    def secret_places(self) -> tuple[Place, ...]:
        """Return the secret places in a run: the declared ones, and those that came of it."""
        plan = self.plan
        patches = [path for used in self.uses for path in used.body.patch]
        patched = secret_patches(plan.component, patches) if patches else []
        roots = ("result", "last", "state") if self.is_class else ("args",)
        args = [*plan.secret_places, *secret_names(plan.component, self.args)]
        found = [("args", *place) for place in args]
        found += [(root, *place) for root in roots for place in patched]
        found += [("effects", *at) for at in self.scope.secrets()]
        # What those declare who gave result, last and state.
        result, project = self.given_secrets, plan.story.state
        state = result if project is None else secret_results(project.resolve())
        given = {"result": result, "last": self.last_secrets}
        given |= {"state": state, "rendered_state": state}
        found += [(root, *place) for root, some in given.items() for place in some]
        found += [("outputs",)] if result and self.captured.bundles() else []
        found += [("steps", "*", "state", *place) for place in state]
        return tuple(dict.fromkeys((*found, *self.sensitive)))

    def keep(self, error: BaseException) -> None:
        """Keep what was raised for the next step to expect."""
        learn_from_raised(error)
        self.error = self.raised = error
        self.erred_in = self.doing

    def forget_raised(self) -> None:
        """Forget what was raised: its traceback leads back here, and to what each call held."""
        self.error = self.raised = self.failure = self.scope.fault = None

    async def value_of(self, value: Any) -> Any:
        """Wait for what is asynchronous, and read a generator to its end; pass on the rest.

        `cannot_run` for a generator of too many items.
        """
        if is_awaitable(value):
            value = await self.wait_for(value)
        if is_exactly(value, GeneratorType):
            items: list[Any] = list(islice(value, MAX_ITEMS + 1))
            value.close()
        elif is_exactly(value, AsyncGeneratorType):
            items = await self.wait_for(_listed(value))
        else:
            return value
        if len(items) <= MAX_ITEMS:
            return items
        raise RequestError(
            "cannot_run",
            f"A generator gave over {MAX_ITEMS:,} items, and all that it gives is read: "
            "let the component give fewer, or a value that holds the generator.",
        )


async def _listed(items: Any) -> list[Any]:
    found: list[Any] = []
    async for item in items:
        found.append(item)
        if len(found) > MAX_ITEMS:
            await items.aclose()
            break
    return found
