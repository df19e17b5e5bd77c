"""What git has begun in a repo and not ended: files of its own are there for as long."""

from pathlib import Path

from repl_pair.runtime.project.git import run_git

_BEGUN = {
    "MERGE_HEAD": "A merge",
    "CHERRY_PICK_HEAD": "A cherry-pick",
    "REVERT_HEAD": "A revert",
    "rebase-merge": "A rebase",
    "rebase-apply": "A rebase",
    "BISECT_LOG": "A bisect",
}


def find_unfinished(folder: Path) -> list[str]:
    """Return what is not finished where a branch is checked out, such as `A merge`."""
    words = (word for name in _BEGUN for word in ("--git-path", name))
    paths = run_git(folder, "rev-parse", *words).out.splitlines()
    begun = zip(_BEGUN.values(), paths, strict=False)
    return [*dict.fromkeys(what for what, path in begun if (folder / path).exists())]
