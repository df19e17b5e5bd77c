"""The records that registries hold and runs make, and the table of kinds."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.ids import STORY, VARIANT, WORDS, Grammar

Step = list[Any]
"""One line of a play: a list headed by its name, then fixed positions, then at most one mapping."""


@record
class Component:
    """A function or class, looked up again by module and qualified name for each run."""

    module: str
    qualname: str
    registered: Callable[..., Any] = field(compare=False, repr=False)

    def resolve(self) -> Callable[..., Any]:
        """Give today's function or class; the registered one where no name leads to it."""
        if "<" in self.qualname:
            return self.registered
        found: Any = sys.modules.get(self.module)
        for name in self.qualname.split("."):
            found = getattr(found, name, None)
        return found if callable(found) else self.registered

    @classmethod
    def of(cls, fn: Callable[..., Any]) -> "Component":
        """Name a function or class by where it is defined."""
        name = getattr(fn, "__qualname__", type(fn).__qualname__ + "<instance>")
        return cls(module=getattr(fn, "__module__", "") or "", qualname=name, registered=fn)


@record
class Story:
    """A component under its id, with what all its variants share."""

    component: Component
    doc: str = ""
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tags: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    thread_safe: bool = False


@record
class Variant:
    """One named state of a story's component: data only."""

    doc: str = ""
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    play: tuple[Step, ...] = ()
    tags: tuple[str, ...] = ()
    loaders: tuple[str, ...] = ()


@record
class Mode:
    """A saved tuple of args; modes of one axis exclude each other."""

    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    axis: str | None = None
    doc: str = ""


@record
class Tag:
    """A word that variants may carry."""

    doc: str = ""
    axis: str | None = None


@record
class Loader:
    """A function that makes for one run what data cannot hold; a generator also cleans up."""

    component: Component
    doc: str = ""


@record
class Assertion:
    """A named check: `fn(settled, *payload)` gives a Verdict or a bool."""

    component: Component
    doc: str = ""


@record
class Kind:
    """One registry: its name, the grammar of its ids, what its bodies are."""

    name: str
    grammar: Grammar
    body: type

    @property
    def collection(self) -> str:
        """Name the surface member that holds the entries."""
        return f"registry/{self.name}"


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(name="story", grammar=STORY, body=Story),
        Kind(name="variant", grammar=VARIANT, body=Variant),
        Kind(name="mode", grammar=WORDS, body=Mode),
        Kind(name="tag", grammar=WORDS, body=Tag),
        Kind(name="loader", grammar=WORDS, body=Loader),
        Kind(name="assertion", grammar=WORDS, body=Assertion),
    )
}


@record
class Origin:
    """Where a registration came from; two of one `key` are the same place run again."""

    key: str
    label: str
    line: int
    run: Any = field(default=None, compare=False, repr=False)
    """Tells one run of the place from the next."""


@record
class Entry:
    """A registered body with its origin; `revision` is the registry's when it came."""

    kind: str
    id: str
    body: Any
    origin: Origin
    revision: int
    tier: str | None = None


@record
class Verdict:
    """What one assertion found."""

    passed: bool
    expected: Any = None
    actual: Any = None
    reason: str = ""


@record
class Outcome:
    """One assertion of a play with its recorded verdict."""

    assertion: str
    payload: list[Any]
    passed: bool
    expected: Any = None
    actual: Any = None
    reason: str = ""


@record
class PhaseRecord:
    """One phase that was walked; `error` is set where it failed."""

    phase: str
    elapsed_ms: float
    error: Mapping[str, Any] | None = None


@record
class Identity:
    """The snapshot identity: which settled state this is, and which code made it."""

    variant_id: str
    active_modes: tuple[str, ...]
    substrate: str
    content_hash: str
    code_hash: str


@record
class RunRecord:
    """Everything one run made; `status` is `pass`, `fail`, `cannot_run` or `error`.

    `total` counts the assertions: a run without any passes if render ran, and says 0.
    Values are the real ones; `sensitive` names the paths that must not leave the kernel.
    """

    variant_id: str
    status: str
    assertions: tuple[Outcome, ...] = ()
    total: int = 0
    elapsed_ms: float = 0.0
    effective_args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    active_modes: tuple[str, ...] = ()
    identity: Identity | None = None
    result: Any = None
    last: Any = None
    outputs: tuple[Mapping[str, Any], ...] = ()
    phases: tuple[PhaseRecord, ...] = ()
    stdout: str = ""
    stderr: str = ""
    unattributed: str = ""
    """What threads and processes of the run put out, in no order with the rest."""
    warnings: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    reason: str = ""
    still_running: bool = False
    """The run could not be stopped at its deadline; what it makes from then on is dropped."""
    sensitive: tuple[tuple[str, ...], ...] = ()
    asked: Any = None
    """What the caller of an op said for this run: hidden where a secret stands, never learned."""
    revision: int = 0
