"""Versions, requirements and hashes of schemas, by the packages that know them."""

import json
import re
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from typing import Any

from repl_pair.errors import RequestError

_OTHER_NUMBER = re.compile(r"[:\[,]-?[0-9]+(?:[.eE]|[0-9]{15})")
"""Numbers that RFC 8785 may write in another way than Python: fractions, and those beyond 2**53."""


@lru_cache(maxsize=1024)
def read_version(text: str) -> Any:
    """Return a version that can be compared, None where the text is no semver."""
    try:
        return _package("semantic_version").Version(text)
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def meets(version: str, requirement: str) -> bool | None:
    """Return whether a version meets a requirement such as `>=1.0,<2`.

    None where the version is no semver, or the requirement cannot be read.
    """
    try:
        wanted = _package("semantic_version").SimpleSpec(requirement)
    except ValueError:
        return None
    found = read_version(version)
    return None if found is None else wanted.match(found)


def is_requirement(text: str) -> bool:
    """Return whether a requirement can be read."""
    return meets("0.0.0", text) is not None


def hash_schema(schema: dict[str, Any]) -> str:
    """Return the SHA-256 of a schema in the canonical form of RFC 8785.

    RequestError `bad_arguments` for what that form does not have: numbers beyond 2**53, halves of
    surrogate pairs.
    """
    try:
        text = _ENCODE(schema)
        # What is left out here the encoder of Python writes alike, in a sixth of the time.
        is_plain = text.isascii() and not _OTHER_NUMBER.search(text)
        content = text.encode() if is_plain else _package("rfc8785").dumps(schema)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        message = f"The schema has no form by RFC 8785: {why}."
        raise RequestError("bad_arguments", message) from error
    return sha256(content).hexdigest()


_ENCODE = json.JSONEncoder(
    sort_keys=True,
    separators=(",", ":"),
    ensure_ascii=False,
    allow_nan=False,
    check_circular=False,  # it is data of JSON
).encode


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise RequestError(
            "cannot_run",
            f"Realms need the packages rfc8785 and semantic-version, and the Python of this kernel "
            f"has no {name}.",
            hints=["In the kernel: %pip install rfc8785 semantic-version"],
        ) from error
