"""Attacks: chains of calls over a stand, what each may not do, and the shortest chain that did."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from arguments import ANSWERED_S, Generator
from stand import SETTINGS, Stand, open_stand

LONGEST = 12
"""How many calls a chain has at most; after it the person takes out what agents left."""
LATE = frozenset({"deadline", "cancelled", "outcome_unknown", "unreadable"})
"""Codes of what may have begun before it was refused."""
ANSWERS = frozenset({"contents", "resources", "resourceTemplates", "completion"})
"""What the answer of a request holds that is no call of a tool."""
READS = frozenset({"read", "inspect"})


@dataclass(eq=False)
class Call:
    """One call to one server, and the handles that it was given."""

    setting: str
    op: str
    args: Mapping[str, Any]
    given: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        text = json.dumps(self.args)
        return f"[{self.setting}] {self.op} {text if len(text) < 2_000 else text[:2_000] + '…'}"


@dataclass
class Counts:
    """What the calls of an attack came to."""

    cases: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    bytes: int = 0

    def add(self, other: "Counts") -> None:
        """Take in the counts of another attack."""
        self.cases, self.bytes = self.cases + other.cases, self.bytes + other.bytes
        self.codes += other.codes
        self.reached += other.reached
        self.refused += other.refused


class Found(AssertionError):
    """Something that may not be: a leak, a change by a refused call, a defect, no answer."""


def code_of(frame: Mapping[str, Any]) -> str:
    """Return `ok` or the code of a refusal, whoever refused."""
    result = frame.get("result", {})
    reply = result.get("structuredContent")
    if ANSWERS.intersection(result):
        return "ok"
    if reply is None:
        return "no_tool" if "error" in frame else "refused_in_words"
    return "ok" if reply["ok"] else reply["error"]["code"]


def handles_in(node: Any) -> list[str]:
    """Return the handles and cursors in a reply, in their order."""
    queue, found = [node], list[str]()
    for one in queue:
        if isinstance(one, dict):
            found += [one[k] for k in ("handle", "cursor") if isinstance(one.get(k), str)]
            queue += one.values()
        elif isinstance(one, list):
            queue += one
    return found


def result_of(frame: Mapping[str, Any]) -> Any:
    """Return the whole reply behind a frame, which later calls feed on."""
    return frame.get("result", {}).get("structuredContent") or {}


class Attack:
    """One seed's attack on one stand."""

    def __init__(self, stand: Stand, seed: int) -> None:
        self.stand, self.rng = stand, Random(f"calls {seed}")
        self.generator = Generator(self.rng)
        self.counts = Counts()
        for kind, ids in stand.ids().items():
            for id in ids:
                self.generator.put(kind, id)
        self.last = ""
        """The setting of the last call."""
        self.is_loose = False
        """Whether a call that the person approves late may still begin."""
        self.before = stand.state()
        self.survey()
        self.generator.keep()

    def survey(self) -> None:
        """Read all that can be read without knowing anything, and one late answer."""
        for op, descriptor in self.generator.ops.items():
            if not descriptor["input_schema"]["required"] and descriptor["access"] in READS:
                self.make(Call("open", op, {}))
        for story in list(self.generator.pools["story"]):
            self.make(Call("open", "get_story", {"story_id": story}))
        self.make(Call("open", "list_variables", {"limit": 200}))
        for n in range(20):  # the person answers about half of the calls only later
            asked = Call("asking", "register_tag", {"tag_id": f"asked_{n}", "body": {}})
            if self.make(asked) == "approval_pending":
                read = {"handle": asked.given[0], "wait_s": ANSWERED_S}
                self.make(Call("asking", "read_approval", read))
                return

    def run(self, count: int) -> Iterator[Sequence[Call]]:
        """Make so many calls in chains; gives each chain when it was found to be harmless."""
        while self.counts.cases < count:
            chain: list[Call] = []
            self.begin()
            try:
                for _ in range(self.rng.randrange(1, LONGEST + 1)):
                    chain.append(self.draw())
                    self.make(chain[-1])
            except Found as found:
                raise Broken(chain, str(found)) from None
            yield chain
        self.counts.bytes = self.stand.search.bytes

    def begin(self) -> None:
        """Begin a chain on a kernel without anything of the agents'."""
        self.stand.begin()
        self.generator.begin()
        self.is_loose = False
        self.before = self.stand.state()

    def draw(self) -> Call:
        """Draw the next call."""
        setting = self.rng.choice(list(SETTINGS))
        waits = self.generator.is_waiting
        if self.last and self.generator.steps and self.rng.random() < (1 if waits else 0.5):
            setting = self.last  # whom the next steps were named to
        return Call(setting, *self.generator.call(SETTINGS[setting][0]))

    def make(self, call: Call) -> str:
        """Make a call; Found for what it may not do. Gives the code of its answer."""
        server, self.last = self.stand.servers[call.setting], call.setting
        try:
            frame = server.call(call.op, call.args)
        except (TimeoutError, OSError, ValueError) as error:
            raise Found(f"{type(error).__name__}: {error}") from None
        code = code_of(frame)
        self.count(call, code)
        self.feed(call, result_of(frame))
        call.given = handles_in(result_of(frame))
        if leaks := self.stand.leaks():
            raise Found(
                "\n".join(f"{leak.place}: {leak.part!r} in {leak.around!r}" for leak in leaks)
            )
        if code == "internal":
            raise Found(f"a defect: {json.dumps(result_of(frame))[:2_000]}")
        self.is_loose = self.is_loose or code == "approval_pending"
        if self.is_loose:
            return code
        if code != "ok" and code not in LATE:
            self.check_unchanged(f"{call.op} was refused ({code})")
        elif self.generator.access(call.op) in READS:
            self.check_unchanged(f"{call.op} reads")
        else:
            self.before = self.stand.state()
        return code

    def feed(self, call: Call, reply: Mapping[str, Any]) -> None:
        """Let later calls feed on a reply, as on one of run_op's inner op too."""
        self.generator.feed(call.op, call.args, reply)
        inner, args = call.args.get("op"), call.args.get("args")
        if isinstance(inner, str) and inner in self.generator.ops and isinstance(args, dict):
            self.generator.feed(inner, args, reply)

    def count(self, call: Call, code: str) -> None:
        """Count an answer."""
        self.counts.cases += 1
        self.counts.codes[code] += 1
        (self.counts.reached if code == "ok" else self.counts.refused)[call.op] += 1
        self.generator.refused[call.op] += code != "ok"

    def check_unchanged(self, what: str) -> None:
        """Compare the kernel with what it was before the last call."""
        now = self.stand.state()
        if changed := [part for part in now if now[part] != self.before[part]]:
            shown = "\n".join(
                f"  {p}: {self.before[p][:600]}\n  now: {now[p][:600]}" for p in changed
            )
            raise Found(f"{what}, and these changed: {', '.join(changed)}\n{shown}")


