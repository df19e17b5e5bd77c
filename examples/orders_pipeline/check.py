"""Works in the notebook as a person does: runs its cells, changes one, runs that one again."""

import json
import sys
from pathlib import Path

from repl_pair.bridge.scratch_kernel import ScratchKernel, scratch_kernel

BOOK = json.loads(Path(__file__).with_name("orders.ipynb").read_text(encoding="utf-8"))
CELLS = {
    cell["id"]: "".join(cell["source"]) for cell in BOOK["cells"] if cell["cell_type"] == "code"
}
LOOK = """
from repl_pair.runtime.results.drift import is_current
from repl_pair.runtime.results.last_results import last_result
for id in repl_pair.registry.ids("variant"):
    print(id, "current" if is_current(last_result(id)) else "changed")
"""


def run_cell(kernel: ScratchKernel, id: str, source: str) -> None:
    """Run a cell as a front end does, which says which cell it is."""
    ran = kernel.run(source, cell=id)
    assert ran.error is None, (id, ran.error)


def look(kernel: ScratchKernel) -> dict[str, str]:
    """Return each variant with whether its last run still speaks for it."""
    return dict(line.split() for line in kernel.run(LOOK).printed.splitlines())


def find_faults() -> list[str]:
    """Go through the person's day and say what is not as it should be."""
    clean = CELLS["clean"]
    retold = clean.replace("Drop what has no worth", "Drop what is worth nothing")
    stricter = retold.replace("raw.worth > 0", "raw.worth > 20")
    without_week = stricter[: stricter.index('repl_pair.variant(\n    "orders.clean/Week"')]
    assert len({clean, retold, stricter, without_week}) == 4, "a change found nothing to change"
    with scratch_kernel() as kernel:
        for id, source in CELLS.items():
            run_cell(kernel, id, source)
        before = look(kernel)
        run_cell(kernel, "clean", retold)
        cosmetic = look(kernel)
        run_cell(kernel, "clean", stricter)
        changed = look(kernel)
        run_cell(kernel, "clean", without_week)
        fewer = look(kernel)
    return compare(before, cosmetic, changed, fewer)


def compare(*looks: dict[str, str]) -> list[str]:
    """Hold what was seen against what must be."""
    before, cosmetic, changed, fewer = looks
    monthly = {"orders.by_month/January", "orders.by_month/One_country"}
    every = monthly | {"orders.clean/Week", "orders.clean/Year"}
    wanted = {
        "every result is current after a run": (before, dict.fromkeys(every, "current")),
        "what a docstring says changes no result of another cell": (
            {id: cosmetic[id] for id in monthly},
            dict.fromkeys(monthly, "current"),
        ),
        "new code changes all that calls it": (changed, dict.fromkeys(every, "changed")),
        "what a cell no longer registers is gone": (set(fewer), every - {"orders.clean/Week"}),
    }
    for what, (seen, must) in wanted.items():
        print("ok " if seen == must else "NOT", what)
    return [f"{what}: {seen}" for what, (seen, must) in wanted.items() if seen != must]


if __name__ == "__main__":
    faults = find_faults()
    print("\n".join(faults))
    sys.exit(len(faults))
