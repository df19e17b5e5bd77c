"""The secrets that this process knows, and the search that finds every form of them in a text."""

import json
import re
import sys
import threading
from array import array
from binascii import b2a_base64
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from repl_pair.runtime.values.marks import SHORTEST, is_needle, is_secret_key
from repl_pair.wire import REDACTED

_PIECE, _PIECES, _WORDS, _ESCAPED = 1024, 64, 20, 3
_WORD_BYTES = {"I": array("I").itemsize, "Q": array("Q").itemsize}
_URL_PASSWORD = re.compile(r"://[^\s/?#:@]*:([^\s/?#]+)@")
_SPLIT = re.compile(r"[\s;&]+")
_NUMERIC = re.compile(r"[\d.eE+-]+")
_URL_SAFE = ("", "/", "!*'()", "/:@!$&'()*+,;=")
_UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~")


class Needles:
    """The known secrets, looked for in one pass whose cost does not grow with their number.

    Each form is indexed by the machine words that its last bytes show at every alignment, so the
    aligned words of a text name the few forms that may stand in it. Threads may share it.
    """

    def __init__(self, limit: int = 2000) -> None:
        self.limit = limit
        self._pinned_by_text: dict[str, bool] = {}
        self._lock = threading.Lock()
        self._clear()

    def __len__(self) -> int:
        return len(self._pinned_by_text)

    def add(self, value: Any, *, pinned: bool = False) -> bool:
        """Learn a secret (str, bytes, or int of 8 digits or more); return whether it counts.

        Pinned ones outlive `trim`. Add only what the person's own process holds, never what a
        request holds: an agent could blank what others read, or ask whether it guessed right.
        """
        parts = {part for part in _parts(_as_text(value)) if is_needle(part)}
        with self._lock:
            for part in parts:
                known = self._pinned_by_text.pop(part, None)
                self._pinned_by_text[part] = pinned or bool(known)
                if known is None:
                    self._index(part)
        return bool(parts)

    def trim(self) -> None:
        """Forget those met longest ago once there are more than `limit`; pinned ones stay."""
        with self._lock:
            loose = [text for text, pinned in self._pinned_by_text.items() if not pinned]
            if len(loose) <= self.limit:
                return
            for text in loose[: len(loose) - self.limit * 3 // 4]:
                del self._pinned_by_text[text]
            self._clear()
            for text in self._pinned_by_text:
                self._index(text)

    def find(self, text: str) -> tuple[str, ...]:
        """Return the forms that stand in the text."""
        data = text.encode("utf-8", "surrogatepass")
        likely: set[str] = set()
        for code, table in self._tables.items():
            if table:
                whole = len(data) // _WORD_BYTES[code] * _WORD_BYTES[code]
                for word in table.keys() & array(code, data[:whole]):
                    likely.update(table[word])
        return tuple(form for form in likely if form in text)

    def scrub(self, text: str, end: int | None = None) -> tuple[str, int]:
        """Replace secrets and URL passwords by the marker; return the text and how many there were.

        With `end`, only what begins before that offset is given; a secret that spans it is
        replaced whole.
        """
        window = text if end is None else text[: end + max(self._longest, 2048)]
        result, count = _replace(window, self.find(window), len(window) if end is None else end)
        # A marker may complete a needle that begins with "]", or the password of a URL.
        for _ in range(8 if count and (self._brackets or "://" in result) else 0):
            result, more = _replace(result, self.find(result), len(result))
            count += more
            if not more:
                break
        return result, count

    def _clear(self) -> None:
        self._longest, self._brackets = 0, False
        self.numeric = False
        """Whether some needle may also turn up as a number."""
        self._tables: dict[str, dict[int, list[str]]] = {"I": {}, "Q": {}}

    def _index(self, text: str) -> None:
        self.numeric = self.numeric or bool(_NUMERIC.fullmatch(text))
        for form in forms_of(text):
            data = form.encode("utf-8", "surrogatepass")
            code = "Q" if len(data) >= 2 * _WORD_BYTES["Q"] - 1 else "I"
            width, table = _WORD_BYTES[code], self._tables[code]
            for stop in range(len(data) - width + 1, len(data) + 1):
                word = int.from_bytes(data[stop - width : stop], sys.byteorder)
                table.setdefault(word, []).append(form)
            self._longest = max(self._longest, len(form))
            self._brackets = self._brackets or "[" in form or "]" in form


NEEDLES = Needles()
"""The secrets known to this process."""


def collect_environment(environ: Mapping[str, str], needles: Needles = NEEDLES) -> None:
    """Learn, for good, the values of secret-named variables and the passwords in all URLs."""
    for name, value in list(environ.items()):
        for secret in [value] if is_secret_key(name) else url_passwords(value):
            needles.add(secret, pinned=True)


def url_passwords(text: str) -> list[str]:
    """Return the passwords of `scheme://user:password@host` in a text, as written and unquoted."""
    found = [match[1] for match in _URL_PASSWORD.finditer(text)] if "://" in text else []
    for password in [one for one in found if "%" in one]:
        raw = re.sub(rb"%([0-9a-fA-F]{2})", lambda m: bytes.fromhex(m[1].decode()), _raw(password))
        found.append(raw.decode("utf-8", "replace"))
    return found


def has_url_password(text: str) -> bool:
    """Return whether some URL in the text holds a password that is not yet redacted."""
    return "://" in text and any(m[1] != REDACTED for m in _URL_PASSWORD.finditer(text))


def forms_of(text: str) -> set[str]:
    """Return every form of a needle: plain, quoted, escaped, hex, base64 at its three offsets."""
    raw = _raw(text)
    marked_up = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    forms = {text, repr(raw)[2:-1], raw.decode("latin-1"), raw.hex(), raw.hex().upper()}
    forms |= _escapes(text)
    forms |= {marked_up, marked_up.replace('"', "&quot;").replace("'", "&#x27;")}
    for safe in _URL_SAFE:
        plain = _UNRESERVED | frozenset(safe.encode())
        quoted = "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in raw)
        forms |= {quoted, quoted.replace("%20", "+"), re.sub("%..", lambda m: m[0].lower(), quoted)}
    for offset, start in enumerate((0, 2, 3)):
        encoded = b2a_base64(bytes(offset) + raw, newline=False).decode()
        stable = encoded[start : (offset + len(raw)) * 8 // 6]
        forms |= {stable, stable.replace("+", "-").replace("/", "_")}
    return forms


def _replace(text: str, forms: Collection[str], end: int) -> tuple[str, int]:
    spans = [span for span in _spans(text, forms) if span[0] < end]
    pieces, at = list[str](), 0
    for start, stop in spans:
        pieces += text[at:start], REDACTED
        at = stop
    return "".join((*pieces, text[at : max(at, end)])), len(spans)


def _spans(text: str, forms: Collection[str]) -> list[tuple[int, int]]:
    spans = list[tuple[int, int]]()
    if "://" in text:
        spans = [m.span(1) for m in _URL_PASSWORD.finditer(text) if m[1] != REDACTED]
    for form in forms:
        at = -1
        while (at := text.find(form, at + 1)) >= 0:
            spans.append((at, at + len(form)))
    merged = list[tuple[int, int]]()
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


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
    parts = [text[at : at + _PIECE] for at in starts] + [text[-_PIECE:]]
    words = _SPLIT.split(text, _WORDS)
    if 1 < len(words) <= _WORDS:  # "Bearer …", "sid=…; lang=…", "Server=…;Password=…"
        parts += [(word.partition("=")[2] or word).strip("'\",") for word in words]
    return parts + url_passwords(text)


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
