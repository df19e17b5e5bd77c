"""What of a secret is looked for, and every form that it takes in a text."""

import json
import re
from binascii import b2a_base64
from collections.abc import Iterator
from typing import Any

from repl_pair.runtime.values.marks import SHORTEST, URL_PASSWORD, is_needle

_PIECE, _PIECES, _WORDS, _ESCAPED = 1024, 64, 20, 3
_LINES, _SHORTEST_LINE = 128, 16
_SPLIT = re.compile(r"[\s;&]+")
_LINE_END = re.compile(r"(?:\r|\\r)?(?:\n|\\n)")
_ARMOR = re.compile(r"-----(BEGIN|END)[A-Z0-9 -]*")
# Compiled by `re` once a sentence is searched.
_LISTED = r"""[^\s"'`<>(){}\[\],;&=]+"""
_RANDOM = (
    r"(?<![A-Za-z\d])(?=[A-Z\d]*[a-z])(?=[a-z\d]*[A-Z])(?=[A-Za-z]*\d)[A-Za-z\d]{12,}"
    r"|(?<![\da-f])[\da-f]{32}"
)
_UNCHANGED = re.compile(r"[\w.~-]+", re.ASCII)
_URL_SAFE = ("", "/", "!*'()", "/:@!$&'()*+,;=")
_ENTITIES = ("&#%d;", "&#x%x;", "&#x%X;")
_UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~")


def parts_of(value: Any) -> set[str]:
    """Return what of a secret is looked for: its pieces, and the words of a short one."""
    return {part for part in _parts(_as_text(value)) if is_needle(part)}


def secrets_beside_sentence(value: str | int | bytes) -> list[str]:
    """Return what in a value beside a sentence that names a secret is one elsewhere too.

    That is a word that stands alone and is no path or URL, a word with a long random part, what
    is armored, the password of a URL, and a number of 8 digits. All else may be any text, in which
    a change is to be seen.
    """
    text = _as_text(value)[: _PIECE * _PIECES].strip()
    if type(value) is int:
        return [text] if is_needle(text) else []
    if _ARMOR.match(text) or (len(text.split()) == 1 and text[0] != "/" and "://" not in text):
        return [text]
    words = re.findall(_LISTED, text)
    return [word for word in words if re.search(_RANDOM, word)] + url_passwords(text)


def url_passwords(text: str) -> list[str]:
    """Return the passwords of `scheme://user:password@host` in a text, as written and unquoted."""
    found = [match[1] for match in URL_PASSWORD.finditer(text)] if "://" in text else []
    for password in [one for one in found if "%" in one]:
        raw = re.sub(rb"%([0-9a-fA-F]{2})", lambda m: bytes.fromhex(m[1].decode()), _raw(password))
        found.append(raw.decode("utf-8", "replace"))
    return found


def forms_of(text: str) -> set[str]:
    """Return every form of a needle: plain, quoted, escaped, hex, base64 at its three offsets.

    In entities and quoted forms that leave no character as it is, too.
    """
    raw = _raw(text)
    pairs, codes = raw.hex("%"), tuple(map(ord, text))
    forms = {text, raw.hex(), raw.hex().upper(), f"%{pairs}", f"%{pairs.upper()}"}
    forms |= {entity * len(text) % codes for entity in _ENTITIES}
    if not _UNCHANGED.fullmatch(text):
        forms |= {repr(raw)[2:-1], raw.decode("latin-1")} | _escapes(text)
        forms.update(_quotes(raw), *map(_escapes, _mark_up(text)))
    for offset, start in enumerate((0, 2, 3)):
        encoded = b2a_base64(bytes(offset) + raw, newline=False).decode()
        stable = encoded[start : (offset + len(raw)) * 8 // 6]
        forms |= {stable, stable.replace("+", "-").replace("/", "_")}
    return forms


def _as_text(value: Any) -> str:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "surrogateescape")
    if isinstance(value, int) and value.bit_length() < 10_000:
        return str(value)
    return value if type(value) is str else ""


def _raw(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _parts(text: str) -> list[str]:
    text = text.strip()
    starts = range(0, min(len(text), _PIECE * _PIECES), _PIECE - SHORTEST)
    parts = [text[at : at + _PIECE] for at in starts] + [text[-_PIECE:]] + url_passwords(text)
    pieces, words = list[str](), _SPLIT.split(text, _WORDS)
    if 1 < len(words) <= _WORDS:  # "Bearer …", "sid=…; lang=…", "Server=…;Password=…"
        pieces += [(word.partition("=")[2] or word).strip("'\",") for word in words]
    if "\n" in text or "\\n" in text:
        lines = [line.strip() for line in _LINE_END.split(text, _LINES)[:_LINES]]
        pieces += [line for line in lines if len(line) >= _SHORTEST_LINE]
    return [part for part in parts + pieces if not _ARMOR.fullmatch(part)]


def _quotes(raw: bytes) -> Iterator[str]:
    for safe in _URL_SAFE:
        plain = _UNRESERVED | frozenset(safe.encode())
        quoted = "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in raw)
        yield from (quoted, quoted.replace("%20", "+"))
        yield re.sub("%..", lambda match: match[0].lower(), quoted)


def _mark_up(text: str) -> Iterator[str]:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield text
    for double, single in (("&quot;", "&#x27;"), ("&#34;", "&#39;"), ("&quot;", "&#39;")):
        yield text.replace('"', double).replace("'", single)


def _escapes(text: str) -> set[str]:
    """Return the text as it stands in JSON and in Python's reprs, and in those of such texts."""
    found = last = {text}
    for _ in range(_ESCAPED):
        last = {form for inner in last for form in _escape(inner)}
        found = found | last
    return found


def _escape(text: str) -> Iterator[str]:
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    for write in (repr, ascii):
        yield write(text)[1:-1]
        # After a double quote, single ones stand around the text, and are escaped in it.
        yield write('"' + text)[2:-1]
