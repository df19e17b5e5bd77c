"""What no quote of an agent is compared with: values beside the names of secrets.

More is hidden than where a text is shown: a quote that is not found does less harm than one that
confirms a guess.
"""

import re
from collections.abc import Iterator

from repl_pair.runtime.reading.code_lines import hide_literals, names_secret, shown_doc
from repl_pair.runtime.review.markdown import parts_of
from repl_pair.runtime.review.notebooks import Cell, Output
from repl_pair.runtime.values.marks import (
    hide_spans,
    is_secret_key,
    is_secret_label,
    may_hold_secret_keys,
)
from repl_pair.wire import REDACTED

_LONGEST = 500
_VALUE = re.compile(
    rf"[\s>*_`~\"'\\(\[{{+-]{{0,40}}(?P<value>[^\s|]{{1,{_LONGEST}}})"
    r"(?P<end>(?=[ \t]*(?:[|#;,\r\n]|--|\Z)))?"
)
"""The word behind a sign; `end` where it is all that is given."""
_REST = re.compile(r"[^\s|]*")
_NAMED = re.compile(
    r"(?<![\w-])(?P<name>[\w-]{1,64}(?: [\w-]{1,64})?)[ \t>*_`~\"'\\)\]}]{0,8}"
    r"(?P<sign>(?:[:=|]|[-\u2013\u2014](?=[>\s]))[=>]?)"
)
_OPTION = re.compile(r"(?<![\w-])(?P<name>--?[\w-]{1,64})(?P<sign>[ \t])")
_PROSE = re.compile(r"[A-Za-z\u00c0-\uffff.,;:!?()'`*_-]+")
_NO_VALUE = re.compile(
    r"[A-Za-z_]+(?:\.[A-Za-z_]+)+[,;:)\]]*|[A-Za-z_.]+\(.*\).*"  # a dotted name, a call
    r"|\$\{?[A-Z_]+\}?\W*|<[A-Za-z_-]+>?\W*|\{+[A-Za-z_.]+\}*\W*|\.{3}|[A-Z_-]*[A-Z]{3}_[A-Z_-]+"
    r"|(?:str|int|bytes|bool|float|None|null|[Tt]rue|[Ff]alse|string|boolean|number)\W*"
    rf"|{re.escape(REDACTED[1:])}\W*"
)
"""A name of code, a placeholder, a type, or what is hidden already."""
_RULE = re.compile(r"[\s|:-]+")


def hide_in_doc(text: str) -> str:
    """Return Markdown, or any other prose, without what stands beside the names of secrets."""
    if not may_hold_secret_keys(text):
        return text
    parts = (_hide_in_part(part, is_block) for part, is_block in parts_of(text))
    return _hide_values("".join(parts))


def hide_in_cell(cell: Cell) -> str:
    """Return the text of a cell without what stands beside the names of secrets.

    Of a cell whose code names a secret no output is left: it may be of that secret.
    """
    if cell.kind != "code":
        return hide_in_doc(cell.text)
    outputs = () if names_secret(cell.source) else map(_hide_in_output, cell.outputs)
    return "\n".join(filter(None, (hide_literals(cell.source).text, *outputs)))


def _hide_in_output(output: Output) -> str:
    """Hide values in an output; a result that names a secret may be a table of them."""
    if output.is_result and names_secret(output.text):
        return ""
    if not may_hold_secret_keys(output.text):
        return output.text
    return _hide_values(hide_literals(output.text).text)


def _hide_in_part(part: str, is_block: bool) -> str:
    return hide_literals(part).text if is_block else "".join(_hide_columns(shown_doc(part)))


def _hide_columns(text: str) -> Iterator[str]:
    """Yield the lines of a text, those of tables without the columns that are named as secrets."""
    columns: list[int] | None = None
    for line in text.splitlines(keepends=True):
        cells = line.split("|")
        if len(cells) == 1:
            columns = None
        elif columns is None:
            labels = [cell.strip(" *`_\r\n") for cell in cells]
            columns = [n for n, label in enumerate(labels) if is_secret_label(label)]
        elif columns and not _RULE.fullmatch(line):
            hidden = [f" {REDACTED} " if n in columns else cell for n, cell in enumerate(cells)]
            line = "|".join(hidden).rstrip("\r\n") + "\n"
        yield line


def _hide_values(text: str) -> str:
    for pattern in (_NAMED, _OPTION):
        text = hide_spans(text, _spans_of_values(pattern, text))
    return text


def _spans_of_values(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while (found := pattern.search(text, at)) is not None:
        at = found.end()  # what is no value may be the next name
        value = _VALUE.match(text, at) if is_secret_key(found["name"]) else None
        if value is not None and _is_value(found["sign"], value):
            rest = _REST.match(text, value.end("value"))
            at = value.end("value") if rest is None else rest.end()
            yield value.start("value"), at


def _is_value(sign: str, found: re.Match[str]) -> bool:
    """Return whether a word behind the name of a secret may be that secret, and no prose."""
    value = found["value"]
    if _NO_VALUE.fullmatch(value) or (is_secret_key(value) and not any(map(str.isdigit, value))):
        return False
    is_given = sign.strip() in ("", "=", ":=") or found["end"] is not None
    return is_given or not _PROSE.fullmatch(value)
