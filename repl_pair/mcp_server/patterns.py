"""Patterns of secrets over UTF-8 bytes, in linear time; no match spans a NUL."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2  # pyright: ignore[reportMissingTypeStubs]  it ships none

from repl_pair.wire import REDACTED

_NAMES = (
    r"pass(?:word|wd|phrase|code)|secrets?|token|api[_-]?key|credentials?|auth[_-]?key"
    r"|(?:private|access|session|secret|account|signing|encryption|shared)[_-]?key"
    r"|connection[_-]?string"
)
_CAMEL_NAMES = (
    r"Pass(?:word|wd|phrase|code)|Secret|Token|Credentials?|Authorization|Cookie"
    r"|(?:Api|Private|Access|Session|Secret|Account)Key|ConnectionString"
)
_SECRET_KEY = (
    rf"(?:(?:.*[^A-Za-z])?(?i:{_NAMES}|authorization|(?:set-)?cookie|dsn|pwd)"
    rf"|.*[a-z0-9](?:{_CAMEL_NAMES}))\d*"
)
# What may stand before a word beside a plain word boundary: an escape or a colour that ends in one.
_EDGE = r"(?:\b|\\[abfnrtv]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\[[0-9;]*m)"
_NAME = rf"""(?i:{_NAMES})\d*["'\\]*"""
_ANNOTATION = r"(?:\s*:\s*[A-Za-z_][\w.| ]{0,40})?"
# An opening quote and what follows up to its own closing quote: as in source code or JSON, the
# same inside a JSON string, and at any depth below that.
_QUOTED = (
    r"(?:[A-Za-z_][\w.]*\(|[bBrRuUfF]{1,2})?(?:"
    r'"((?:[^"\\\x00]|\\[^\x00])*)'
    r"|'((?:[^'\\\x00]|\\[^\x00])*)"
    r'|\\"((?:[^"\\\x00]|\\\\(?:\\["\\]|[^"\\\x00]))*)'
    r"|\\'((?:[^'\\\x00]|\\\\(?:\\['\\]|[^'\\\x00]))*)"
    r'|\\{3}"((?:[^"\\\x00]|\\+[^"\\\x00]|\\{4,}")*)'
    r"""|\\{2,}["']([^"'\\\x00]*))"""
)
_BARE = r"""([^\s"'\\&;,<>(){}\[\]\x00]{4,})"""
_BARE_WORD = r"""([^\s:="'\\&;,<>(){}\[\]\x00]{4,})"""
_LITERALS = frozenset({b"None", b"null", b"true", b"false", b"True", b"False", b"undefined"})


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """One pattern: its groups match what is replaced; `is_secret` checks the match again."""

    text: str
    is_secret: Callable[[bytes], bool] = lambda _value: True


def _has_digit(value: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in value)


def _is_given(value: bytes) -> bool:
    return bool(value.strip(b"*")) and value not in _LITERALS


def _is_assigned(value: bytes) -> bool:
    """Distinguish a value from a dotted name in source code."""
    parts = value.decode().split(".")
    return _is_given(value) and not (len(parts) > 1 and all(map(str.isidentifier, parts)))


def _is_keyed(value: bytes) -> bool:
    """Distinguish a value from a word of prose, a type and a number in JSON."""
    number = value.lstrip(b"-").replace(b".", b"", 1).isdigit()
    return _has_digit(value) and not number


PATTERNS: tuple[Pattern, ...] = (
    Pattern(text=rf"{_EDGE}(sk-[A-Za-z0-9_-]{{20,}})", is_secret=_has_digit),
    Pattern(text=r"((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,})"),
    Pattern(text=r"(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})"),
    Pattern(text=r"((?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16})\b"),
    Pattern(text=r"(xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})"),
    Pattern(text=r"(AIza[A-Za-z0-9_-]{35,}|ya29\.[A-Za-z0-9_-]{20,})"),
    Pattern(text=r"(glpat-[A-Za-z0-9_.-]{20,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36,})"),
    Pattern(text=r"(pypi-[A-Za-z0-9_-]{50,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"),
    Pattern(text=r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{10,})"),
    Pattern(text=r"(eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){1,4})"),
    Pattern(
        text=r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"""(?:[^-"'\x00]|-[^-"'\x00])*(?:-----END [A-Z0-9 ]*-----)?)"""
    ),
    Pattern(text=r"""[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\x00]*:([^\s/"'<>\x00]+)@"""),
    Pattern(
        text=r"""(?i:authorization)["'\\]*\s*[:=]\s*["'\\]*(?i:bearer|basic|token|digest|apikey|bot)"""
        r"""\s+([^\s"'\\,;<>\[\]\x00]{4,})"""
    ),
    Pattern(
        text=r"""(?i:authorization)["'\\]*\s*[:=]\s*["'\\]*([^\s"'\\,;<>\[\]\x00]{4,})""",
        is_secret=lambda value: _has_digit(value) or len(value) >= 16,
    ),
    Pattern(text=rf"{_EDGE}(?i:bearer)\s+([A-Za-z0-9._~+/-]{{16,}}=*)", is_secret=_has_digit),
    Pattern(text=rf"""{_EDGE}(?i:(?:set-)?cookie):\s*([^\s"'\\=\[\x00]+=[^"'\r\n\\\x00]+)"""),
    Pattern(text=rf"""{_EDGE}(?i:pwd)\s*=\s*([^\s"'\\/~.;,&<>\[\]\x00][^\s"'\\;,&<>\x00]{{3,}})"""),
    Pattern(text=rf"{_NAME}{_ANNOTATION}\s*[:=]\s*{_QUOTED}", is_secret=_is_given),
    Pattern(text=rf"{_NAME}{_ANNOTATION}\s*=\s*{_BARE}", is_secret=_is_assigned),
    Pattern(text=rf"{_NAME}\s*:\s*{_BARE_WORD}", is_secret=_is_keyed),
)


def _compile(pattern: str) -> Any:
    options: Any = re2.Options()
    options.max_mem = 64 << 20
    return re2.compile(pattern.encode(), options)  # pyright: ignore[reportUnknownMemberType]  no stubs


_SET = _compile("|".join(f"(?:{pattern.text})" for pattern in PATTERNS))
_KEY = _compile(_SECRET_KEY)
_BY_GROUP: tuple[Pattern, ...] = tuple(
    pattern for pattern in PATTERNS for _ in range(_compile(pattern.text).groups)
)
_FROM_LAST = range(len(_BY_GROUP) - 1, -1, -1)
"""The patterns of named values come last and match most, where the kernel has redacted them."""
_MARKER = REDACTED.encode()


def find_secrets(data: bytes) -> Iterator[tuple[int, int]]:
    """Return the spans to replace in UTF-8 text, from left to right; the marker is none of them."""
    at = 0
    while (match := _SET.search(data, at)) is not None:
        index = next(i for i in _FROM_LAST if match.start(i + 1) >= 0)
        start, stop = match.span(index + 1)
        value = data[start:stop]
        if value != _MARKER and _BY_GROUP[index].is_secret(value):
            yield start, stop
            start = stop
        # The text after a name may itself be the name before the next secret: search it again.
        at = max(stop if start == match.start() else start, at + 1)


@lru_cache(maxsize=4096)
def names_secret(key: str) -> bool:
    """Return whether a text under this key is a secret, whatever it looks like."""
    return _KEY.fullmatch(key.encode("utf-8", "replace")) is not None
