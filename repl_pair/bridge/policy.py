"""What a caller may list and call: one policy decides both."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from repl_pair.bridge.manifest import APPROVAL
from repl_pair.errors import RequestError, did_you_mean
from repl_pair.wire import MUTATES, View

Descriptor: TypeAlias = Mapping[str, Any]
Decision: TypeAlias = Literal["allow", "ask", "deny"]

OPEN: frozenset[str] = frozenset({"read", "run"})
"""Access that is always allowed."""
GATED: tuple[str, ...] = ("inspect", "write", "eval")
"""Access that the person has to open by name."""
NAMED = (*GATED, MUTATES)
"""Access that may be named: what is not GATED is open, and asks where it is named in `ask`."""
DEFAULT_TOOLSETS: frozenset[str] = frozenset({"core", "kernel", "values"})
TOOLSETS_OF_GATES: Mapping[str, str] = {"write": "write", "eval": "eval"}
"""The toolset that is listed where a gate is open or asks."""


def parse_words(text: str, kind: str, known: Collection[str]) -> frozenset[str]:
    """Read words between commas; `bad_arguments` for one that is not known."""
    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    for word in sorted(words.difference(known)):
        near = did_you_mean(word, known)
        raise RequestError(
            "bad_arguments", f"No {kind} {word!r}; it may be any of {', '.join(known)}.{near}"
        )
    return words


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What the person opened; a gate in `ask` is closed until the person answers.

    `toolsets` are listed in addition to the default ones and to those of the gates. They affect
    lists only: an op that `resolve` allows can be called without being listed. `allow` of `eval`
    allows `write` too. `without` are ops that there are not, such as one that makes no sense where
    the server listens.
    """

    allow: frozenset[str] = frozenset()
    ask: frozenset[str] = frozenset()
    toolsets: frozenset[str] = frozenset()
    tier: str | None = None
    expose_all: bool = False
    without: frozenset[str] = frozenset()
    revision: int = 0

    def view(self, principal: str = "agent") -> View:
        """Return what the kernel filters a request by; gates in `ask` are left out."""
        granted = (access for access in (*OPEN, *NAMED) if self.decide(access) == "allow")
        return View(
            principal=principal,
            tier=self.tier,
            access=frozenset(granted),
            policy=self.revision,
            expose_all=self.expose_all,
        )

    def closed_hints(self) -> list[str]:
        """Return what to ask the person for; the same for every op that is not there."""
        closed = [access for access in GATED if self.decide(access) == "deny"]
        if not closed:
            return []
        ask = f"Ask the person whether to open one, as with `--allow {closed[0]}`."
        return [f"Closed here: {', '.join(closed)}. {ask}"]

    @cached_property
    def with_gates_closed(self) -> "Policy":
        """The same policy with every gate closed; what is open still asks where it did."""
        return replace(self, allow=frozenset(), ask=self.ask.difference(GATED))

    def resolve(self, descriptor: Descriptor) -> Decision:
        """Decide over one op, for a list as for a call."""
        name = str(descriptor.get("name", "_"))
        if name.startswith("_") or name in self.without or descriptor.get("internal"):
            return "deny"
        return self.decide(descriptor.get("access"))

    def is_for_run_op(self, descriptor: Descriptor) -> bool:
        """Return whether run_op may call an op: no gate that the person opened decides over it."""
        return self.resolve(descriptor) == self.with_gates_closed.resolve(descriptor)

    def permitted(self, descriptors: Iterable[Descriptor]) -> list[Descriptor]:
        """Return the ops that are not denied."""
        return [d for d in descriptors if self.resolve(d) != "deny"]

    def resolve_parameter(self, descriptor: Descriptor, name: str) -> Decision:
        """Decide over one parameter of an op that is not denied."""
        needs: Mapping[str, str] = descriptor.get("needs", {})
        return self.decide(needs[name]) if name in needs else "allow"

    def gates_to_ask(self, descriptor: Descriptor, args: Collection[str]) -> str:
        """Name the gates that the person has to open for a call; empty where there are none."""
        gates = {descriptor["access"]} if self.resolve(descriptor) == "ask" else set[str]()
        for name in args:
            if self.resolve_parameter(descriptor, name) == "ask":
                gates.add(descriptor["needs"][name])
        return ", ".join(sorted(gates))

    def asks_for(self, access: Iterable[str]) -> bool:
        """Return whether the person decides, call by call, over all of this access."""
        return all(self.decide(one) == "ask" for one in access)

    def visible_parameters(self, descriptor: Descriptor) -> Mapping[str, Any]:
        """Return the input schema without the parameters that are denied."""
        schema: Mapping[str, Any] = descriptor["input_schema"]
        shown = {
            name: part
            for name, part in schema.get("properties", {}).items()
            if self.resolve_parameter(descriptor, name) != "deny"
        }
        return {**schema, "properties": shown}

    def lists(self, descriptor: Descriptor) -> bool:
        """Return whether an op is listed: it is not denied, and its toolset is on.

        Ops that read approvals are listed where a gate asks.
        """
        is_listed = descriptor.get("toolset") in self.listed_toolsets
        return is_listed and self.resolve(descriptor) != "deny"

    @cached_property
    def listed_toolsets(self) -> frozenset[str]:
        """The toolsets that are on: the default ones, those asked for, and those of the gates."""
        gates = TOOLSETS_OF_GATES.items()
        opened = {toolset for access, toolset in gates if self.decide(access) != "deny"}
        asking = {APPROVAL} if self.ask else set[str]()
        return DEFAULT_TOOLSETS | self.toolsets | opened | asking

    def decide(self, access: str | None) -> Decision:
        """Decide over one access."""
        if access in OPEN:
            return "allow"
        if access in self.ask:
            return "ask"
        if access == MUTATES:
            return "allow"
        opened_by = {access, "eval"} if access == "write" else {access}
        return "allow" if access in GATED and self.allow & opened_by else "deny"
