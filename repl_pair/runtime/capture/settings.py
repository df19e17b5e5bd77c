"""Settings of the process: a run on the main lane has them for itself, and gives them back."""

import sys
import threading
from typing import Any

from repl_pair.errors import error_text
from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.capture.late_imports import watch_late
from repl_pair.runtime.capture.library_settings import (
    INLINE,
    OF_LIBRARIES,
    PARAMETERS,
    with_inline,
)
from repl_pair.runtime.capture.setting_rows import OF_THE_PROCESS, Setting
from repl_pair.runtime.ipython import interactive_shell

SETTINGS = (*OF_THE_PROCESS, *OF_LIBRARIES)
"""What a run has for itself, by the module that must be imported for it."""


def hold_settings(captured: Captured) -> None:
    """Restore at the end of a run the settings that differ, and name them in `restored`.

    A library that the run imports is noted as its import leaves it. Nothing is restored off the
    main thread, nor where a cell of the person's began or ended meanwhile, or goes on: what differs
    may be theirs.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    shell = interactive_shell()
    cell, held = getattr(shell, "execution_count", None), dict[str, Any]()

    def restore() -> None:
        if getattr(shell, "execution_count", None) == cell:
            for setting in SETTINGS:
                if setting.name in held:
                    _restore(setting, held[setting.name], captured.restored)

    def note(module: str) -> None:
        for setting in SETTINGS:
            if setting.module == module:
                held[setting.name] = _note(setting, captured.restored)
        if module == INLINE and held.get(PARAMETERS, _UNREAD) is not _UNREAD:
            held[PARAMETERS] = with_inline(held[PARAMETERS])

    captured.at_end.append(restore)
    for setting in SETTINGS:
        if setting.module in sys.modules:
            held[setting.name] = _note(setting, captured.restored)
    watch_late(_MODULES.difference(sys.modules), note, captured)


_MODULES = frozenset({INLINE, *(setting.module for setting in SETTINGS)})
_UNREAD: Any = object()
_latest: dict[str, Any] = {}
"""What was read last of each setting: most are as they were at the run before."""


def _note(setting: Setting, restored: dict[str, str]) -> Any:
    latest = _latest.get(setting.name, _UNREAD)
    try:
        if latest is _UNREAD or not setting.is_still(latest):
            latest = setting.read()
            if setting.is_kept:
                _latest[setting.name] = latest
    except Exception as error:  # noqa: BLE001  a library's inside may be of another version
        restored[setting.name] = f"{setting.name} (not readable: {error_text(error)})"
        return _UNREAD
    return latest


def _restore(setting: Setting, was: Any, restored: dict[str, str]) -> None:
    if was is _UNREAD or setting.module not in sys.modules:
        return
    try:
        if not setting.is_still(was):
            restored[setting.name] = setting.name
            setting.write(was)
    except Exception as error:  # noqa: BLE001  the others must still be restored
        restored[setting.name] = f"{setting.name} (not given back: {error_text(error)})"
