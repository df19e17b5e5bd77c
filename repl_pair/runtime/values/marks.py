"""What counts as a secret: its type, its name, and how short a known one may be."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from repl_pair.runtime.values.classes import is_exactly, is_of, is_secret_class, real_class
from repl_pair.runtime.values.frozen import Secret
from repl_pair.wire import REDACTED

SHORTEST, DISTINCT = 8, 5
SHORTEST_BESIDE = 4
"""How long a secret is that is replaced in what stands beside it."""
_LONGEST_LABEL = 3
KEY_BEGIN, _KEY_END, _LONGEST_KEY = "-----BEGIN ", "-----END ", 400
"""How the first and the last line of a key begin, and how many it has at most."""
NAME_SLOTS = ("name", "key", "header", "variable")
"""Keys of the name of what stands under `value`, in a mapping of both."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HINTS = _words("pass pw secret token cred auth cookie key dsn jwt bearer conn")
_HINT = re.compile("|".join(_HINTS))
"""Searched in lower case: that takes a quarter of the time of a search without regard to case."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_ALONE = _words(
    "password passwords passwd passphrase passphrases passcode pwd pw secret secrets credential"
    " credentials creds token apikey apikeys authorization authorisation cookie cookies dsn jwt"
    " bearer connstr connectionstring"
)

_ENDINGS = tuple(
    _words(
        "password passwd passphrase secret token apikey credentials accesskey authkey privatekey"
        " secretkey sessionkey signingkey"
    )
)
_OF_KEYS = _words(
    "api access private secret session signing encryption master account storage shared auth"
    " client service hmac ssh deploy license"
)

_BEFORE = {
    "key": _OF_KEYS,
    "keys": _OF_KEYS,
    "tokens": _words("access refresh auth api bearer id session csrf secret"),
    "string": frozenset({"connection", "conn"}),
    "auth": frozenset({"basic", "proxy", "http", "x"}),
    "pass": _words(
        "db database smtp mail email user admin root ftp ssh pg postgres mysql redis my login proxy"
    ),
}

_OF_NAMES = (_ALONE | _OF_KEYS) - _words("passphrase passphrases passcode pw pwd") | _words(
    "x key keys id user app csrf xsrf db database smtp mail redis postgres aws gcp azure google"
    " github gitlab slack stripe openai anthropic twilio sentry django flask refresh"
)

_ABOUT = _words(
    "count counts used usage limit limits length len size type types budget policy consent enabled"
    " disabled required expires expiry expired expiration ttl index ids name names field fields"
    " rules strength"
)

_OF_TEXT = _words("eos bos pad unk sep cls mask special max min num per progress")
_WORD = r"[a-z]+|[A-Z]+|[A-Z][a-z]+"
_DATE = r"\d{4}-\d\d-\d\d([T ][\d:.+Z-]*)?"
_DOTTED = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+"

_HOST = (
    r"([a-z][a-z0-9+.-]*://)?"
    r"(localhost|\d{1,3}(\.\d{1,3}){3}|([a-z0-9][a-z0-9-]{0,40}\.)+"
    r"(com|org|net|io|dev|app|cloud|local|localdomain|internal|lan|test|example|co|uk|de|eu|fr|us"
    r"|ai|svc|cluster))(:\d{1,5})?/?"
)

_PATH = (
    r"(~|\.\.?|[A-Za-z]:)[/\\].*"
    r"|/(usr|home|etc|var|opt|tmp|Users|root|mnt|media|srv|bin|sbin|lib|dev|proc|run|sys|app|data"
    r"|private|workspace|Applications|Library|Volumes)(/[^\n]*)?"
)
_NO_SECRET = f"({_DATE})|({_PATH})|({_HOST})"

_COMMON = _words(
    "administrator authorization authentication configuration organization documentation"
    " international unauthenticated application access_token refresh_token id_token private_key"
    " client_secret client_credentials authorization_code service_account client_secret_basic"
    " client_secret_post application/json text/plain text/html"
)

_OPTION = re.compile("--?[A-Za-z][A-Za-z0-9_-]{0,60}")
URL_PASSWORD = re.compile(r"://[^\s/?#:@]*:([^\s/?#]+)@")
_URL_FIELD = re.compile(r"(?<![^&;?#])([^&;?#=]{1,64})=([^&;#]+)")
# Compiled by `re` at the first URL or key.
_URL_FIELDS = r"://[^\s?#\"'<>]*[?#]([^\s\"'<>]*)"
_PRIVATE_KEY = f"(?s){KEY_BEGIN}[A-Z0-9 ]*PRIVATE KEY(?!.*{_KEY_END})"

_MARK = REDACTED.strip("[]")


def secret_type(value: Any) -> bool:
    """Return whether a value's class alone makes it a secret (`Secret`, pydantic's `SecretStr`)."""
    cls = real_class(value)
    return cls is Secret or is_secret_class(cls)


@lru_cache(maxsize=8192)
def is_secret_key(name: str) -> bool:
    """Return whether a key, field, column or variable of this name holds a secret.

    Goes by whole words: `tokens_used`, `token_count`, `secretary` and a bare `key` do not.
    """
    if not _HINT.search(name.lower()) or name in ("PWD", "OLDPWD"):
        return False
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or words[-1] in _ABOUT:
        return False
    pairs = list(zip(["", *words], words, strict=False))
    if words == ["auth"] or any(first in _BEFORE.get(word, ()) for first, word in pairs):
        return True
    return any(
        (word in _ALONE or word.endswith(_ENDINGS)) and not (word == "token" and first in _OF_TEXT)
        for first, word in pairs
    )


def may_hold_secret_keys(text: str) -> bool:
    """Return whether names in a text may be secret: quickly, where there are many."""
    lowered = text.lower()
    return any(hint in lowered for hint in _HINTS)


def is_secret_label(label: Any) -> bool:
    """Return whether a label of a table, or a part of one, is the name of a secret."""
    parts = parts_of_label(label) or (label,)
    # A library has labels of its own class, as the names of headers.
    return any(is_of(part, str) and is_secret_key(str.__str__(part)) for part in parts)


def parts_of_label(label: Any) -> Iterator[Any] | None:
    """Return what stands in a label or key that is a tuple or frozenset of any class, else None."""
    for base in cast("tuple[Any, ...]", (tuple, frozenset)):
        if issubclass(type(label), base):
            return base.__iter__(label)
    return None


def is_name(text: str) -> bool:
    """Return whether a text with a secret's word in it may be a name: a sentence is none."""
    return len(text.split()) == 1 or _is_name_of_secret("-".join(text.split()))


