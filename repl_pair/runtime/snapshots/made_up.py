"""What each process makes up anew: ids that libraries give to parts of markup, and addresses."""

import re
from collections import Counter
from collections.abc import Callable

_UUID = re.compile(
    r"[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}"
    # Half of a longer number is none; letters of a name may stand right before one.
    r"|(?<![0-9a-f]{8})(?=\d{0,31}[a-f])[0-9a-f]{32}(?![0-9a-f])"
)
_MADE_UP = re.compile(
    rf"(?<![^\W_])(?:{_UUID.pattern}"
    r"|T_[0-9a-f]{5}"  # tables that pandas has styled
    r"|C[0-9a-f]+_[0-9a-f]+_[0-9a-f]{10}|(?:image|[A-Za-z])[0-9a-f]{10}"  # SVG of matplotlib
    r"|[A-Za-z]?(?=\d*[a-f])[0-9a-f]{10,}"
    r")(?![^\W_])"
)
_ID = re.compile(r"""(?<![\w-])id\s*=\s*\\?(?:["']|&quot;)([^"'&\\]+)""")
_CODE = re.compile(
    r"<(script|style)\b(?:[^<]++|<(?!/\1))*+"
    r"""|<[a-z/!?](?:[^<>"']++|"[^"]*+"|'[^']*+')*+""",
    re.IGNORECASE,
)
"""What of markup nobody reads: tags with their attributes, styles, scripts."""
_DATE = re.compile(r"(<dc:date>)[^<]*(</dc:date>)")


def fix_ids(text: str) -> str:
    """Put numbers in the place of made-up ids in tags, styles and scripts; what is read stays.

    Made up are the ids of tags that have such a form, and UUIDs that stand there more than once.
    """
    code = [found[0] for found in _CODE.finditer(text)]
    ids = [word for part in code for id in _ID.findall(part) for word in _MADE_UP.findall(id)]
    counts = Counter(word for part in code for word in _UUID.findall(part))
    if words := [*ids, *(word for word, count in counts.items() if count > 1)]:
        number = _numbering(words)
        text = _CODE.sub(lambda part: _UUID.sub(number, _MADE_UP.sub(number, part[0])), text)
    return _DATE.sub(r"\1…\2", text)


def fix_uuids(text: str) -> str:
    """Put numbers in the place of the UUIDs in a script, or in data for one."""
    return _UUID.sub(_numbering(_UUID.findall(text)), text)


def _numbering(words: list[str]) -> Callable[[re.Match[str]], str]:
    """Return what gives a word its number, and any other back."""
    names = {word: f"id{number}" for number, word in enumerate(dict.fromkeys(words), 1)}
    return lambda found: names.get(found[0], found[0])


def hide_addresses(text: str) -> str:
    """Write as `0x…` the address in the repr of an object, as `<Cart object at 0x7f…>` has it.

    An address follows ` at `. It ends a repr, or stands in an open one, or follows `Name(Name)`.
    """

    def hide(found: re.Match[str]) -> str:
        start = max(0, found.start() - _LONGEST)
        is_one = found["end"] or _BEFORE.search(text, start, found.start())
        return "0x…" if is_one else found[0]

    return _ADDRESS.sub(hide, text)


_ADDRESS = re.compile(r"(?<= at )0x[0-9a-fA-F]{6,}(?=(?P<end>>|&gt;)?)")
_BEFORE = re.compile(
    r"(?:\w\(\w+\) at "  # as `Generator(PCG64) at `
    r"|(?:<|&lt;)[\w.](?:[^<>&\n]|&(?![lg]t;)|<[\w-]+>|&lt;[\w-]+&gt;)*+)\Z"  # as `<lambda>`
)
_LONGEST = 300
"""How far before an address its repr may begin."""
