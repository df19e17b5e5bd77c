"""The plan of one run: everything that it will do, resolved before anything runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypedDict

from repl_pair.records import record
from repl_pair.runtime.authoring.shared import SETTINGS
from repl_pair.runtime.planning.bound_names import bound_at
from repl_pair.runtime.planning.identity import (
    UNKNOWN,
    Code,
    content_hash,
    edited_file,
    read_code,
)
from repl_pair.runtime.registry.model import (
    Decorator,
    Entry,
    Event,
    Function,
    Play,
    Step,
    Story,
    Use,
    Variant,
    effect_answered,
)
from repl_pair.runtime.registry.origin import BUILTIN
from repl_pair.runtime.registry.outcomes import Dependency, Identity, dependency_on
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.entries import secret_steps, slots_of
from repl_pair.runtime.secrets.modes import mode_secret_paths
from repl_pair.runtime.secrets.places import (
    answers_secret,
    leads_to_declared,
    secret_args,
    secret_event,
    takers_of,
)
from repl_pair.runtime.store import STORE
from repl_pair.runtime.values.classes import find_class, is_installed, root_of
from repl_pair.runtime.values.frozen import EnumMember, Record, nodes_in, with_secrets
from repl_pair.runtime.values.paths import Place
from repl_pair.runtime.values.takes import classes_in, takes_of

SUBSTRATE = "text"


class Beside(TypedDict):
    """What a code hash takes beside functions."""

    named: Mapping[str, Callable[..., Any]]
    classes: Sequence[type[Any]]


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
    what_if: tuple[str, ...]
    """What of the call makes it another than the variant as registered: overrides, modes, …"""
    reached: Mapping[tuple[str, str], Entry | None]
    written_by_agents: tuple[Entry, ...]
    sent: tuple[Any, ...]
    """What the caller sent for it: overrides, and bodies that it registered."""
    by_others: tuple[Entry, ...]
    """Of `written_by_agents`, what other agents than the caller registered."""

    @cached_property
    def sent_by_others(self) -> tuple[Any, ...]:
        """The bodies that other agents registered, as data."""
        return tuple(slots_of(entry.body) for entry in self.by_others)

    @property
    def dependencies(self) -> tuple[Dependency, ...]:
        """What makes a result stale when it changes."""
        cells = [(name, "", STORE.revision(name)) for name in SETTINGS]
        return (*cells, *(dependency_on(*key, entry) for key, entry in self.reached.items()))

    @property
    def all_args(self) -> dict[str, Any]:
        """The args that the component takes, and those that go out as events."""
        return {**self.args, **self.dispatched}

    @property
    def steps(self) -> Iterable[Step]:
        """Every step that runs, in order."""
        return (step for play in self.plays for step in play.steps)

    @property
    def events(self) -> tuple[Event, ...]:
        """What is dispatched before render, whoever wrote it."""
        return tuple(planned.event for planned in self.before_render)

    @cached_property
    def identity(self) -> Identity:
        """The snapshot identity as of its first reading; nothing runs."""
        return Identity(
            variant_id=self.variant_id,
            active_modes=self.modes,
            substrate=self.substrate,
            content_hash=content_hash(self.slots),
            code_hash=self._code[0].hash,
        )

    @property
    def bound(self) -> Mapping[str, int]:
        """What `bound_at` gave of each name that the code reads of a notebook, as of `identity`."""
        return self._code[1]

    @cached_property
    def _code(self) -> tuple[Code, Mapping[str, int]]:
        code = read_code(self._functions(), **self._beside())
        return code, {name: bound_at(name) for name in code.names}

    @property
    def edited_file(self) -> str:
        """The file of which other code is loaded than stands in it now; "" where it is the same."""
        if self.identity.code_hash != UNKNOWN:
            return ""
        return edited_file(self._functions(), **self._beside())

    @cached_property
    def secret_places(self) -> tuple[Place, ...]:
        """The places in the args that hold a secret, by hints, by Secrets, or by a mode."""
        places = [*secret_args(self.component, self.args), *mode_secret_paths(self.modes)]
        return tuple(dict.fromkeys(places))

    @property
    def slots(self) -> Mapping[str, Any]:
        """What the content hash is made of, by slot; what is shown as a secret is a Secret."""
        body = self.variant
        return {
            "variant": self.variant_id,
            "component": self.story.component.qualname,
            "args": self.args,
            "events": self._settled_events(self.events),
            "plays": [[play.name, self._settled_steps(play)] for play in self.plays],
            "loaders": list(body.loaders),
            "loaders_complete_when": body.loaders_complete_when,
            "loaders_teardown": self._settled_events(body.loaders_teardown),
            "decorators": [self._settled_use(use) for use in self.decorators],
            "tags": sorted(self.tags),
            "modes": list(self.modes),
            "substrate": self.substrate,
        }

    @cached_property
    def _takers(self) -> Sequence[Callable[..., Any]]:
        return takers_of(self.component)

    def _settled_events(self, events: Iterable[Event]) -> list[Any]:
        return [with_secrets(event, secret_event(self._takers, event)) for event in events]

    def _settled_steps(self, play: Play) -> Any:
        steps = list(play.steps)
        places = secret_steps(self.component, self.story, steps, self.secret_places)
        return with_secrets(steps, places)

    def _settled_use(self, use: Use) -> list[Any]:
        """Return a decorator as it counts for what a run settles to: with the data of its body."""
        entry = self.reached[("decorator", str(use[0]))]
        if entry is None:
            return list(use)
        body: Decorator = entry.body
        id, args = use
        patched = [(path,) for path in body.patch if leads_to_declared(self._takers, path)]
        if is_secret := answers_secret(effect_answered(body, args)):
            args = with_secrets(args, [(name,) for name in args if name.startswith("response")])
        return [
            *(id, args, body.kind),
            *map(self._settled_events, (body.init, body.teardown)),
            with_secrets(dict(body.patch), patched),
            body.effect,
            with_secrets(list(body.responses), [("*",)] if is_secret else []),
            body.repeats,
        ]

    def _functions(self) -> list[Callable[..., Any]]:
        """Return the component and the functions that a run reaches, but no built-in one."""
        bodies = [e.body for e in self.reached.values() if e and e.origin.key != BUILTIN]
        parts = [body.component for body in bodies if isinstance(body, Function)]
        parts += [body.wrap for body in bodies if isinstance(body, Decorator) and body.wrap]
        parts += [self.story.state] if self.story.state else []
        return [self.component, *(part.resolve() for part in parts)]

    def _beside(self) -> Beside:
        """Return what else its code reaches: effects, and the project's classes of its data."""
        data = [self.all_args, list(self.events), list(map(list, self.steps))]
        types = {node.type for node in nodes_in(data) if type(node) in (Record, EnumMember)}
        found = filter(None, map(find_class, sorted(types, key=str)))
        classes = [cls for cls in found if not is_installed(root_of(cls))]
        hints = takes_of(self.component).read  # of these args are frozen as plain mappings
        classes += classes_in(hints[name] for name in self.args if name in hints)
        return {"named": self._effects(), "classes": classes}

    def _effects(self) -> Mapping[str, Callable[..., Any]]:
        """Return the functions of the effects that no decorator answers for, by the effect's id."""
        setups = [(self.reached[("decorator", str(use[0]))], use) for use in self.decorators]
        answered = {effect_answered(entry.body, use[1]) for entry, use in setups if entry}
        entries = REGISTRY.snapshot("effect")
        return {id: e.body.component.resolve() for id, e in entries.items() if id not in answered}