def is_secret_name(key: str) -> bool:
    """Return whether what stands under a key may be a secret elsewhere too: no key is a sentence.

    Two or three words may be the label of a field: `New password`.
    """
    if not is_secret_key(key):
        return False
    return is_name(key) or (len(key.split()) <= _LONGEST_LABEL and key[-1] not in ".?!")


def names_secret(label: Any) -> bool:
    """Return whether the first of a pair names a secret: a text and a status are a pair too."""
    if type(label) is str:
        return is_secret_key(label) and is_name(label)
    return is_secret_label(label) and not (is_of(label, str) and not is_name(str.__str__(label)))


def holds_named_secret(pair: Any) -> bool:
    """Return whether the second of a tuple of two is a secret by the first, which names it."""
    if len(pair) != 2:
        return False
    label = pair[0]
    if type(label) is str:  # most are asked about for each row of long data
        return _HINT.search(label.lower()) is not None and names_secret(label)
    return parts_of_label(label) is not None and names_secret(label)


def may_announce(item: str) -> bool:
    """Return whether a text may announce a secret behind it in a list: quickly, for most do not."""
    return item[:1] == "-" or KEY_BEGIN in item


def places_behind(items: Sequence[Any], at: int) -> range:
    """Return where in a list secrets stand that the item at a place announces.

    That is the value behind the option of a secret, as in the words of a command; and the lines
    of a private key, up to its last one, or to the end where that one is missing.
    """
    item = items[at]
    if type(item) is not str:
        return range(0)
    if KEY_BEGIN in item and re.search(_PRIVATE_KEY, item):
        ends = (n for n in range(at + 1, len(items)) if _is_text_with(items[n], _KEY_END))
        return range(at + 1, next(ends, len(items)))
    is_option = _OPTION.fullmatch(item) and is_secret_key(item) and not item.startswith("--no-")
    value = items[at + 1] if is_option and at + 1 < len(items) else None
    is_value = is_exactly(value, str, bytes, int) and not _is_text_with(value, "-", 1)
    return range(at + 1, at + 1 + is_value)


