"""What an object is: its class and bases, where it is defined, how it is called, its doc."""

import inspect
import re
import textwrap
from collections.abc import Callable
from types import (
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MethodDescriptorType,
    ModuleType,
)
from typing import Any

from repl_pair.runtime.inspection.members import (
    full_name,
    is_shown_code,
    member_of_class,
    members_of,
)
from repl_pair.runtime.inspection.signatures import signature_of
from repl_pair.runtime.inspection.sources import block_of, function_in, place_of
from repl_pair.runtime.reading.closed_values import kind_of
from repl_pair.runtime.reading.code_lines import Shown, shown_block, shown_doc
from repl_pair.runtime.reading.steps import PathMiss
from repl_pair.runtime.reading.stored_fields import read_code, read_field, stored_fields
from repl_pair.runtime.reading.table_parts import MISSING
from repl_pair.runtime.values.classes import (
    is_exactly,
    is_installed,
    is_of,
    lineage,
    qualname_of,
    real_class,
    root_of,
    space_of,
)
from repl_pair.runtime.values.paths import Cut, Key

MAX_BASES = 20
_SPACE = re.compile(r"\s")
PATH_ENDS_AT_CODE = "a path ends at a function, class or module; members=true lists what it has"


def read_end(holder: Any, key: Key | Cut) -> Any:
    """Read the last step of a path: stored data, code that is stored, or a member of the class.

    Nothing stands behind a function, class or module. PathMiss where there is nothing.
    """
    try:
        return read_field(holder, key)
    except PathMiss as miss:
        is_code = kind_of(real_class(holder)) != "data"
        found = MISSING if is_code else read_code(holder, key)
        if found is MISSING and not is_code and type(key) is str:
            found = member_of_class(real_class(holder), key)
        if found is not MISSING and is_shown_code(found):
            return found
        members = [] if is_code else [one.name for one in members_of(holder)]
        why = PATH_ENDS_AT_CODE if is_code else ""
        raise PathMiss(key, dict.fromkeys([*miss.near, *members, *miss.known]), why) from None


def stands_for_code(value: Any) -> bool:
    """Return whether a value is a function, class or module, or a method or wrapper of one."""
    if kind_of(real_class(value)) != "data" or function_in(value) is not None:
        return True
    return is_exactly(value, MethodDescriptorType, GetSetDescriptorType, ClassMethodDescriptorType)


def describe(
    value: Any, *, is_secret: bool = False, learn: Callable[[str], object]
) -> dict[str, Any]:
    """Return what a value is, from what is stored about it; slots that hold nothing are left out.

    Of what stands under the name of a secret only the class and its bases are shown, unless it is
    code. `learn` takes each literal beside the name of a secret in its source.
    """
    cls, is_class = real_class(value), is_of(value, type)
    kind, is_code = kind_of(cls), stands_for_code(value)
    of = value if is_code else cls
    out: dict[str, Any] = {"type": qualname_of(cls)}
    if is_class or not is_code:
        out["mro"] = list(map(full_name, lineage(of)[:MAX_BASES]))
    if not is_shown_code(of) or (is_secret and not is_code):
        return out
    is_persons = is_code or not is_installed(root_of(cls))
    shown = shown_block(*block_of(of)) if is_persons and kind != "module" else Shown("")
    for literal in shown.hidden:
        if not _SPACE.search(literal):  # of a method, its doc is among them
            learn(literal)
    place = place_of(of)
    out |= {} if place is None else {"where": place.as_where()}
    out |= {"signature": signature_of(value)} if is_code else {}
    is_known = not is_code and root_of(cls) == "builtins"
    out["doc"] = "" if is_known else shown_doc(inspect.cleandoc(doc_of(of)))
    out["source"] = textwrap.dedent(shown.text)
    return {slot: text for slot, text in out.items() if text}


def doc_of(value: Any) -> str:
    """Return the doc that is stored for a module, class or function, if plain text; else ""."""
    if is_of(value, ModuleType):
        doc = stored_fields(value).get("__doc__")
    elif is_of(value, type):
        doc = space_of(value).get("__doc__")
    else:
        function = function_in(value)
        held = value if function is None and stands_for_code(value) else function
        doc = None if held is None else held.__doc__
    # Of a class in C its signature stands before its doc.
    return doc.rpartition("\n--\n\n")[2] if type(doc) is str else ""
