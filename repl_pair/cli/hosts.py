"""The hosts that start MCP servers: the file and the format of each one's entries."""

import json
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from repl_pair.cli import jsonc

Scope: TypeAlias = Literal["project", "user"]
Entry: TypeAlias = Mapping[str, Any]


def _insert_toml(text: str, key: str, name: str, entry: Entry) -> str:
    """Append the table `key.name`; the text before it stays as it is."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{key}.{name}]", *(f"{slot} = {_toml(value)}" for slot, value in entry.items())]
    gap = newline if text.endswith("\n") else newline * 2
    return text + (gap if text.strip() else "") + newline.join([*lines, ""])


def _toml(value: Any) -> str:
    """Write text, a list of texts or a mapping of texts; JSON quotes text as TOML does."""
    if isinstance(value, Mapping):
        pairs: Mapping[str, str] = value  # pyright: ignore[reportUnknownVariableType]  env
        return "{ " + ", ".join(f"{name} = {_toml(text)}" for name, text in pairs.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Host:
    """A program that starts MCP servers; its entries stand under `key`.

    `insert` returns a file's text with one more entry, unchanged otherwise; it and `parse` raise
    ValueError for a text of another format, `insert` also where the entry has no place.
    """

    title: str
    key: str
    project: str
    user: Callable[[], Path]
    parse: Callable[[str], Mapping[str, Any]] = jsonc.parse
    insert: Callable[[str, str, str, Entry], str] = jsonc.insert
    fixed: Entry = field(default_factory=lambda: {"type": "stdio"})
    usual: Scope = "project"
    notes: Mapping[Scope, str] = field(default_factory=dict[Scope, str])

    def file(self, scope: Scope) -> Path:
        """Return the file of a scope; a project is the working directory."""
        return self.user() if scope == "user" else Path.cwd() / self.project


def _vscode_file() -> Path:
    if sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "Code" / "User" / "mcp.json"


HOSTS: Mapping[str, Host] = {
    "claude": Host(
        title="Claude Code",
        key="mcpServers",
        project=".mcp.json",
        user=lambda: Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home()) / ".claude.json",
        notes={"user": "Claude Code itself keeps writing this file: end its sessions before."},
    ),
    "cursor": Host(
        title="Cursor",
        key="mcpServers",
        project=".cursor/mcp.json",
        user=lambda: Path.home() / ".cursor" / "mcp.json",
    ),
    "vscode": Host(title="VS Code", key="servers", project=".vscode/mcp.json", user=_vscode_file),
    "codex": Host(
        title="Codex",
        key="mcp_servers",
        project=".codex/config.toml",
        user=lambda: Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml",
        parse=tomllib.loads,
        insert=_insert_toml,
        fixed={},
        usual="user",
        notes={"project": "Codex reads it in a project that it was told to trust."},
    ),
}
