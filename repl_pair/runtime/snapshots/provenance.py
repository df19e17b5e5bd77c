"""What is kept beside a stored output: its identity, and each slot that it was made of."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.assertions.comparison import short
from repl_pair.runtime.assertions.verdicts import WIDE
from repl_pair.runtime.planning.identity import content_hash
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.reading.bounded import MISSING, Change, changes_between
from repl_pair.runtime.registry.model import Step
from repl_pair.runtime.registry.outcomes import HASHES
from repl_pair.runtime.registry.steps import named_by, plain_words
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.secrets.places import secret_args
from repl_pair.runtime.snapshots.records import About
from repl_pair.runtime.values.classes import is_row
from repl_pair.runtime.values.frozen import to_plain

MAX_SHOWN = 5
"""How many slots, and changes in each, are in a line."""


@record
class SlotChange:
    """How one part of an identity stands to its baseline; what is not known is `MISSING`.

    `before` and `after` are hashes. `changes` are empty where what differs is not kept, as in the
    payloads of events and steps.
    """

    slot: str
    before: Any
    after: Any
    changes: tuple[Change, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Return whether this is a part of what changed."""
        return self.before is not MISSING and self.before != self.after


def describe_about(plan: Plan) -> About:
    """Return the identity of a plan, and of each slot a hash and its outline without secrets."""
    learn_secrets()
    slots = plan.slots
    secret = [("args", *place) for place in secret_args(plan.component, plan.args)]
    outline = {name: _OUTLINES.get(name, to_plain)(value) for name, value in slots.items()}
    shown: Any = send_out(outline, sensitive=secret, limits=WIDE).value
    identity = plan.identity
    return {
        **{name: _brief(getattr(identity, name)) for name in HASHES},
        "slots": {
            name: {"hash": _brief(content_hash({name: value})), "shown": shown[name]}
            for name, value in slots.items()
        },
    }


def compare_about(before: About | None, after: About) -> list[SlotChange]:
    """Return the two hashes, then every slot, each with what differs.

    A slot that is not kept was empty, where anything is kept.
    """
    there: Mapping[str, Any] = before or {}
    found = [
        SlotChange(slot=name, before=there.get(name, MISSING), after=after[name]) for name in HASHES
    ]
    for name, new in after["slots"].items():
        old = _before(there, name, new)
        differs = old["hash"] != new["hash"]
        changes = tuple(changes_between(old["shown"], new["shown"])) if differs else ()
        found.append(SlotChange(slot=name, before=old["hash"], after=new["hash"], changes=changes))
    return found


def _before(there: Mapping[str, Any], name: str, new: Mapping[str, Any]) -> Mapping[str, Any]:
    if "slots" not in there:
        return {**new, "hash": MISSING}
    # The variant is in the key.
    is_same = name == "variant" or not new["shown"]
    empty = new if is_same else {"hash": "", "shown": type(new["shown"])()}
    return there["slots"].get(name, empty)


def _brief(hash: str) -> str:
    """Shorten a hash to what still tells two apart."""
    scheme, colon, digits = hash.partition(":")
    return f"{scheme}{colon}{digits[:16]}"


def describe_changes(before: About | None, after: About) -> str:
    """Report in a line which slots changed, and how; nothing where what was before is not kept."""
    words: list[str] = []
    for slot in compare_about(before, after):
        if slot.is_changed and slot.slot not in HASHES:
            changes = [_describe(slot.slot, change) for change in slot.changes[:MAX_SHOWN]]
            words.append(", ".join(changes) or slot.slot)
    return "; ".join(words[:MAX_SHOWN])


def _describe(slot: str, change: Change) -> str:
    path = f"{slot}{'.' * (change.path[:1] not in ('', '['))}{change.path}"
    if change.before is MISSING:
        return f"{path} is new: {short(change.after)}"
    if change.after is MISSING:
        return f"{path} was {short(change.before)} and is gone"
    return f"{path} was {short(change.before)} and is {short(change.after)}"


def _names(rows: Sequence[Any]) -> list[str]:
    return [str(row[0]) for row in rows]


def _lines(plays: Sequence[Any]) -> Mapping[str, list[str]]:
    """Return the steps of each play without what they hold of values: a secret may be among it."""
    return {name or "play": [_head(step) for step in steps] for name, steps in plays}


def _head(step: Step) -> str:
    words = step[1:2] if named_by(step) else step[1 : 1 + plain_words(step)]
    shown = [word[0] if is_row(word) and word else word for word in words]
    return " ".join([str(step[0]), *(word for word in shown if isinstance(word, str))])


_OUTLINES: Mapping[str, Callable[[Any], Any]] = {
    "events": _names,
    "loaders_teardown": _names,
    "decorators": _names,
    "plays": _lines,
}
