"""Keys that the kernel does not know as secrets, found by their form as the server finds them."""

import re

from repl_pair.key_forms import KEY_FORMS
from repl_pair.runtime.secrets.known import holds_secret
from repl_pair.runtime.values.marks import hide_spans

# As the server reads them: a letter with an accent is part of no word.
_FORMS = [(re.compile(form, re.ASCII), re.compile(part)) for form, part in KEY_FORMS.items()]


def hide_keys(text: str) -> str:
    """Return a text without keys of well-known forms, as it is once the server has sent it.

    What an agent compares with a text is compared with this: else its answer confirms a guess.
    """
    for form, part in _FORMS:
        found = (match.span(1) for match in form.finditer(text) if part.search(match[1]))
        text = hide_spans(text, found)
    return text


def is_shown(key: str) -> bool:
    """Return whether a key leaves as it is; one that does not reads as not there.

    Else an agent that looks it up has its guess confirmed.
    """
    return not holds_secret(key) and hide_keys(key) == key
