"""How a realm begins, and how a project joins it."""

import os
from pathlib import Path

from repl_pair.errors import RequestError
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
    """Make a project one of the repos of a realm, under a name or that of its folder.

    RequestError `not_found` where the folder holds no realm, `bad_arguments` where the name is
    another repo's, or the project is in another realm.
    """
    if not (folder / REALM_FILE).is_file():
        raise RequestError(
            "not_found",
            f"{folder} holds no {REALM_FILE}.",
            hints=[f"repl-pair realm init NAME {folder}"],
        )
    joined = Home(folder=folder.resolve(), repo=check_name(name or root.name, "a repo"))
    before = find_home(root)
    if before is not None and before.folder != joined.folder:
        raise RequestError(
            "bad_arguments",
            f"This project is in the realm {before.folder}, and a project is in one realm. Remove "
            f"{home_file(root)} first.",
        )
    own_folder = home_file(root).parent
    if own_folder.exists() and not own_folder.is_dir():
        raise RequestError("cannot_run", f"{own_folder} is not a folder. Move it away first.")
    with locked(folder):
        head = read_file(folder / REALM_FILE, REALM)
        path = _relative(root.resolve(), joined.folder)
        if head["repos"].get(joined.repo, path) != path:
            raise RequestError(
                "bad_arguments",
                f"{joined.repo} is {head['repos'][joined.repo]} in this realm. Choose another name "
                "with --as.",
            )
        others = {repo: at for repo, at in head["repos"].items() if at != path}
        write_file(folder / REALM_FILE, head | {"repos": others | {joined.repo: path}})
    own = {"realm": _relative(joined.folder, root.resolve()), "repo": joined.repo}
    write_file(home_file(root), own)
    return joined


def _relative(path: Path, start: Path) -> str:
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:  # another drive
        return str(path)
