"""Paths of a project that cannot be read, also by root: the one that tests run as."""

import ctypes
import os

BAD = {
    "loop": lambda folder: (folder / "loop").symlink_to("loop"),
    "dangling": lambda folder: (folder / "stories_old.py").symlink_to("gone.py"),
    "pipe": lambda folder: os.mkfifo(folder / "stories_pipe.py"),
    "locked": lambda folder: (folder / "locked").mkdir(mode=0),
}
"""What pytest enters or collects nowhere, by a name; each makes one in a folder."""


def obey_permissions():
    """Let a process of root's obey the permissions of files, as all others do."""
    drop_from_bounds, override, search = 24, 1, 2
    for capability in (override, search):
        ctypes.CDLL(None).prctl(drop_from_bounds, capability)
