"""Patterns of secrets over UTF-8 bytes, in linear time; no match spans a NUL."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from repl_pair.key_forms import EDGE, KEY_FORMS
from repl_pair.mcp_server.gate import judging
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
    rf"(?s)(?:(?:.*[^A-Za-z])?(?i:{_NAMES}|authorization|(?:set-)?cookie|dsn|pwd)"
    rf"|.*[a-z0-9](?:{_CAMEL_NAMES}))\d*"
)
_NAME = rf"""(?i:{_NAMES})\d*["'\\]*"""
_ANNOTATION = r"(?:\s*:\s*[A-Za-z_][\w.| ]{0,40})?"
# An opening quote and what follows up to its own closing quote: as in source code or JSON, the
# same inside a JSON string, and at any depth below that; three quotes first.
_QUOTED = (
    r"(?:[A-Za-z_][\w.]*\(|[bBrRuUfF]{1,2})?(?:"
    r'"{3}((?:[^"\\\x00]|\\[^\x00]|""?[^"\x00])+)'
    r"|'{3}((?:[^'\\\x00]|\\[^\x00]|''?[^'\x00])+)"
    r'|(?:\\+"){3}((?:[^"\\\x00]|\\+[^"\\\x00])+)'
    r"|(?:\\+'){3}((?:[^'\\\x00]|\\+[^'\\\x00])+)|"
    r'"((?:[^"\\\x00]|\\[^\x00])*)'
    r"|'((?:[^'\\\x00]|\\[^\x00])*)"
    r'|\\"((?:[^"\\\x00]|\\\\(?:\\["\\]|[^"\\\x00]))*)'
    r"|\\'((?:[^'\\\x00]|\\\\(?:\\['\\]|[^'\\\x00]))*)"
    r'|\\{3}"((?:[^"\\\x00]|\\+[^"\\\x00]|\\{4,}")*)'
    r"""|\\{2,}["']([^"'\\\x00]*))"""
)
# White space and the marks of markup, also as they are escaped in a text.
_WS = r"(?:\s|\\+[nrt])+"
_OPEN, _CLOSE = r"(?:<|&lt;|\\+u003[cC])", r"(?:>|&gt;|\\+u003[eE])"
_WORD = r"""([^\s"'\\\x00]+)"""
_ARGUMENT = r"""([^\s"'\\&;,<>(){}\[\]\x00-][^\s"'\\;&<>\x00]{3,})"""
_BARE = r"""([^\s"'\\&;,<>(){}\[\]\x00]{4,})"""
_BARE_WORD = r"""([^\s:="'\\&;,<>(){}\[\]\x00]{4,})"""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """One pattern: its groups match what is replaced; `is_secret` checks the match again."""

    text: str
    is_secret: Callable[[judging.Candidate], bool] = judging.is_any


PATTERNS: tuple[Pattern, ...] = (
    *(Pattern(text=form, is_secret=judging.holds(part)) for form, part in KEY_FORMS.items()),
    Pattern(
        text=r"""[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\x00]*:([^\s/"'<>\x00]+)@""",
        is_secret=judging.is_in_url,
    ),
    Pattern(
        text=r"""(?i:authorization)["'\\]*\s*[:=]\s*["'\\]*(?i:bearer|basic|token|digest|apikey|bot)"""
        r"""\s+([^\s"'\\,;<>\[\]\x00]{4,})""",
        is_secret=judging.is_given,
    ),
    Pattern(
        text=r"""(?i:authorization)["'\\]*\s*[:=]\s*["'\\]*([^\s"'\\,;<>\[\]\x00]{4,})""",
        is_secret=lambda found: (
            judging.is_uncalled(found) and (judging.has_digit(found) or len(found.value) >= 16)
        ),
    ),
    Pattern(text=rf"{EDGE}(?i:bearer)\s+([A-Za-z0-9._~+/-]{{16,}}=*)", is_secret=judging.has_digit),
    Pattern(text=rf"""{EDGE}(?i:(?:set-)?cookie):\s*([^\s"'\\=\[\x00]+=[^"'\r\n\\\x00]+)"""),
    Pattern(
        text=rf"""{EDGE}(?i:pwd)\s*=\s*([^\s"'\\/~.;,&<>\[\]\x00][^\s"'\\;,&<>\x00]{{3,}})""",
        is_secret=judging.is_uncalled,
    ),
    Pattern(  # a token alone before the host of a URL
        text=r"""[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#:@"'<>\\\x00]{16,})@""",
        is_secret=judging.is_random,
    ),
    Pattern(  # .netrc
        text=rf"""(?i:(?:machine{_WS}[^\s"'\\\x00]+|default)"""
        rf"""(?:{_WS}(?:login|account){_WS}[^\s"'\\\x00]+){{1,2}}{_WS}password){_WS}{_WORD}""",
        is_secret=judging.is_given,
    ),
    Pattern(
        text=rf"""(?i:machine{_WS}[^\s"'\\\x00]+{_WS}password){_WS}{_WORD}{_WS}(?i:login|account)""",
        is_secret=judging.is_given,
    ),
    Pattern(  # .pgpass
        text=r"(?:\*|[\w-]*[A-Za-z][\w-]*(?:\.[\w-]+)*|\d+(?:\.\d+){3}):(?:\d{4,5}|\*):[\w*.-]+"
        r""":[A-Za-z_*][\w*.@-]*:([^\s"':/\[\\\x00](?:[^\s"':\\\x00]|\\+:)*)""",
        is_secret=judging.is_last,
    ),
    Pattern(  # options of a command, also as items of a list
        text=rf"""(?:\B|\\[nrt])--?[A-Za-z0-9-]*(?i:{_NAMES}|pwd)(?:{_WS}(?:{_ARGUMENT}|\\*["']([^"'\\\x00]+))"""
        rf"""|["'\\]+\s*,\s*["'\\]+{_ARGUMENT})""",
        is_secret=judging.is_argument,
    ),
    Pattern(  # elements of XML
        text=rf"{_OPEN}(?:[\w.-]+:)?[\w.-]*(?i:{_NAMES}|pwd)\d*(?:\s[^<>\x00]*[^<>/\x00])?{_CLOSE}"
        rf"(?:{_WS})?(?:<!\[CDATA\[)?([^\s<>\x00][^<>\x00]*?)(?:{_WS})?(?:\]\]>|{_OPEN}\\*/)",
        is_secret=judging.is_given,
    ),
    Pattern(  # attributes of XML
        text=rf"""(?i:name|key)\s*=\s*\\*["'][^"'<>\x00]*(?i:{_NAMES}|pwd)\d*\\*["']\s[^<>\x00]*?"""
        r"""(?i:value)\s*=\s*\\*["']([^"'<>\\\x00]+)""",
        is_secret=judging.is_given,
    ),
    Pattern(text=rf"{_NAME}{_ANNOTATION}\s*[:=]\s*{_QUOTED}", is_secret=judging.is_quoted),
    Pattern(text=rf"{_NAME}{_ANNOTATION}\s*=\s*{_BARE}", is_secret=judging.is_assigned),
    Pattern(text=rf"{_NAME}\s*:\s*{_BARE_WORD}", is_secret=judging.is_keyed),
)


_SET = judging.compile_pattern("|".join(f"(?:{pattern.text})" for pattern in PATTERNS).encode())
_KEY = judging.compile_pattern(_SECRET_KEY.encode())
_BY_GROUP: tuple[Pattern, ...] = tuple(
    pattern
    for pattern in PATTERNS
    for _ in range(judging.compile_pattern(pattern.text.encode()).groups)
)
_FROM_LAST = range(len(_BY_GROUP), 0, -1)
"""The groups of named values come last and match most, where the kernel has redacted them."""
_MARKER = REDACTED.encode()


def find_secrets(data: bytes) -> Iterator[tuple[int, int]]:
    """Return the spans to replace in UTF-8 text, from left to right; the marker is none of them."""
    at, group = 0, len(_BY_GROUP)
    while (match := _SET.search(data, at)) is not None:
        if match.start(group) < 0:  # mostly it is the group of the match before
            group = next(number for number in _FROM_LAST if match.start(number) >= 0)
        start, stop = match.span(group)
        value = data[start:stop]
        if value != _MARKER and _BY_GROUP[group - 1].is_secret(
            judging.look_around(data, start, stop)
        ):
            yield start, stop
            start = stop
        # The text after a name may itself be the name before the next secret: search it again.
        at = max(stop if start == match.start() else start, at + 1)


@lru_cache(maxsize=4096)
def names_secret(key: str) -> bool:
    """Return whether a text under this key is a secret, whatever it looks like."""
    name = key.encode("utf-8", "replace")
    return _KEY.fullmatch(name) is not None and not judging.is_of_text(name)
