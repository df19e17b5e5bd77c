"""Real git repos with real remotes, and a program `gh` that answers what a test wants."""

import os
import subprocess
from pathlib import Path

from bounds import BOUND_S

SCHEMA = {"type": "object", "properties": {"sku": {"type": "string"}}}
IDENTITY = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")


def git(folder, *words):
    """Run git as a person does; gives what it printed."""
    ran = subprocess.run(
        ["git", *IDENTITY, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def commit(folder, name="file.txt", text="one\n"):
    Path(folder, name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", f"Write {name}")


def make_repo(folder, *, remote=True):
    """Make a repo with one commit on main, pushed to a bare repo beside it."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    if remote:
        bare = folder.with_name(f"{folder.name}.git")
        git(folder, "init", "-q", "--bare", "-b", "main", str(bare))
        git(folder, "remote", "add", "origin", str(bare))
        git(folder, "push", "-q", "-u", "origin", "main")


def write_gh(folder, monkeypatch, script):
    """Put a program `gh` of these lines of shell on the PATH."""
    program = Path(folder, "bin", "gh")
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
