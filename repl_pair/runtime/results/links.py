"""The URL of a shared variant: written without defaults, read as far as it is valid."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, cast
from urllib.parse import parse_qsl, quote, unquote_plus, urlsplit

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.runtime.planning.plan import SUBSTRATE
from repl_pair.runtime.registry.ids import VARIANT, WORDS, Grammar
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.marks import is_secret_key

BASE = "repl-pair:notebook"
"""Opens in the notebook shell of whichever kernel the reader works in."""
SCHEMES = ("repl-pair", "http", "https")
TABS = ("dev", "docs", "test")
"""The tabs of the shell; the first opens unasked."""

_MAX_CHARS, _DEEPEST, _BIGGEST_INT_BITS = 64_000, 64, 8192
_SUBSTRATE = Grammar(r"[a-z][a-z0-9_-]{0,40}", "a word", "html")
_SURROGATE = re.compile("[\ud800-\udfff]")
_KEPT_IN_IDS, _KEPT_IN_BASE = "/,", "%/:?#[]@!$&'()*+,;=~"


@record
class Link:
    """The parts of a URL; later modes are laid over earlier ones."""

    variant: str | None = None
    workspace: str | None = None
    tab: str = TABS[0]
    modes: tuple[str, ...] = ()
    tag_filter: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    substrate: str = SUBSTRATE


@record
class Dropped:
    """One part of a URL that was left out, and why."""

    part: str
    text: str
    why: str


@record
class ReadLink:
    """What was read of a URL, and what was dropped."""

    link: Link
    dropped: tuple[Dropped, ...] = ()


def write_url(link: Link, base_url: str = BASE) -> str:
    """Return the URL of a link: defaults are left out, the query stands before a fragment.

    Overrides must be JSON in which `fault_of` finds no fault. RequestError `bad_arguments` for a
    query that is too long to be read, and for a base that is no http, https or repl-pair URL, or
    holds a secret.
    """
    head, mark, fragment = _checked_base(base_url).partition("#")
    query = "&".join(f"{name}={quote(text, _KEPT_IN_IDS)}" for name, text in _parts_of(link))
    if len(query) > _MAX_CHARS:
        raise RequestError(
            "bad_arguments",
            f"The link would have {len(query)} characters, over {_MAX_CHARS}: share fewer "
            "overrides, or register them as a variant.",
        )
    joint = ("&" if head.partition("?")[2] else "") if "?" in head else "?"
    return head + joint * bool(query) + query + mark + fragment


def parse_share_url(url: str) -> ReadLink:
    """Read a URL as far as it is valid: it raises for no text, and looks nothing up."""
    query = url.partition("#")[0].partition("?")[2]
    if len(query) > _MAX_CHARS:
        why = f"it has {len(query)} characters; at most {_MAX_CHARS} are read"
        return ReadLink(link=Link(), dropped=(Dropped(part="query", text="", why=why),))
    read: dict[str, Any] = {}
    dropped: list[Dropped] = []
    for pair in filter(None, query.split("&")):
        name, _, text = pair.partition("=")
        try:
            _read_part(unquote_plus(name), unquote_plus(text, errors="strict"), read, dropped)
        except UnicodeDecodeError:
            dropped.append(Dropped(part=name[:80], text=text[:80], why="it is not valid UTF-8"))
    if "variant" not in read and "workspace" not in read:
        dropped.append(Dropped(part="variant", text="", why="the URL names no variant"))
    return ReadLink(link=Link(**read), dropped=tuple(dropped))


def fault_of(value: Any, level: int = 0) -> str:
    """Describe why a value cannot be sent as JSON; empty if it can."""
    if level > _DEEPEST:
        return f"it is over {_DEEPEST} deep"
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, str):
        is_odd = _SURROGATE.search(value)
        return "it holds half of a surrogate pair, which is not valid text" if is_odd else ""
    if isinstance(value, int):
        return "" if value.bit_length() < _BIGGEST_INT_BITS else "it is too large a number"
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"{value} is not a number of JSON"
    if is_map(value) and all(isinstance(key, str) for key in value):
        parts = [*value, *value.values()]
    elif isinstance(value, list):
        parts = cast("list[Any]", value)
    else:
        return f"a {type(value).__name__} is not JSON"
    return next((fault for part in parts if (fault := fault_of(part, level + 1))), "")


def _parts_of(link: Link) -> Iterable[tuple[str, str]]:
    defaults = Link()
    for name in _READERS:
        value = getattr(link, name)
        if value == getattr(defaults, name):
            continue
        if name == "overrides":
            yield name, json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        else:
            yield name, value if isinstance(value, str) else ",".join(value)


def _checked_base(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
    except ValueError as error:
        raise RequestError("bad_arguments", f"base_url is not a valid URL: {error}.") from error
    if parts.scheme not in SCHEMES:
        raise RequestError(
            "bad_arguments",
            f"base_url begins with one of {', '.join(f'{s}:' for s in SCHEMES)}, such as "
            f"{BASE} or http://localhost:8888/lab/tree/shop.ipynb.",
        )
    named = {name for part in (parts.query, parts.fragment) for name, _ in parse_qsl(part)}
    secret = sorted(filter(is_secret_key, named)) or ["a user's name"] * ("@" in parts.netloc)
    if secret:
        raise RequestError(
            "bad_arguments",
            f"base_url holds {', '.join(secret)}: a link is given away, so leave it out.",
        )
    return quote(base_url, _KEPT_IN_BASE, errors="replace")


def _read_part(name: str, text: str, read: dict[str, Any], dropped: list[Dropped]) -> None:
    def drop(why: str, what: str = text) -> None:
        dropped.append(Dropped(part=name[:80], text=what[:80], why=why))

    if name not in _READERS:
        drop("it is not a part of a shared variant")
    elif name in read:
        drop("it is given twice; the first one is used")
    else:
        found = _READERS[name](text, drop)
        if found is not None:
            read[name] = found


_Drop = Callable[..., None]


def _id_reader(grammar: Grammar) -> Callable[[str, _Drop], str | None]:
    def read(text: str, drop: _Drop) -> str | None:
        if grammar.matches(text):
            return text
        return drop(f"it takes {grammar.words}, such as {grammar.example}")

    return read


def _read_words(text: str, drop: _Drop) -> tuple[str, ...] | None:
    words: list[str] = []
    for word in text.split(","):
        if not WORDS.matches(word):
            drop(f"it takes {WORDS.words}", word)
        elif word in words:
            drop("it is given twice", word)
        else:
            words.append(word)
    return tuple(words) or None


def _read_overrides(text: str, drop: _Drop) -> Mapping[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return drop("it is not valid JSON")
    if not isinstance(found, dict):
        return drop("it is not a JSON object")
    kept: dict[str, Any] = {}
    for name, value in cast("dict[str, Any]", found).items():
        fault = "no arg has such a name" if not name.isidentifier() else fault_of(value)
        if fault:
            drop(fault, name)
        else:
            kept[name] = value
    return kept or None


_READERS: Mapping[str, Callable[[str, _Drop], Any]] = {  # in the order of a URL
    "variant": _id_reader(VARIANT),
    "workspace": _id_reader(VARIANT),
    "tab": lambda text, drop: text if text in TABS else drop(f"there are {', '.join(TABS)}"),
    "modes": _read_words,
    "tag_filter": _read_words,
    "overrides": _read_overrides,
    "substrate": _id_reader(_SUBSTRATE),
}
