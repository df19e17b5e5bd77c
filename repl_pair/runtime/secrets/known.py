"""The secrets that this process knows, and those that belong to one call or run."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any

from repl_pair.records import holding
from repl_pair.runtime.secrets.forms import forms_of, parts_of
from repl_pair.runtime.secrets.needles import Needles, Rank, Traits
from repl_pair.runtime.values.frozen import texts_in
from repl_pair.runtime.values.marks import SHORTEST, url_password_spans
from repl_pair.wire import PERSON

SHARED = 200
"""How many secrets of what it meets one call adds to those that all know."""
SENT_WORDS = 50_000
"""How many words of what agents sent are remembered; one request holds about half of that."""
_GUESSES = 1000
SPACES: list[Callable[[], Iterable[dict[Any, Any]]]] = []
"""What gives variables that are searched whenever the person's are: before each reply."""

# Compiled by `re` once something is found or sent.
_BREAK = r"\s|\\[rn]"
_WORD = r"[^\s;&,='\"]+"


class CallSecrets(Needles):
    """The secrets that one call met and nobody else learns, and what an agent sent for it.

    Private once an agent's data flowed in: else an agent could make any word a secret. What the
    principal sent stays as it came, also where it is a secret: else a reply would confirm a guess.
    """

    def __init__(self, principal: str = PERSON) -> None:
        super().__init__()
        self.principal = principal
        self.room = SHARED
        self._is_private = False
        self._included: dict[int, CallSecrets] = {}
        self._ignored: set[str] = set()
        self._sent: list[str] = []
        self._spared: tuple[int, frozenset[str]] = (0, frozenset())

    @property
    def is_private(self) -> bool:
        """Return whether an agent's data flowed into what is met here."""
        return self._is_private or any(one.is_private for one in self._included.values())

    def traits(self) -> Traits:
        """Return what a search for what this call and those it includes met must reckon with."""
        others = self._included.values()
        return self._traits.with_those(one.traits() for one in others) if others else self._traits

    def ignore(self, value: Any) -> None:
        """Learn nothing that stands in a value."""
        self._is_private = True
        self._ignored.update(part for text in texts_in(value) for part in _words(text))

    def take_sent(self, value: Any) -> None:
        """Note what the principal sent: learn nothing of it, and let it stay as it is."""
        if value:
            self.ignore(value)
            self._sent += texts_in(value)
            self._spared = (0, frozenset())

    def include(self, other: "CallSecrets | None") -> None:
        """Take what an earlier call met and was sent for a part of this one."""
        if other is not None and other is not self:
            self._included[id(other)] = other

    def find(self, text: str) -> tuple[str, ...]:
        """Return the forms of what this call and those it includes met."""
        found = super().find(text) if self.ranks else ()
        return (*found, *(form for one in self._included.values() for form in one.find(text)))

    def spared(self, known: Needles) -> frozenset[str]:
        """Return the forms of known secrets that stay, for the principal sent them."""
        if self._sent and self._spared[0] != known.version:
            words = islice((word for text in self._sent for word in _words(text)), _GUESSES)
            # A wrong guess may share with a secret what base64 shows of it: that stays, too.
            forms = (form for word in words for form in forms_of(word))
            found = Needles.find(known, "\n".join((*self._sent, *forms)))
            self._spared = known.version, frozenset(x for form in found for x in forms_of(form))
        others = (one for one in self._included.values() if one.principal == self.principal)
        return self._spared[1].union(*(one.spared(known) for one in others))

    def _admit(self, parts: set[str], rank: Rank) -> set[str]:
        return parts - self._ignored


class Known(Needles):
    """The secrets of the process, together with those of the call or run in progress."""

    def __init__(self) -> None:
        super().__init__()
        self._sent: dict[str, None] = {}
        self._refused: dict[str, None] = {}

    def traits(self) -> Traits:
        """Return what a search must reckon with, also for what this call met."""
        own = current_secrets()
        return self._traits if own is None else self._traits.with_those([own.traits()])

    def add(self, value: Any, *, rank: Rank = Rank.MET) -> bool:
        """Learn a secret for all, or for this call alone; no word of agents, unless it is GIVEN."""
        own = current_secrets() if rank is Rank.MET else None
        if own is not None:
            new = [part for part in parts_of(value) if part not in self.ranks]
            if new and (own.is_private or own.room < len(new)):
                return own.add(value)
            own.room -= len(new)
        return super().add(value, rank=rank)

    def note_sent(self, value: Any) -> None:
        """Remember the words of what an agent sends: none of them becomes a secret from now on."""
        _remember(self._sent, (word for text in texts_in(value) for word in _words(text)))

    def find(self, text: str) -> tuple[str, ...]:
        """Return the forms that stand in the text, also of what this call met."""
        every, own = self.find_all(text), current_secrets()
        if own is None or not every:
            return every
        spared = own.spared(self)
        return tuple(form for form in set(every) if re.sub(_BREAK, "", form) not in spared)

    def find_all(self, text: str) -> tuple[str, ...]:
        """Return what `find` does, also where the principal sent it."""
        found, own = super().find(text), current_secrets()
        return found if own is None else (*found, *own.find(text))

    def trim(self) -> None:
        """Forget those met longest ago, for all and for this call."""
        super().trim()
        if (own := current_secrets()) is not None:
            own.trim()

    def _admit(self, parts: set[str], rank: Rank) -> set[str]:
        if rank is Rank.GIVEN or not (self._sent or self._refused):
            return parts
        new = {part for part in parts if part not in self.ranks}
        refused = {part for part in new if part in self._sent or part in self._refused}
        # What is met again and again outlives what an agent sends to push it out.
        _remember(self._refused, refused)
        return parts - refused


NEEDLES = Known()
"""The secrets known to this process."""


def open_names(names: Iterable[Any]) -> list[Any]:
    """Return the names that hold no secret: what is near is looked for among these only.

    A marker, or nothing, in the place of the nearest one would confirm a guess, and so would one
    that the principal sent, and that stays.
    """
    return [name for name in names if not holds_secret(str(name))]


def holds_secret(text: str) -> bool:
    """Return whether a secret stands in a text, whoever sent it; `scrub` spares its sender."""
    return bool(NEEDLES.find_all(text) or url_password_spans(text))


_CURRENT: ContextVar[CallSecrets | None] = ContextVar("repl_pair_secrets", default=None)


def current_secrets() -> CallSecrets | None:
    """Return the secrets of the call or run in progress here."""
    return _CURRENT.get()


def within(secrets: CallSecrets | None) -> AbstractContextManager[None]:
    """Learn and look for secrets as one call or run does; with None as without this block."""
    return holding(_CURRENT, _CURRENT.get() if secrets is None else secrets)


@contextmanager
def made_of(sent: Any, by_others: Any = ()) -> Generator[CallSecrets]:
    """Learn what is made of agents' data in the call or run in progress, else in a new one.

    `sent` is of its principal.
    """
    secrets = _CURRENT.get()
    secrets = CallSecrets() if secrets is None else secrets
    secrets.take_sent(sent)
    if by_others:
        secrets.ignore(by_others)
    with holding(_CURRENT, secrets):
        yield secrets


def _words(text: str) -> Iterator[str]:
    yield from parts_of(text)
    yield from (word for word in re.findall(_WORD, text) if len(word) >= SHORTEST)


def _remember(words: dict[str, None], more: Iterable[str]) -> None:
    words |= dict.fromkeys(more)
    if len(words) > SENT_WORDS:
        for word in list(words)[:-SENT_WORDS]:
            words.pop(word, None)
