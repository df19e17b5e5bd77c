"""Runs many variants, one after the other, and prints or writes the results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from repl_pair.cli.answers import NO_KERNEL, PASS, answer, exit_code, print_json
from repl_pair.cli.caller import Caller
from repl_pair.cli.junit import write_junit
from repl_pair.cli.tables import show_verdicts
from repl_pair.errors import RequestError
from repl_pair.wire import Args, Reply

MAX_MODES = 200
"""How many runs of one variant, in its modes, one command does."""
RUN_S, SWEEP_S = 30.0, 300.0
"""How long one run, and the runs of one variant in its modes, may take: an agent's take less."""


async def run_all(
    caller: Caller, ids: Sequence[str], shared: Args, combined: str | None, junit: Path | None
) -> int:
    """Run one after the other and print the results; a lost kernel ends it.

    Each is run with the `shared` arguments, or `combined` in the modes that it declares.
    """
    verdicts: list[Mapping[str, Any]] = []
    refused: dict[str, Reply] = {}
    codes = [PASS]
    for id in ids:
        if combined is None:
            wanted = {"variant_id": id, "timeout_s": RUN_S, **shared}
            reply = await caller.call("run_variant", wanted)
        else:
            wanted = {"ids": [id], "modes": combined, "limit": MAX_MODES, "timeout_s": SWEEP_S}
            reply = await caller.call("run_variants", wanted)
        codes.append(exit_code(reply))
        if caller.choice.as_json:
            print_json(reply)
        if reply["ok"]:
            verdicts += _verdicts(id, reply["result"])
            continue
        refused[id] = reply
        if codes[-1] == NO_KERNEL:
            break
    if junit is not None:
        write_junit(junit, verdicts, refused)
    if not caller.choice.as_json:
        show_verdicts(verdicts)
        for reply in refused.values():
            answer(reply, print, as_json=False)
    return max(codes)


def _verdicts(id: str, result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "items" not in result:
        return [{"variant_id": id, "modes": result.get("active_modes", ()), **result}]
    if "more" in result:
        raise RequestError(
            "bad_arguments",
            f"{id} has over {MAX_MODES} combinations of modes: run it with --modes each, or with "
            "repl_pair.run_variants.",
        )
    nothing: Mapping[str, Any] = {"modes": [], "total": 0, "elapsed_ms": 0.0, "assertions": []}
    rows = [{**nothing, **row} for row in result["items"]]
    return sorted(rows, key=lambda row: (len(row["modes"]), row["modes"]))
