"""The generated parts of the docs: `python tests/docs/tables.py --write` writes them.

`docs/tools.md` gets the table of ops from the manifest, the README its headline figures from
`docs/figures.md`, which `make bench` writes, ARCHITECTURE.md its packages from docstrings,
and `docs/stories.md` its assertions from their builders.
"""

import ast
import sys
import tomllib
from pathlib import Path

from repl_pair.bridge import manifest

ROOT = Path(__file__).parents[2]
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
PACKAGE = ROOT / "repl_pair"
README = ROOT / "README.md"
FIGURES = ROOT / "docs" / "figures.md"
STORIES = ROOT / "docs" / "stories.md"
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
MAIN_MODULES = {
    "assertions": ("view", "comparison"),
    "authoring": ("stories", "shared", "entries"),
    "capture": ("capture",),
    "clients": ("clients", "approvals"),
    "evaluation": ("evaluate",),
    "inspection": ("objects", "tracebacks", "stacks"),
    "kernel": ("host", "attach", "embedded"),
    "linting": ("checks",),
    "loading": ("load", "project"),
    "notices": ("notices", "in_replies"),
    "op_base": ("table", "call", "planned"),
    "ops": ("stories", "running"),
    "planning": ("planner", "plan", "guard"),
    "project": ("database", "opening"),
    "reading": ("parts", "steps"),
    "realm": ("realms", "model"),
    "registry": ("registry",),
    "results": ("record", "last_results"),
    "review": ("annotations", "targets"),
    "running": ("runner", "phases"),
    "secrets": ("egress", "places"),
    "sessions": ("open_sessions", "sessions"),
    "signatures": ("schema", "arguments"),
    "snapshots": ("assertions", "store"),
    "stopping": ("stop",),
    "surfaces": ("publishing", "state"),
    "sweeps": ("run_variants",),
    "values": ("freeze", "thaw", "frozen"),
}
"""Where to begin to read, by package of the runtime."""


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


def answers_list() -> str:
    """Return what each of these ops answers, in one line."""
    ops = [entry for entry in manifest.load() if "answer" in entry and not entry.get("internal")]
    return "\n".join(f"- `{entry['name']}`: `{entry['answer']}`" for entry in ops)


def headlines(figures: str) -> str:
    """Return the headline rows of a page of figures, under its head; KeyError if one is missing."""
    lines = [line for line in figures.splitlines() if line.startswith("| ")]
    rows = {line.split("|")[1].strip(): line for line in lines}
    return "\n".join([*lines[:2], *(rows[what] for what in HEADLINES)])


def runtime_table() -> str:
    """Return the packages of the runtime, from the top layer of their contract to the bottom."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (c["layers"] for c in contracts if c.get("containers") == ["repl_pair.runtime"])
    rows = ["| package | what it is | begin with |", "|---|---|---|"]
    for layer in layers:
        names = layer.split(" | ")
        for name in names:
            mark = " =" * (len(names) > 1)
            modules = MAIN_MODULES.get(name, ())
            assert all((PACKAGE / "runtime" / name / f"{one}.py").exists() for one in modules), name
            begin = ", ".join(f"`{one}`" for one in modules)
            rows.append(f"| `{name}`{mark} | {sentence_of(f'runtime/{name}')} | {begin} |")
    return "\n".join(rows)


def packages_table() -> str:
    """Return the other packages with their folders, by name."""
    files = sorted(PACKAGE.glob("*/__init__.py")) + sorted(PACKAGE.glob("*/*/__init__.py"))
    names = sorted(str(file.parent.relative_to(PACKAGE)) for file in files)
    rows = ["| package | what it is |", "|---|---|"]
    others = [name for name in names if not name.startswith("runtime")]
    return "\n".join([*rows, *(f"| `{name}` | {sentence_of(name)} |" for name in others)])


def checks_table() -> str:
    """Return what `check` offers, as its functions and the first sentences of their docs."""
    tree = ast.parse((PACKAGE / "runtime/authoring/check.py").read_text(encoding="utf-8"))
    rows = ["| assertion | what it does |", "|---|---|"]
    for fn in tree.body:
        if isinstance(fn, ast.FunctionDef) and not fn.name.startswith("_"):
            for one in ast.walk(fn.args):
                if isinstance(one, ast.arg):
                    one.annotation = None
            doc = (ast.get_docstring(fn) or "").partition("\n")[0]
            rows.append(f"| `check.{fn.name}({ast.unparse(fn.args)})` | {doc} |")
    return "\n".join(rows)


def sentence_of(name: str) -> str:
    """Return the first paragraph of the docstring of a package or module."""
    folder = PACKAGE / name
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(doc.partition("\n\n")[0].split())


def replace(text: str, mark: str, body: str) -> str:
    """Put a body between the two comments that bear the mark."""
    head, _, rest = text.partition(f"<!-- {mark} -->\n")
    _, _, tail = rest.partition(f"<!-- /{mark} -->")
    return f"{head}<!-- {mark} -->\n{body}\n<!-- /{mark} -->{tail}"


def generated() -> dict[Path, str]:
    """Return the text of each page that has generated parts, as it should be."""
    architecture = ARCHITECTURE.read_text(encoding="utf-8")
    architecture = replace(architecture, "runtime", runtime_table())
    tools = replace(TOOLS.read_text(encoding="utf-8"), "ops", ops_table())
    return {
        ARCHITECTURE: replace(architecture, "packages", packages_table()),
        STORIES: replace(STORIES.read_text(encoding="utf-8"), "checks", checks_table()),
        TOOLS: replace(tools, "answers", answers_list()),
        README: replace(
            README.read_text(encoding="utf-8"),
            "headlines",
            headlines(FIGURES.read_text(encoding="utf-8")),
        ),
    }


if __name__ == "__main__" and "--write" in sys.argv:
    for page, text in generated().items():
        page.write_text(text, encoding="utf-8")
