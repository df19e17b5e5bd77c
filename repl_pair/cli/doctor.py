"""Checks what repl_pair needs, and reports for each part whether it is well and what to do."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import click
from jupyter_core.paths import jupyter_runtime_dir

from repl_pair.bridge.kernels.discover import unusable_files
from repl_pair.bridge.kernels.servers import ask_servers
from repl_pair.cli.answers import FAIL, PASS, Finding, print_finding, print_json
from repl_pair.cli.caller import Caller, session_command
from repl_pair.version import VERSION
from repl_pair.wire import ok_reply

PYTHON = (3, 11)
DISTRIBUTION = "repl-pair"


@click.command()
@session_command()
async def doctor(caller: Caller) -> int:
    """Check this Python, its packages and the kernels, and print what to do."""
    findings = [_check_python(), *_check_packages(), _check_runtime_dir()]
    findings += [*_check_files(), *_check_servers(), *await _check_kernels(caller)]
    if caller.choice.as_json:
        items = [asdict(finding) for finding in findings]
        print_json(ok_reply({"items": items, "total": len(items)}))
    else:
        for finding in findings:
            print_finding(finding)
    return PASS if all(finding.well for finding in findings) else FAIL


def _check_python() -> Finding:
    well = sys.version_info >= PYTHON
    remedy = "" if well else "Install repl-pair with Python 3.11 or later."
    found = ".".join(map(str, sys.version_info[:3]))
    return Finding(what=f"Python {found} ({sys.executable})", well=well, remedy=remedy)


def _check_packages() -> Iterator[Finding]:
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        remedy = "Install it, from its checkout: python -m pip install -e ."
        yield Finding(what=f"{DISTRIBUTION} {VERSION} is not installed", well=False, remedy=remedy)
        return
    yield Finding(what=f"{DISTRIBUTION} {VERSION}")
    for line in requirements:
        if "extra ==" in line:
            continue
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        try:
            yield Finding(what=f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            remedy = f"{sys.executable} -m pip install {name}"
            yield Finding(what=f"{name} is missing", well=False, remedy=remedy)


def _check_runtime_dir() -> Finding:
    folder = Path(jupyter_runtime_dir())
    if not folder.exists():
        return Finding(what=f"runtime dir {folder}: none yet, the first kernel makes it")
    well = os.access(folder, os.R_OK | os.X_OK)
    remedy = "" if well else "Make it readable for you: connection files stand in it."
    return Finding(what=f"runtime dir {folder}", well=well, remedy=remedy)


def _check_files() -> Iterator[Finding]:
    for path, why in unusable_files():
        remedy = "Its kernel is not listed. Run repl-pair as the user who started it."
        if "another user" not in why:
            remedy = "If it is a kernel's, restart that kernel; the file was left as it is."
        yield Finding(what=f"{path} was passed over: {why}", well=False, remedy=remedy)


def _check_servers() -> Iterator[Finding]:
    for answer in ask_servers(Path(jupyter_runtime_dir()))():
        remedy = "Its notebooks go by the names that they had when their kernels were started."
        if answer.fault:
            yield Finding(what=f"{answer.server}: {answer.fault}", well=False, remedy=remedy)
        else:
            yield Finding(what=f"{answer.server} answers, kernels: {len(answer.kernels)}")


async def _check_kernels(caller: Caller) -> list[Finding]:
    reply = await caller.call("list_kernels", {})
    if not reply["ok"]:
        return [Finding(what=reply["error"]["message"], well=False)]
    living = [kernel for kernel in reply["result"]["items"] if kernel["alive"]]
    dead = len(reply["result"]["items"]) - len(living)
    findings = [await _check_kernel(caller, kernel) for kernel in living]
    if not living:
        remedy = "Start one: JupyterLab, VS Code or `jupyter console`."
        findings.append(Finding(what="no live kernel", well=False, remedy=remedy))
    if dead:
        findings.append(Finding(what=f"connection files of dead kernels, left alone: {dead}"))
    return findings


async def _check_kernel(caller: Caller, kernel: Mapping[str, Any]) -> Finding:
    called = kernel.get("notebook", kernel["name"])
    name = f"kernel {kernel['id']} ({called}, pid {kernel.get('pid', 'unknown')})"
    reply = await caller.call("kernel_status", {"kernel": kernel["id"]})
    status = (
        reply["result"] if reply["ok"] else {**reply["error"], "why": reply["error"]["message"]}
    )
    if "code" in status:
        return Finding(what=f"{name} does not answer", well=False, remedy=status["why"])
    how = f" on {status['channel']} ({status['why']})" if "why" in status else ""
    return Finding(what=f"{name} answers{how}")