class Broken(AssertionError):
    """A chain of calls that did what no call may do."""

    def __init__(self, chain: Sequence[Call], found: str) -> None:
        super().__init__(found)
        self.chain, self.found = tuple(chain), found


def replay(seed: int, chain: Sequence[Call]) -> str:
    """Make the calls of a chain on a fresh stand; gives what was found, nothing if nothing.

    Handles that a call was given before are replaced by those that it is given now.
    """
    with open_stand(seed) as stand:
        attack, now_by_then = Attack(stand, seed), dict[str, str]()
        attack.begin()
        try:
            for call in chain:
                text = json.dumps(call.args)
                for then, now in now_by_then.items():
                    text = text.replace(json.dumps(then), json.dumps(now))
                again = Call(call.setting, call.op, json.loads(text))
                attack.make(again)
                now_by_then |= dict(zip(call.given, again.given, strict=False))
        except Found as found:
            return str(found)
    return ""


def shortest(seed: int, chain: Sequence[Call]) -> Sequence[Call]:
    """Return the calls of a chain without which it is not found again; all where it never is."""
    if not replay(seed, chain):
        return chain
    kept = list(chain)
    for call in list(chain[:-1]):
        without = [one for one in kept if one is not call]
        if replay(seed, without):
            kept = without
    return kept


def describe(seed: int, broken: Broken) -> str:
    """Describe what was found, with the fewest calls that show it again."""
    calls = shortest(seed, broken.chain)
    return "\n".join((broken.found, f"seed {seed}, on a fresh stand:", *map(str, calls)))
