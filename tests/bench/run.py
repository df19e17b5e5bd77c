"""All figures as one table: `python tests/bench/run.py [--only NAME] [--write]`.

`--write` puts the table into docs/figures.md and its headlines into the README; `--only identity`
measures bench_identity.py alone.
"""

import argparse
import importlib
import platform
import runpy
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measure import ROOT, Row, is_met

HERE = Path(__file__).parent
FIGURES = ROOT / "docs" / "figures.md"
NAMED = ("ipykernel", "jupyter-client", "mcp", "pyzmq", "pydantic", "numpy", "pandas", "joblib")
HEAD = ("what", "measured", "baseline", "ratio", "budget", "")
MARKS = {True: "ok", False: "**over**", None: ""}


def names() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def measure_all(chosen: Sequence[str]) -> Iterator[Row]:
    """Run the benchmarks; stderr names the one that runs."""
    for name in chosen:
        print(f"measuring {name} …", file=sys.stderr)
        yield from importlib.import_module(f"bench_{name}").figures()


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [HEAD, ("---",) * len(HEAD), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(row: Row) -> Sequence[str]:
    """Return a row's cells."""
    unit = row["unit"]
    return (
        row["what"],
        f"{short(row['measured'])} {unit}",
        f"{short(row['baseline'])} {unit} ({row['baseline_what']})",
        "" if row["ratio"] is None else short(row["ratio"]),
        row.get("budget", "").replace("<=", "≤").replace(">=", "≥"),
        MARKS[is_met(row)],
    )


def short(figure: float) -> str:
    """Return three digits that count."""
    return f"{figure:,.0f}" if figure >= 100 or figure == int(figure) else f"{figure:#.3g}"


def stamp() -> str:
    """Return when and with what these figures were measured."""
    packages = ", ".join(f"{name} {version(name)}" for name in NAMED)
    return f"{date.today()}, Python {platform.python_version()}, {packages}."


def write(page: Path, figures: str) -> None:
    """Put the figures between their marks in a page."""
    text = page.read_text(encoding="utf-8")
    page.write_text(tables()["replace"](text, "figures", figures), encoding="utf-8")


def tables() -> dict[str, Any]:
    """Return the names of the program that writes the generated parts of the docs."""
    return runpy.run_path(str(ROOT / "tests" / "docs" / "tables.py"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=names(), help="measure this one alone")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    options = parser.parse_args()
    sys.path += [str(ROOT / "tests" / folder) for folder in ("browser", "suite")]
    if options.only and options.write:
        parser.error("--write needs all figures: leave --only out")
    text = table(list(measure_all([options.only] if options.only else names())))
    print(f"{text}\n\n{stamp()}")
    if options.write:
        write(FIGURES, f"{text}\n\n{stamp()}")
        for page, written in tables()["generated"]().items():
            page.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