def announcing(items: Sequence[Any], shown: range) -> list[Any]:
    """Return the items of a list that announce a secret at one of the places that are shown."""
    before = range(max(0, min(shown, default=0) - _LONGEST_KEY), max(shown, default=0))
    return [items[n] for n in before if any(place in shown for place in places_behind(items, n))]


def _is_text_with(item: Any, text: str, within: int | None = None) -> bool:
    return type(item) is str and text in item[:within]


def names_own_value(body: Any) -> bool:
    """Return whether what stands under `value` in a mapping is a secret by a name beside it."""
    return "value" in body and any(names_secret(body.get(slot)) for slot in NAME_SLOTS)


def is_needle(text: str) -> bool:
    """Return whether a secret is distinctive enough to be replaced wherever it turns up.

    At least 8 characters, 5 of them distinct. Not: a word of letters only below 12 characters
    (mixed case inside counts as random), a long word or phrase of a small list, a date, an
    absolute path under a usual root, a host or a URL of nothing but a host, a dotted name whose
    head is an imported or standard module, the name of a secret of several words (`api_token`),
    anything with the redaction marker's word in it.
    """
    if len(text) < SHORTEST or len(set(text)) < DISTINCT or _MARK in text:
        return False
    if (len(text) < 12 and re.fullmatch(_WORD, text)) or text.lower() in _COMMON:
        return False
    if re.fullmatch(_NO_SECRET, text) or _is_name_of_secret(text):
        return False
    head = text.partition(".")[0]
    known = head in sys.modules or head in sys.stdlib_module_names
    return not (known and re.fullmatch(_DOTTED, text))


def _is_name_of_secret(text: str) -> bool:
    """Return whether a text names a secret, as columns, fields and headers hold their own name.

    Hidden wherever it stands, it would no longer tell that a secret stands beside it.
    """
    words = _WORDS.findall(text) if re.fullmatch("[A-Za-z_]+|[A-Za-z-]+", text) else []
    # A phrase of other words may be a password.
    is_of_names = len(words) > 1 and all(word.lower() in _OF_NAMES for word in words)
    return is_of_names and is_secret_key(text)


def has_url_password(text: str) -> bool:
    """Return whether some URL in the text holds a password that is not yet redacted."""
    return bool(url_password_spans(text))


def url_password_spans(text: str) -> list[tuple[int, int]]:
    """Return where passwords stand in the URLs of a text that are not yet redacted.

    Also what a field of a query or fragment holds whose name is that of a secret.
    """
    if "://" not in text:
        return []
    spans = [match.span(1) for match in URL_PASSWORD.finditer(text)]
    for fields in re.finditer(_URL_FIELDS, text):
        found = _URL_FIELD.finditer(text, *fields.span(1))
        spans += [field.span(2) for field in found if is_secret_key(field[1])]
    return [span for span in spans if text[slice(*span)] != REDACTED]


def without_url_passwords(text: str) -> str:
    """Return a text with `[redacted]` for what `url_password_spans` finds in it."""
    return hide_spans(text, sorted(url_password_spans(text)))


def hide_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with `[redacted]` in spans of it, which come in order and do not overlap."""
    pieces, at = list[str](), 0
    for start, stop in spans:
        pieces += text[at:start], REDACTED
        at = stop
    return "".join((*pieces, text[at:]))


class Sensitive:
    """Marks a declared type as secret: `Annotated[str, Sensitive]`, bare or as an instance."""
