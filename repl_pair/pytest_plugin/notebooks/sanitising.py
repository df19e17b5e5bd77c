"""What differs from run to run in any text, and what stands for it where texts are compared."""

import re
from collections.abc import Mapping
from typing import Any, cast

PATTERNS: Mapping[str, str] = {
    r"\b0x[0-9a-fA-F]{6,}\b": "ADDRESS",
    r"\bmodel_id='?[0-9a-f]{32}'?": "MODEL_ID",
    r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:ns|µs|μs|us|ms|s|min)\b": "DURATION",
}
"""Addresses, ids of widgets' models, durations."""


def sanitise(given: Any) -> Any:
    """Return data with what is volatile replaced in each of its texts."""
    if isinstance(given, str):
        for pattern, standing in PATTERNS.items():
            given = re.sub(pattern, standing, given)
    elif isinstance(given, Mapping):
        slots = cast("Mapping[str, Any]", given)
        return {name: sanitise(value) for name, value in slots.items()}
    elif isinstance(given, list):
        return [sanitise(one) for one in cast("list[Any]", given)]
    return given
