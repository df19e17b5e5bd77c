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

from repl_pair.bridge.kernels.discovery import unusable_files
from repl_pair.bridge.kernels.servers import ask_servers
from repl_pair.cli import answers, callers
from repl_pair.version import VERSION
from repl_pair.wire import ok_reply

DISTRIBUTION = "repl-pair"


@click.command()
@callers.session_command()
async def doctor(caller: callers.Caller) -> int:
    """Check this Python, its packages and the kernels, and print what to do."""
    # An older Python than the package takes cannot import this module.
    python = ".".join(map(str, sys.version_info[:3]))
    findings = [answers.Finding(f"Python {python} ({sys.executable})"), *_check_packages()]
    findings += [_check_runtime_dir(), *_check_files(), *_check_servers()]
    findings += await _check_kernels(caller)
    reply = ok_reply({"items": list(map(asdict, findings)), "total": len(findings)})
    caller.print(reply, lambda _: answers.print_findings(findings))
    return answers.PASS if all(finding.well for finding in findings) else answers.FAIL


def _check_packages() -> Iterator[answers.Finding]:
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        remedy = "Install it, from its checkout: python -m pip install -e ."
        yield answers.fault(f"{DISTRIBUTION} {VERSION} is not installed", remedy)
        return
    yield answers.Finding(f"{DISTRIBUTION} {VERSION}")
    for line in requirements:
        if "extra ==" in line:
            continue
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        try:
            yield answers.Finding(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield answers.fault(f"{name} is missing", f"{sys.executable} -m pip install {name}")


def _check_runtime_dir() -> answers.Finding:
    folder = Path(jupyter_runtime_dir())
    if not folder.exists():
        return answers.Finding(f"runtime dir {folder}: none yet, the first kernel makes it")
    if os.access(folder, os.R_OK | os.X_OK):
        return answers.Finding(f"runtime dir {folder}")
    return answers.fault(
        f"runtime dir {folder}", "Make it readable for you: it holds connection files."
    )


def _check_files() -> Iterator[answers.Finding]:
    for path, why in unusable_files():
        remedy = "Its kernel is not listed. Run repl-pair as the user who started it."
        if "another user" not in why:
            remedy = "If it is a kernel's, restart that kernel; the file was left as it is."
        yield answers.fault(f"{path} was skipped: {why}", remedy)


def _check_servers() -> Iterator[answers.Finding]:
    for answer in ask_servers(Path(jupyter_runtime_dir()))():
        remedy = "Its notebooks go by the names that they had when their kernels were started."
        if answer.fault:
            yield answers.fault(f"{answer.server}: {answer.fault}", remedy)
        else:
            yield answers.Finding(f"{answer.server} answers, kernels: {len(answer.kernels)}")


async def _check_kernels(caller: callers.Caller) -> list[answers.Finding]:
    reply = await caller.call("list_kernels", {})
    if not reply["ok"]:
        return [answers.fault(reply["error"]["message"])]
    kernels = reply["result"]["items"]
    findings = [await _check_kernel(caller, kernel) for kernel in kernels if kernel["alive"]]
    dead = reply["result"].get("dead", 0)
    if not findings:
        remedy = "Start one: JupyterLab, VS Code or `jupyter console`."
        findings.append(answers.fault("no live kernel", remedy))
    if dead:
        findings.append(answers.Finding(f"connection files of dead kernels, left alone: {dead}"))
    return findings


async def _check_kernel(caller: callers.Caller, kernel: Mapping[str, Any]) -> answers.Finding:
    called = kernel.get("notebook", kernel["name"])
    name = f"kernel {kernel['id']} ({called}, pid {kernel.get('pid', 'unknown')})"
    reply = await caller.call("kernel_status", {"kernel": kernel["id"]})
    status = reply.get("result") or {**reply["error"], "why": reply["error"]["message"]}
    if "code" in status:
        return answers.fault(f"{name} does not answer", status["why"])
    how = f" on {status['channel']} ({status['why']})" if "why" in status else ""
    return answers.Finding(f"{name} answers{how}")
