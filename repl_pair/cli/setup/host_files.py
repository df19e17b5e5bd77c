"""One more entry put into the file of a host; all else in it stays as it is."""

import difflib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from repl_pair.cli.setup.hosts import TOKEN, URL, Entry, Host
from repl_pair.errors import RequestError

HIDDEN = "…"
_PLAIN = ("type", "command", "cwd", "bearer_token_env_var")


@dataclass(frozen=True, kw_only=True)
class Change:
    """A file's content before and with the entry; `after` is None if the entry is there."""

    path: Path
    before: bytes | None
    after: bytes | None


def plan(host: Host, path: Path, name: str, entry: Entry) -> Change:
    """Look at the file and plan the entry's place; changes nothing.

    `bad_arguments` if another entry has that name; `unreadable` if the file is none of the host's
    language, or cannot take the entry without a loss.
    """
    before = _read(path)
    try:
        text = (before or b"").decode()
        held = host.parse(text)
        servers = held.get(host.key, {})
        if name in servers:
            _compare(path, name, servers[name], entry)
            return Change(path=path, before=before, after=None)
        after = host.insert(text, host.key, name, entry)
        if host.parse(after) != {**held, host.key: {**servers, name: entry}}:
            raise ValueError("the entry has no place in it")
        return Change(path=path, before=before, after=after.encode())
    except (ValueError, TypeError) as error:
        raise RequestError(
            "unreadable",
            f"{path} cannot take the entry as it stands: {error}. It was left as it is; put the "
            f"entry under {host.key!r} by hand.",
        ) from error


def carry_out(change: Change) -> None:
    """Put the planned content into the file's place at once; mode, owner and links are kept.

    `cannot_run` where that is not possible; the file is then as it was.
    """
    target = Path(os.path.realpath(change.path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, change)
    except OSError as error:
        raise RequestError(
            "cannot_run", f"{change.path} could not be written: {error.strerror}. Nothing changed."
        ) from error


def _replace(target: Path, change: Change) -> None:
    number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(number, "wb") as made:
            made.write(change.after or b"")
        _take_after(Path(name), target, fresh=change.before is None)
        if _read(target) != change.before:
            raise RequestError("cannot_run", f"{change.path} was changed meanwhile. Do it again.")
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _take_after(made: Path, target: Path, *, fresh: bool) -> None:
    if fresh:
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o666 & ~mask)
        return
    shutil.copymode(target, made)
    new, old = made.stat(), target.stat()
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        os.chown(made, old.st_uid, old.st_gid)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RequestError("unreadable", f"{path} cannot be read: {error.strerror}.") from error


def _compare(path: Path, name: str, present: Any, wanted: Entry) -> None:
    held = cast("Entry", present) if isinstance(present, Mapping) else None
    if held is not None and _meaning(held) == _meaning(wanted):
        return
    before = [HIDDEN] if held is None else _show(held)
    lines = difflib.unified_diff(
        before, _show(wanted), f"{name}, in the file", f"{name}, as asked", lineterm=""
    )
    old, new = _own_url(held or {}), _own_url(wanted)
    where = f", at {old}; {new} was asked for" if old and new else ""
    remedy = f"write {new} into {name!r}" if where else f"remove {name!r} from the file"
    raise RequestError(
        "bad_arguments",
        f"{path} has another server named {name!r}{where}. It was left as it is.",
        detail={"diff": "\n".join(lines)},
        hints=["the same with --name OTHER", f"or {remedy} by hand"],
    )


def _own_url(entry: Entry) -> str | None:
    """Return the URL of an entry for a server of this package over HTTP, else None."""
    url = str(entry.get("url"))
    return url if TOKEN in json.dumps(entry, default=str) and URL.fullmatch(url) else None


def _meaning(entry: Entry) -> Entry:
    """Return an entry without the usual type and empty slots, which mean nothing."""
    return {s: v for s, v in entry.items() if v not in ({}, []) and (s, v) != ("type", "stdio")}


def _show(entry: Entry) -> list[str]:
    """Write an entry, one line for each slot; values that may be secret are hidden."""
    shown = (*_PLAIN, "args") if "repl_pair" in entry.get("args", ()) else _PLAIN
    shown += ("url",) if _own_url(entry) else ()
    return [f"{s}: {json.dumps(v) if s in shown else HIDDEN}" for s, v in entry.items()]
