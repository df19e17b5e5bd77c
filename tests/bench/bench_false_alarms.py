"""How often the byte gate takes plain text for a secret: `python tests/bench/bench_false_alarms.py`
prints each such place for reading, with `all` those in all installed packages.

The project's files without its tests, scikit-learn with its data, and the example notebooks, also
as HTML, hold no secrets. The files of all installed packages, without tests, hold some.
"""

import gzip
import html
import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from measure import ROOT, Row, row, scaled

from repl_pair.mcp_server.gate.patterns import find_secrets, names_secret

GOAL_PER_MB = "<= 1"
SITE = Path(sysconfig.get_path("purelib"))
SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "Python": (".py",),
    "HTML": (".html", ".htm", ".jinja", ".tpl"),
    "JSON": (".json", ".ipynb", ".json.gz"),
    "docs": (".md", ".rst", ".txt", "METADATA"),
}
PLANTED = frozenset({"k-3Fq81LzPw0"})
"""Secrets of the examples, which are there to be found."""
NAMES = re.compile(r"pass(?:word|wd|phrase|code)|secret|token|api.?key|credential|cookie", re.I)
SHOWN = 70


def figures() -> list[Row]:
    """Return a row a kind of text; the baseline is how often such a text names a secret."""
    rows = [figure(kind, read_named(kind), budget=GOAL_PER_MB) for kind in SUFFIXES]
    more = [] if scaled(0, 1) else SUFFIXES
    return rows + [figure(f"{kind}, all packages", read_installed(kind)) for kind in more]


def figure(what: str, read: Iterator[str], **budget: str) -> Row:
    texts = list(islice(read, scaled(sys.maxsize, 3)))
    megabytes = sum(map(len, texts)) / 1e6
    return row(
        f"false alarms, {what}",
        sum(len(list(alarms(text))) for text in texts) / megabytes,
        "/MB",
        baseline=sum(len(NAMES.findall(text)) for text in texts) / megabytes,
        baseline_what=f"names of secrets in these {megabytes:.1f} MB",
        **budget,
    )


def alarms(text: str) -> Iterator[str]:
    """Return what would be replaced in a text, or in the JSON that it is, with what is around."""
    for key, value in pairs(parsed(text)):
        if names_secret(key) and value and isinstance(value, str | int):
            yield f"under the key {key}: {value}"
    data = text.encode()
    for start, stop in find_secrets(data):
        if data[start:stop].decode() not in PLANTED:
            before, after = data[max(0, start - SHOWN) : start], data[stop : stop + SHOWN // 4]
            yield f"{before.decode(errors='replace')}«{data[start:stop].decode()}»{after!r}"


def parsed(text: str) -> Any:
    """Return the JSON that a text is, else nothing."""
    try:
        return json.loads(text) if text[:1] in ("{", "[") else {}
    except ValueError:
        return {}


def pairs(node: Any) -> Iterator[tuple[str, Any]]:
    """Return all keys of JSON with their values."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(key, str):
            yield key, value
        if isinstance(value, dict | list):
            yield from pairs(value)


def read_named(kind: str) -> Iterator[str]:
    """Return the texts of the project, scikit-learn and the notebooks."""
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    own = [ROOT / name for name in listed if not name.startswith("tests/")]
    yield from read_files(own, kind)
    yield from read_files(sorted((SITE / "sklearn").rglob("*")), kind)
    for path in own:
        if path.suffix == ".ipynb":
            yield from NOTEBOOKS.get(kind, lambda _path: ())(path)
    if kind == "HTML":
        yield from rendered_data()
        for shown in ("Python", "docs"):
            yield from (f"<pre>{html.escape(text)}</pre>" for text in read_files(own, shown))


def read_installed(kind: str) -> Iterator[str]:
    """Return the texts of all installed packages."""
    return read_files(sorted(SITE.rglob("*")), kind)


def read_files(paths: list[Path], kind: str) -> Iterator[str]:
    """Return the texts of the files of one kind; of tests only the data."""
    for path in paths:
        tested = {"test", "tests", "testing"} & set(path.relative_to(path.anchor).parts)
        if not path.name.endswith(SUFFIXES[kind]) or (tested and "openml" not in path.parts):
            continue
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        try:
            yield raw.decode().replace("\0", "")
        except UnicodeDecodeError:
            continue


def cells(path: Path, kind: str) -> Iterator[str]:
    """Return the cells of a notebook."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == kind:
            yield "".join(cell["source"])


def page(path: Path) -> Iterator[str]:
    """Return a notebook as nbconvert writes it."""
    from nbconvert import HTMLExporter  # imports for half a second

    yield HTMLExporter().from_filename(str(path))[0]


NOTEBOOKS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "Python": lambda path: cells(path, "code"),
    "docs": lambda path: cells(path, "markdown"),
    "HTML": page,
}


def rendered_data() -> Iterator[str]:
    """Return scikit-learn's data sets and some estimators as HTML."""
    from sklearn import datasets, ensemble, pipeline, preprocessing  # imports for a second

    for load in (datasets.load_wine, datasets.load_breast_cancer, datasets.load_diabetes):
        yield load(as_frame=True).frame.to_html()
    steps = preprocessing.StandardScaler(), ensemble.RandomForestClassifier()
    yield pipeline.make_pipeline(*steps)._repr_html_()


if __name__ == "__main__":
    for kind in SUFFIXES:
        for text in (read_installed if "all" in sys.argv else read_named)(kind):
            for alarm in alarms(text):
                print(f"{kind}: {' '.join(alarm.split())}")
