"""Distinguishes the value of a secret from source code, prose and placeholders beside its name."""

from collections.abc import Callable
from typing import Any, NamedTuple

import re2  # pyright: ignore[reportMissingTypeStubs]  it ships none

AROUND = 160
"""How many bytes before and after a value are looked at."""


def compile_pattern(pattern: bytes) -> Any:
    """Compile a pattern that takes linear time."""
    options: Any = re2.Options()
    options.max_mem = 64 << 20
    return re2.compile(pattern, options)  # pyright: ignore[reportUnknownMemberType]  no stubs


_LITERALS = frozenset(
    b"None null true false True False undefined void self this function lambda async await yield"
    b" typeof include omit same-origin string boolean integer number object".split()
)
_PLACEHOLDER = compile_pattern(
    rb"\{\{[^{}]*\}\}|\{%.*%\}|\$?\{ *[A-Za-z_][A-Za-z_.]*(?:[ |(][^{}]*)?\}|\$[A-Z][A-Z_]+"
    rb"|<[A-Za-z][A-Za-z_ -]*>|%\(\w+\)s|%s|\.{3}"
)
_EXAMPLE_URL = compile_pattern(rb"(?s).*://(?:[\w.-]+;)?user(?:name)?:")
_EXAMPLES = frozenset(b"pass password passwd pwd token secret".split())
_MARKS = compile_pattern(rb"[^A-Za-z0-9\x80-\xff]{1,3}")
_FIELDS = compile_pattern(rb"\{[^{}]*\}")
_NAME = compile_pattern(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_LETTER = compile_pattern(rb"[A-Za-z]")
_METAVAR = compile_pattern(rb"[A-Z_-]+")
_PROSE = compile_pattern(rb"[A-Za-z_.:)-]+")
_LETTERS = compile_pattern(rb"[A-Za-z_]+")
_OF_SECRETS = compile_pattern(
    rb"(?i)(?:.*_)?(?:pass\w*|pwd|tokens?|secrets?|keys?|cred\w*|auth\w*)(?:_.*)?"
)
_FLAG = compile_pattern(
    rb"(?s)(?:.*[^A-Za-z])?(?:is|has|use|hide|show|need|allow|require)s?_\w* ?= ?"
)
# Lines begin and end in a text, and escaped in one.
_BEGIN, _END = rb"(?:^|[\n\r]|\\n)", rb"(?:$|[\n\r]|\\+[nr])"
_LINE_END = compile_pattern(rb"[\"'`<]|\\+[\"']|" + _END)
_COMMAND = compile_pattern(rb" *(?:[\"'`|&;>]|\\|--?[A-Za-z]|" + _END + rb")")
_TARGET = rb"[\w.\[\]\"']+"
_STATEMENT = compile_pattern(
    rb"(?s).*" + _BEGIN + rb" {4,}(?:" + _TARGET + rb"(?:, | = ))*"
    rb"" + _TARGET + rb"(?:: [\w.| \[\]]+)? = $"
)
_STATEMENT_END = compile_pattern(
    rb" *(?:" + _END + rb"|[.,]|(?:if|or|and|is|in|not|else|#|[+%|]|[!=]?=) )"
)
_ARGUMENT = compile_pattern(
    rb"(?s).*(?:" + _BEGIN + rb" {4,}|\b[a-z_]\w*\((?:[^()=\n]|\([^()\n]*\))+, ?)\w*=$"
)
_NAMED_ARGUMENT = compile_pattern(
    rb"(?s).*(?:" + _BEGIN + rb" {4,}|\w\((?:[^()\n]|\([^()\n]*\))*)\b(\w+)=$"
)
_ARGUMENT_END = compile_pattern(rb"(?:\s|\\+n)*[,)]")
_CALL = compile_pattern(rb"(?s).*?([\w.]+)\([bBrRuUfF]{0,2}\\*[\"']$")
_WRAPPER = compile_pattern(rb"(?i).*(?:secret|str|bytes|text|unicode|password|quote)\w*")
_ORDINARY = compile_pattern(rb"[A-Za-z_\s.,:;'%@<>|&/\\+-]*")
_CODEC = compile_pattern(rb"(?:.*\.)?(?:en|de)code")
_DOCSTRING = compile_pattern(
    rb"(?s).*:[ \t]*(?:\r|\\+r)?(?:\n|\\+n)(?:\s|\\+[nrt])*[rRuU]?(?:\\*[\"']){3}"
)
_FORMATTED = compile_pattern(rb"(?s).*[^\w][rR]?[fF][rR]?\\*[\"']{1,3}$")
_IN_QUOTES = compile_pattern(rb"(?s).*(?:\"[^\"\n]*\w *: *\\*\"|'[^'\n]*\w *: *\\*')")
_AFTER_QUOTES = (b"", *(bytes([byte]) for byte in b" ,;.+%)]}:"))
_OF_TEXT = compile_pattern(
    rb"(?s)(?:(?:.*[^A-Za-z])?(?i:page|continuation|eos|bos|pad|unk|sep|cls|mask|progress)[_-]?"
    rb"|.*[a-z](?:Page|Continuation|Progress))(?i:token)"
)


def is_of_text(name: bytes) -> bool:
    """Return whether a name that ends in `token` means one of pages, or of language models."""
    return _OF_TEXT.fullmatch(name) is not None


class Candidate(NamedTuple):
    """A value beside the name of a secret, and what stands around it."""

    value: bytes
    before: bytes
    after: bytes


def look_around(data: bytes, start: int, stop: int) -> Candidate:
    """Return a value with what stands around it, up to the next NUL."""
    before = data[max(0, start - AROUND) : start].rpartition(b"\0")[2]
    return Candidate(data[start:stop], before, data[stop : stop + AROUND].partition(b"\0")[0])


def is_any(_found: Candidate) -> bool:
    """Take every value for a secret."""
    return True


def holds(pattern: str) -> Callable[[Candidate], bool]:
    """Return what tells whether a value holds what a pattern matches; the empty one, always."""
    part = compile_pattern(pattern.encode())
    return lambda found: part.search(found.value) is not None


def has_digit(found: Candidate) -> bool:
    """Return whether a value has a digit."""
    return any(48 <= byte <= 57 for byte in found.value)


def is_given(found: Candidate) -> bool:
    """Return whether there is a value, and no word, mask or placeholder in place of one."""
    value = found.value.rstrip(b"?")
    return (
        bool(value.strip(b"*"))
        and value not in _LITERALS
        and not _PLACEHOLDER.fullmatch(value)
        and not is_of_text(found.before.rstrip(b" :=\"'\\"))
    )


def is_in_url(found: Candidate) -> bool:
    """Distinguish a password from the `user:password@` of documentation."""
    example = found.value.lower() in _EXAMPLES and _EXAMPLE_URL.fullmatch(found.before)
    return is_given(found) and not example


def is_quoted(found: Candidate) -> bool:
    """Distinguish a value in quotes from an argument, a template and the text after a quote."""
    value, before, _ = found
    if not is_given(found) or _MARKS.fullmatch(value):
        return False
    if _IN_QUOTES.fullmatch(before) and value[:1] in _AFTER_QUOTES:
        return False
    if _DOCSTRING.fullmatch(before):
        return False
    if b"{" in value and _FORMATTED.fullmatch(before):
        return has_digit(found._replace(value=_FIELDS.sub(b"", value)))
    call = _CALL.fullmatch(before)
    if call is None:
        return True
    if _CODEC.fullmatch(call[1]):
        return False
    return not _ORDINARY.fullmatch(value) or _WRAPPER.fullmatch(call[1]) is not None


def is_uncalled(found: Candidate) -> bool:
    """Distinguish a value from a call in source code."""
    name, bracket, rest = found.value.partition(b"(")
    is_call = bracket and _NAME.fullmatch(name) and _closes(bracket + rest + found.after)
    return is_given(found) and (not is_call or rest.rpartition(b")")[2].isalnum())


def is_assigned(found: Candidate) -> bool:
    """Distinguish a value from a name, a call or an expression in source code."""
    value, before, after = found
    if not is_given(found):
        return False
    if not _NAME.fullmatch(value):
        return True
    if b"." in value or _closes(after):
        return False
    if not _LETTERS.fullmatch(value):
        return True
    if _STATEMENT.fullmatch(before):
        return not _STATEMENT_END.match(after)
    if not _ARGUMENT_END.match(after):
        return True
    named = _NAMED_ARGUMENT.fullmatch(before)
    own = named and value.strip(b"_") == named[1].strip(b"_")
    of_secrets = named and b"_" in value.strip(b"_") and _OF_SECRETS.fullmatch(value)
    return not (own or of_secrets or _FLAG.fullmatch(before) or _ARGUMENT.fullmatch(before))


def _closes(after: bytes) -> bool:
    """Return whether a call or an index begins here that ends in sight."""
    closing = {b"(": b")", b"[": b"]"}.get(after[:1])
    return closing is not None and (
        closing in after or len(after) >= AROUND or after[1:].startswith((b"\n", b"\\n"))
    )


def is_random(found: Candidate) -> bool:
    """Distinguish a token from the name of a user."""
    return is_given(found) and has_digit(found) and _LETTER.search(found.value) is not None


def is_last(found: Candidate) -> bool:
    """Return whether a line ends after a value."""
    return is_given(found) and _LINE_END.match(found.after) is not None


def is_argument(found: Candidate) -> bool:
    """Distinguish the argument of a command from its name in a usage text and from prose."""
    value, _, after = found
    if not is_given(found) or _METAVAR.fullmatch(value):
        return False
    return not _PROSE.fullmatch(value) or (
        value[-1:] not in b".:)" and _COMMAND.match(after) is not None
    )


def is_keyed(found: Candidate) -> bool:
    """Distinguish a value from a word of prose, a type and a small number in JSON."""
    digits = found.value.lstrip(b"-").replace(b".", b"", 1)
    small = digits.isdigit() and (len(digits) < 6 or b"." in found.value)
    return has_digit(found) and not small and is_given(found)
