"""The grammar of ids: what each kind allows, and a valid id near to a refused one."""

import re
from collections.abc import Sequence

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.records import row

_SEGMENT = r"[A-Za-z][A-Za-z0-9_-]*"
_STORY = rf"{_SEGMENT}(?:\.{_SEGMENT})*"
_WORDS = rf"{_SEGMENT}(?:/{_SEGMENT})*"


@row
class Grammar:
    """A valid id as a pattern, in words, and by example."""

    pattern: str
    words: str
    example: str

    def matches(self, text: str) -> bool:
        """Return whether all of a text is such an id."""
        return re.fullmatch(self.pattern, text) is not None


STORY = Grammar(
    _STORY,
    "words of letters, digits, '_' and '-' that start with a letter, joined by dots",
    "pricing.quote",
)
VARIANT = Grammar(
    rf"{_STORY}/[A-Za-z0-9][A-Za-z0-9_.-]*",
    "a story's id, a slash, and a name of letters, digits, '_', '.' and '-'",
    "pricing.quote/Bulk_10",
)
WORKSPACE = Grammar(
    VARIANT.pattern,
    "words joined by dots, a slash, and a name of letters, digits, '_', '.' and '-'",
    "pricing.desk/Main",
)
WORDS = Grammar(
    _WORDS,
    "words of letters, digits, '_' and '-' that start with a letter, joined by slashes",
    "currency/eur",
)

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
"""A word of what an app publishes; a leading underscore hides it from every agent."""
_DOTTED = rf"{_NAME}(?:\.{_NAME})*"

SURFACE = Grammar(
    _DOTTED,
    "words of letters, digits and '_' that start with no digit, joined by dots",
    "training",
)
MEMBER = Grammar(
    rf"{_DOTTED}/{_NAME}",
    "a surface's id, a slash, and a name of letters, digits and '_'",
    "training/loss",
)
FUNCTION = Grammar(
    rf"{_NAME}(?:\.{_NAME})+",
    "at least two words of letters, digits and '_', joined by dots: a single one may be an op",
    "orders.place",
)


def check_id(kind: str, grammar: Grammar, id: object) -> str:
    """Return the id as plain text; AuthoringError `bad_id` with the rule and a valid form."""
    if isinstance(id, str) and grammar.matches(id):
        return str(id)
    raise AuthoringError(
        "bad_id",
        f"{id!r} is not a valid {kind} id: it takes {grammar.words}. "
        f"For example: {suggest_id(grammar, id)!r}.",
        detail={"kind": kind, "id": repr(id), "pattern": grammar.pattern},
    )


def check_text(what: str, id: object) -> None:
    """Refuse what is no text, such as a function, by `bad_arguments`; `what` says who takes one."""
    if not isinstance(id, str):
        raise RequestError("bad_arguments", f"{what}, and no {type(id).__name__}.")


def suggest_id(grammar: Grammar, id: object) -> str:
    """Return a valid id as near to `id` as its letters allow, else the grammar's example."""
    text = re.sub(r"[^A-Za-z0-9_./-]+", "_", str(id)).strip("_./-")
    head, _, tail = text.replace("/", ".").rpartition(".")
    slashed = f"{head}/{tail}" if head else text
    for candidate in (text, _joined(text, "."), _joined(text, "/"), slashed):
        if grammar.matches(candidate):
            return candidate
    return grammar.example


def story_of(variant_id: str) -> str:
    """Return the story id of a variant id: the part before the slash."""
    return variant_id.split("/", 1)[0]


def plain_member_id(written: str) -> str:
    """Return the id of a member of an app that may be written as the URI of its resource."""
    return written.removeprefix("surface://")


def name_run(variant_id: str, words: Sequence[str]) -> str:
    """Name a run: the variant's id, with its modes, and what else it is run with, in brackets."""
    return f"{variant_id}[{'+'.join(words)}]" if words else variant_id


def _joined(text: str, separator: str) -> str:
    words = (re.sub(r"^[0-9_-]+", "", word) for word in re.split(r"[./]+", text))
    return separator.join(word for word in words if word)
