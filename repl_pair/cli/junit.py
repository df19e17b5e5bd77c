"""Verdicts as a JUnit file, as CI servers read it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from repl_pair.cli.tables import text_of
from repl_pair.cli.verdicts import FAILING
from repl_pair.runtime.registry.ids import name_run, story_of
from repl_pair.wire import Reply

Verdict = Mapping[str, Any]


def write_junit(path: Path, verdicts: Sequence[Verdict], refused: Mapping[str, Reply]) -> None:
    """Write a case for each run, named as pytest names it, and for each refusal."""
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name="repl-pair")
    for verdict in verdicts:
        _add(suite, verdict)
    for id, reply in refused.items():
        case = ElementTree.SubElement(suite, "testcase", classname=story_of(id), name=id)
        ElementTree.SubElement(case, "error", message=_legal(reply["error"]["message"]))
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    ElementTree.indent(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _add(suite: ElementTree.Element, verdict: Verdict) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=story_of(verdict["variant_id"]),
        name=name_run(verdict["variant_id"], verdict["modes"]),
        time=f"{verdict['elapsed_ms'] / 1000:.3f}",
    )
    properties = ElementTree.SubElement(case, "properties")
    for name, value in _properties(verdict).items():
        ElementTree.SubElement(properties, "property", name=name, value=_legal(value))
    if verdict["status"] in ("skip", "xfail"):
        reason = _legal(text_of(verdict["reason"]))
        ElementTree.SubElement(case, "skipped", message=reason, type=verdict["status"])
    if verdict["status"] in FAILING:
        kind = "failure" if verdict["status"] == "fail" else "error"
        reason = _legal(text_of(verdict.get("reason", "")))
        found = ElementTree.SubElement(case, kind, message=reason, type=verdict["status"])
        failed = [one for one in verdict["assertions"] if not one["passed"]]
        lines = (f"{one['assertion']}: {text_of(one.get('reason', ''))}" for one in failed)
        found.text = _legal("\n".join(lines))


def _properties(verdict: Verdict) -> Mapping[str, str]:
    identity: Mapping[str, Any] = verdict.get("identity") or verdict
    phases = ", ".join(
        f"{one['phase']} {one['elapsed_ms']} ms" for one in verdict.get("phases", ())
    )
    known = {
        "story": story_of(verdict["variant_id"]),
        "variant": verdict["variant_id"],
        "modes": "+".join(verdict["modes"]),
        "status": verdict["status"],
        "assertions": str(verdict["total"]),
        "content_hash": identity.get("content_hash"),
        "code_hash": identity.get("code_hash"),
        "phases": phases,
    }
    return {name: value for name, value in known.items() if value}


_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _legal(text: str) -> str:
    """Leave out the characters that XML cannot hold."""
    return _ILLEGAL.sub("", text)
