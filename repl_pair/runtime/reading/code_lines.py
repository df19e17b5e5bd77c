"""Lines of source code as they may be shown: beside the names of secrets, without literals."""

import re

from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.wire import REDACTED, cut_at_word

LONGEST_CODE = 200
"""How many characters of a line of code are kept."""


def shown_code(line: str) -> str:
    """Return a line of code; beside a name of secrets its literals are none to be shown."""
    if any(map(is_secret_key, _WORD.findall(line))):
        line = _LITERAL.sub(f'"{REDACTED}"', line)
    return cut_at_word(line, LONGEST_CODE)


_WORD = re.compile(r"\w+")
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
