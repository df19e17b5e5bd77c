"""The content hash: one short text for data, equal in every process."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from repl_pair.runtime.values import canonical

SCHEME = "rp1:"


def content_hash(slots: Mapping[str, Any]) -> str:
    """Hash the resolved slots of a variant: the scheme and 64 hex digits, equal in every process.

    Raises:
        AuthoringError: `bad_body` when a slot holds what is no data.
    """
    digest = sha256()
    canonical.write(slots, digest.update)
    return SCHEME + digest.hexdigest()
