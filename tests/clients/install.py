"""Installs the npm clients beside this file, once for each content of package.json.

They come with a node of their own: they need a newer one than many machines have.
"""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
READY = MODULES / ".ready"
OPTIONS = ("--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")


def is_installed():
    return READY.exists() and READY.read_text() == wanted()


def wanted():
    return (HERE / "package.json").read_text()


def install():
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("The npm clients cannot be installed: there is no npm. Install Node.js with npm.")
    code = subprocess.run([npm, "install", *OPTIONS], cwd=HERE, check=False).returncode
    if code:
        sys.exit(f"The npm clients cannot be installed: npm ended with {code}.")
    READY.write_text(wanted())


if __name__ == "__main__":
    with Path(__file__).open() as lock:  # several workers of pytest may come at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_installed():
            install()
