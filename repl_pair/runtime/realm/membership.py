"""How a realm begins, and how a project joins it."""

import os
from pathlib import Path

from repl_pair.errors import RequestError
from repl_pair.runtime.project.root import FOLDER
from repl_pair.runtime.project.whole_files import locked, write_whole
from repl_pair.runtime.realm.files import REALM, REALM_FILE, check_name, read_file, write_file
from repl_pair.runtime.realm.realms import WORKTREES, Home, find_home, home_file


def init_realm(name: str, folder: Path) -> Path:
    """Make a realm in a folder and return its file; `bad_arguments` where there is one."""
    file = folder / REALM_FILE
    check_name(name, "a realm")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        if file.exists():
            raise RequestError("bad_arguments", f"{file} is there already.")
        write_file(file, {"name": name, "repos": {}})
        ignored, line = folder / ".gitignore", f"{WORKTREES}/".encode()
        before = ignored.read_bytes() if ignored.exists() else b""
        if line not in before.splitlines():
            end = b"\r\n" if b"\r\n" in before else b"\n"
            gap = end if before and not before.endswith(b"\n") else b""
            write_whole(ignored, before + gap + line + end)
    return file


def join_realm(root: Path, folder: Path, name: str | None = None) -> Home:
    """Make a project one of the repos of a realm, under a name, else its own there or its folder's.

    A worktree in the folder of the realm is the repo itself: nothing is written.
    RequestError `not_found` where the folder holds no realm, `bad_arguments` where the name is
    another repo's, or the project is in another realm, or in this one under another name.
    """
    if not (folder / REALM_FILE).is_file():
        raise RequestError(
            "not_found",
            f"{folder} holds no {REALM_FILE}.",
            hints=[f"repl-pair realm init NAME {folder}"],
        )
    realm, before = folder.resolve(), find_home(root)
    if before is not None and before.folder != realm:
        raise RequestError(
            "bad_arguments",
            f"This project is in the realm {before.folder}, and a project is in one realm. Remove "
            f"{home_file(root)} first.",
        )
    if root.resolve().is_relative_to(realm / WORKTREES):
        return _check_worktree(root, before, name)
    own_folder = home_file(root).parent
    if own_folder.exists() and not own_folder.is_dir():
        raise RequestError("cannot_run", f"{own_folder} is not a folder. Move it away first.")
    with locked(folder):
        head = read_file(folder / REALM_FILE, REALM)
        path = _relative(root.resolve(), realm)
        known = next((repo for repo, at in head["repos"].items() if at == path), None)
        repo = check_name(name or known or root.name, "a repo")
        if known not in (None, repo):
            raise _other_name(root, known, repo)
        if head["repos"].get(repo, path) != path:
            raise RequestError(
                "bad_arguments",
                f"{repo} is {head['repos'][repo]} in this realm. Choose another name with --as.",
            )
        # First, so that the realm names no project that could not keep it.
        write_file(home_file(root), {"realm": _relative(realm, root.resolve()), "repo": repo})
        write_file(folder / REALM_FILE, head | {"repos": head["repos"] | {repo: path}})
    return Home(folder=realm, repo=repo)


def _check_worktree(root: Path, home: Home | None, name: str | None) -> Home:
    """Return the place of a worktree, which is that of its repo."""
    if home is None:
        raise RequestError(
            "bad_arguments",
            f"{root} is a worktree in the folder of the realm, and its branch has no "
            f"{FOLDER}/{REALM_FILE}. Join in the folder of its repo, and commit that file.",
        )
    if name not in (None, home.repo):
        raise _other_name(root, home.repo, name)
    return home


def _other_name(root: Path, known: str, name: str) -> RequestError:
    return RequestError(
        "bad_arguments",
        f"The project {root} is {known} in this realm, and a project has one name.",
        hints=[
            f"If {name} is a folder in it, give that a pyproject.toml, and join from there.",
            f"To rename the project, change {known} in the files of the realm and in "
            f"{home_file(root)}.",
        ],
    )


def _relative(path: Path, start: Path) -> str:
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:  # another drive
        return str(path)
