"""Installs what the browser tests need of the machine: Chromium from apt, axe-core from npm.

Ends with 1, and says what to do, where it cannot.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser")
PACKAGES = ("chromium", "fonts-dejavu-core")
AXE = HERE / "node_modules" / "axe-core"
APT = ("apt-get", "--quiet", "--yes")
NPM_OPTIONS = ("--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
BY_HAND = f"Install {' and '.join(PACKAGES)} by hand, so that `chromium` is on the PATH."


def find_chromium():
    return next(filter(None, map(shutil.which, NAMES)), None)


def has_axe():
    wanted = json.loads((HERE / "package.json").read_text())["devDependencies"]["axe-core"]
    manifest = AXE / "package.json"
    return manifest.exists() and json.loads(manifest.read_text())["version"] == wanted


def install_chromium():
    """Return why there is no Chromium afterwards, or None."""
    if find_chromium():
        return None
    if shutil.which("apt-get") is None:
        return f"there is no apt-get. {BY_HAND}"
    if os.geteuid():
        return f"apt-get needs root. {BY_HAND}"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # One source of packages that does not answer is no reason not to try the others.
    subprocess.run([*APT, "update"], env=environment, check=False)
    words = ("install", "--no-install-recommends", *PACKAGES)
    if code := subprocess.run([*APT, *words], env=environment, check=False).returncode:
        return f"apt-get ended with {code}. {BY_HAND}"
    return None if find_chromium() else f"apt-get gave no chromium. {BY_HAND}"


def install_axe():
    """Return why there is no axe-core afterwards, or None."""
    if has_axe():
        return None
    npm = shutil.which("npm")
    if npm is None:
        return "there is no npm. Install Node.js with npm."
    code = subprocess.run([npm, "install", *NPM_OPTIONS], cwd=HERE, check=False).returncode
    return f"npm ended with {code}." if code else None


def install():
    failures = {"Chromium": install_chromium(), "axe-core": install_axe()}
    return [f"{what} cannot be installed: {why}" for what, why in failures.items() if why]


if __name__ == "__main__" and (failures := install()):
    sys.exit("\n".join(failures))
