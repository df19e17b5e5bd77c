"""The plan of one run: everything that it will do, resolved before anything runs."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.authoring.stories import GLOBAL_ARGS, GLOBAL_DECORATORS
from repl_pair.runtime.registry.model import Entry, Event, Play, Step, Story, Use, Variant
from repl_pair.runtime.registry.outcomes import Rest, rest_on
from repl_pair.runtime.surface import STORE

SUBSTRATE = "text"


Reached = Mapping[tuple[str, str], Entry | None]
"""Entries by kind and id."""


_GLOBAL = (GLOBAL_ARGS, GLOBAL_DECORATORS)


@record
class PlannedEvent:
    """An event that a run dispatches; `by_agent` where the person did not write it for this."""

    event: Event
    by_agent: bool


@record
class Plan:
    """A resolved variant: `variant` is its body over what it extends, `args` are frozen.

    `plays` are those that run, in order; `dispatched` are the args that go out as events;
    `under` and `overrides` are the args of all that is registered, and those of the caller;
    `written_by_agents` holds the story, modes, variants and decorators that agents registered;
    `reached` holds each entry that the run is known to rest on, None where there is none.
    """

    variant_id: str
    story: Story
    variant: Variant
    component: Callable[..., Any]
    args: Mapping[str, Any]
    dispatched: Mapping[str, Any]
    under: Mapping[str, Any]
    overrides: Mapping[str, Any]
    before_render: tuple[PlannedEvent, ...]
    """What is dispatched before render: the args that are events first."""
    after_loading: tuple[PlannedEvent, ...]
    """What ends the loaders at teardown."""
    plays: tuple[Play, ...]
    plays_by_agent: bool
    decorators: tuple[Use, ...]
    modes: tuple[str, ...]
    tags: tuple[str, ...]
    substrate: str
    reached: Reached
    written_by_agents: tuple[Entry, ...]

    @property
    def rests_on(self) -> tuple[Rest, ...]:
        """What makes a result stale when it changes."""
        cells = [(cell.name, "", STORE.revision(cell.name)) for cell in _GLOBAL]
        return (*cells, *(rest_on(*key, entry) for key, entry in self.reached.items()))

    @property
    def steps(self) -> Iterable[Step]:
        """Every step that runs, in order."""
        return (step for play in self.plays for step in play.steps)

    @property
    def events(self) -> tuple[Event, ...]:
        """What is dispatched before render, whoever wrote it."""
        return tuple(planned.event for planned in self.before_render)
