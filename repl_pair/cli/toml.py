"""TOML as hosts keep it: one table more, at the end."""

import json
from collections.abc import Mapping
from typing import Any


def insert(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Append the table `key.name`; the text before it stays as it is."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{key}.{name}]", *(f"{slot} = {_write(value)}" for slot, value in entry.items())]
    gap = newline if text.endswith("\n") else newline * 2
    return text + (gap if text.strip() else "") + newline.join([*lines, ""])


def _write(value: Any) -> str:
    """Write text, a list of texts or a mapping of texts; JSON quotes text as TOML does."""
    if isinstance(value, Mapping):
        pairs: Mapping[str, str] = value  # pyright: ignore[reportUnknownVariableType]  env
        return "{ " + ", ".join(f"{name} = {_write(text)}" for name, text in pairs.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
