"""Verdicts as a JUnit file, as CI servers read it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

Verdict = Mapping[str, Any]


def write_junit(
    path: Path, verdicts: Sequence[Verdict], refused: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write a case for each run, named as pytest names it, and for each refusal."""
    suite = ElementTree.Element("testsuite", name="repl-pair")
    for verdict in verdicts:
        _add(suite, verdict)
    for id, error in refused.items():
        case = ElementTree.SubElement(suite, "testcase", classname=_story_of(id), name=id)
        ElementTree.SubElement(case, "error", message=_legal(error["message"]))
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def name_run(verdict: Verdict) -> str:
    """Name a run by its variant and the modes that were active."""
    modes = _modes_of(verdict)
    return f"{verdict['variant_id']}[{'+'.join(modes)}]" if modes else verdict["variant_id"]


def _add(suite: ElementTree.Element, verdict: Verdict) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=_story_of(verdict["variant_id"]),
        name=name_run(verdict),
        time=f"{verdict['elapsed_ms'] / 1000:.3f}",
    )
    properties = ElementTree.SubElement(case, "properties")
    for name, value in _properties(verdict).items():
        ElementTree.SubElement(properties, "property", name=name, value=_legal(value))
    if verdict["status"] != "pass":
        kind = "failure" if verdict["status"] == "fail" else "error"
        reason = _legal(verdict.get("reason", ""))
        found = ElementTree.SubElement(case, kind, message=reason, type=verdict["status"])
        failed = [one for one in verdict["assertions"] if not one["passed"]]
        lines = (f"{one['assertion']}: {one.get('reason', '')}" for one in failed)
        found.text = _legal("\n".join(lines))


def _properties(verdict: Verdict) -> Mapping[str, str]:
    identity: Mapping[str, Any] = verdict.get("identity") or verdict
    phases = ", ".join(
        f"{one['phase']} {one['elapsed_ms']} ms" for one in verdict.get("phases", ())
    )
    known = {
        "story": _story_of(verdict["variant_id"]),
        "variant": verdict["variant_id"],
        "modes": "+".join(_modes_of(verdict)),
        "status": verdict["status"],
        "assertions": str(verdict["total"]),
        "content_hash": identity.get("content_hash"),
        "code_hash": identity.get("code_hash"),
        "phases": phases,
    }
    return {name: value for name, value in known.items() if value}


def _modes_of(verdict: Verdict) -> Sequence[str]:
    return verdict.get("modes") or verdict.get("active_modes") or ()


def _story_of(id: str) -> str:
    return id.partition("/")[0]


def _legal(text: str) -> str:
    """Leave out the characters that XML cannot hold."""
    return "".join(mark for mark in text if mark.isprintable() or mark in "\n\t")
