"""The generated parts of the docs: `python tests/docs/tables.py --write` writes them.

`docs/tools.md` gets the table of ops from the manifest, and the README gets its headline figures
from `docs/figures.md`, which `make bench` writes.
"""

import sys
from pathlib import Path

from repl_pair.bridge import manifest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
FIGURES = ROOT / "docs" / "figures.md"
TOOLS = ROOT / "docs" / "tools.md"
HEADLINES = (
    "tools/call of list_variants, idle, p50",
    "tools/call of list_variants, the person's cell loops in Python, p50",
    "the person's 1+1 while 8 agents read",
    "run() of a plain function, added",
    "identity, nested dict, 25k dicts",
    "import of the runtime in a kernel",
    "repl-pair mcp, start to first tools/list",
    "a pending run of a killed kernel is answered",
)
"""The figures of the README, by their first cell."""


def ops_table() -> str:
    """Return the table of the ops that can be called by name."""
    rows = ["| tool | access | toolset | what it does |", "|---|---|---|---|"]
    for entry in sorted(manifest.load(), key=lambda d: (d["toolset"], d["name"])):
        if not entry.get("internal"):
            needs = ", ".join(f"`{p}` takes {a}" for p, a in entry.get("needs", {}).items())
            access = entry["access"] + (f" ({needs})" if needs else "")
            doc = entry["doc"].partition("\n")[0]
            rows.append(f"| `{entry['name']}` | {access} | {entry['toolset']} | {doc} |")
    return "\n".join(rows)


def headlines(figures: str) -> str:
    """Return the headline rows of a page of figures, under its head; KeyError if one is missing."""
    lines = [line for line in figures.splitlines() if line.startswith("| ")]
    rows = {line.split("|")[1].strip(): line for line in lines}
    return "\n".join([*lines[:2], *(rows[what] for what in HEADLINES)])


def replace(text: str, mark: str, body: str) -> str:
    """Put a body between the two comments that bear the mark."""
    head, _, rest = text.partition(f"<!-- {mark} -->\n")
    _, _, tail = rest.partition(f"<!-- /{mark} -->")
    return f"{head}<!-- {mark} -->\n{body}\n<!-- /{mark} -->{tail}"


def generated() -> dict[Path, str]:
    """Return the text of each page that has generated parts, as it should be."""
    return {
        TOOLS: replace(TOOLS.read_text(encoding="utf-8"), "ops", ops_table()),
        README: replace(
            README.read_text(encoding="utf-8"),
            "headlines",
            headlines(FIGURES.read_text(encoding="utf-8")),
        ),
    }


if __name__ == "__main__" and "--write" in sys.argv:
    for page, text in generated().items():
        page.write_text(text, encoding="utf-8")
