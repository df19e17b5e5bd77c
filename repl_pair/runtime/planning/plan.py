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
class Plan:
    """A resolved variant: `variant` is its body over what it extends, `args` are frozen.

    `plays` are those that run, in order; `dispatched` are the args that go out as events;
    `reached` holds each entry that the run is known to rest on, None where there is none.
    """

    variant_id: str
    story: Story
    variant: Variant
    component: Callable[..., Any]
    args: Mapping[str, Any]
    dispatched: Mapping[str, Any]
    plays: tuple[Play, ...]
    decorators: tuple[Use, ...]
    modes: tuple[str, ...]
    tags: tuple[str, ...]
    substrate: str
    reached: Reached

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
        """What is dispatched before render: the args that are events first."""
        names = self.variant.args_to_events
        first = [[names[arg], {arg: value}] for arg, value in self.dispatched.items()]
        return (*first, *self.variant.events)
