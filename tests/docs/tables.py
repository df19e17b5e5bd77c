"""The generated parts of the README: `python tests/docs/tables.py --write` writes them."""

import sys
from pathlib import Path

from repl_pair.bridge import manifest

README = Path(__file__).parents[2] / "README.md"


def ops_table() -> str:
    """Return the table of the ops that can be called by name."""
    rows = ["| tool | access | toolset | what it does |", "|---|---|---|---|"]
    for found in sorted(manifest.load(), key=lambda d: (d["toolset"], d["name"])):
        if not found.get("internal"):
            needs = ", ".join(f"`{p}` takes {a}" for p, a in found.get("needs", {}).items())
            access = found["access"] + (f" ({needs})" if needs else "")
            doc = found["doc"].partition("\n")[0]
            rows.append(f"| `{found['name']}` | {access} | {found['toolset']} | {doc} |")
    return "\n".join(rows)


def replace(text: str, mark: str, body: str) -> str:
    """Put a body between the two comments that bear the mark."""
    head, _, rest = text.partition(f"<!-- {mark} -->\n")
    _, _, tail = rest.partition(f"<!-- /{mark} -->")
    return f"{head}<!-- {mark} -->\n{body}\n<!-- /{mark} -->{tail}"


def main() -> None:
    """Write the op table into the README."""
    text = README.read_text(encoding="utf-8")
    README.write_text(replace(text, "ops", ops_table()), encoding="utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    main()
