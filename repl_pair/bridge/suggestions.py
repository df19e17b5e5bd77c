"""Next steps as text and as other calls, and what a call needs."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.errors import NextStep, next_step
from repl_pair.runtime.registry.ids import check_id
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.signatures.corrections import correct_arguments, write_call


def write_step(step: NextStep) -> str:
    """Write a call as text to people; values are JSON."""
    return write_call(step["op"], step["args"])


def write_command(step: NextStep, *, here: bool = False) -> str:
    """Write a call as what a person types; a choice of kernel, or of none, is of one command."""
    if step["op"] == "use_kernel":
        return f"the same command with --kernel {shlex.quote(str(step['args']['kernel']))}"
    args = f" --json {shlex.quote(json.dumps(step['args']))}" if step["args"] else ""
    return f"repl-pair op {step['op']}{args}{' --here' if here else ''}"


def in_kernel(step: NextStep, kernel: str) -> NextStep:
    """Return a next step as a call in that kernel, if it names none."""
    if not manifest.takes_kernel(step["op"]):
        return step
    return next_step(step["op"], **{**step["args"], "kernel": step["args"].get("kernel", kernel)})


def through_op(step: NextStep, unlisted: Mapping[str, str]) -> NextStep:
    """Return a next step as a call of read_op or run_op, if `unlisted` has its op's access.

    One with an argument behind a gate stays as it is.
    """
    via = {"read": "read_op", "run": "run_op"}.get(unlisted.get(step["op"], ""))
    is_gated = step["args"].keys() & manifest.find(step["op"]).get("needs", {})
    return (
        step
        if via is None or is_gated
        else next_step(via, op=step["op"], args=step["args"] or None)
    )


def required_args(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a call needs, a blank (`<string>`) for what only the caller has."""
    return correct_arguments(schema, {})


def check_new_id(kind: str, id: str) -> str:
    """Return the id of an entry that need not be there yet; `bad_id` with a valid one near it."""
    return check_id(kind, KINDS[kind].grammar, id)
