"""What pytest takes for many variants, against parametrised functions that do the same."""

import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from statistics import median

from measure import Row, clocked_ms, row, scaled

ITEMS = 10_000
TIMES = 3

COMPONENT = """
from dataclasses import dataclass

@dataclass
class Line:
    name: str
    price: float
    count: int = 1

def total(lines: list[Line], discount: float = 0.0) -> dict[str, float]:
    whole = sum(line.price * line.count for line in lines)
    return {"total": whole * (1 - discount), "lines": len(lines)}

def lines_of(number: int) -> list[Line]:
    return [Line("tea", float(number)), Line("milk", 2.0, count=3)]
"""
VARIANTS = """
import repl_pair
from repl_pair import check
from total import lines_of, total

repl_pair.story("shop.total", component=total, tags=["test"])
for number in range(ITEMS):
    repl_pair.variant(
        f"shop.total/Of_{number:05}",
        args={"lines": lines_of(number)},
        play=[check.path_equals("result.total", number + 6.0)],
    )
"""
PARAMETERS = """
import pytest
from total import lines_of, total

CASES = [
    pytest.param(lines_of(number), number + 6.0, id=f"Of_{number:05}") for number in range(ITEMS)
]
"""
SAME = (
    PARAMETERS
    + """
import copy, hashlib, inspect, json, time
from dataclasses import asdict

@pytest.mark.test
@pytest.mark.parametrize(("lines", "expected"), CASES)
def test_total(lines, expected, capsys, caplog, recwarn, record_property):
    content = json.dumps([asdict(line) for line in lines], sort_keys=True)
    record_property("content_hash", hashlib.sha256(content.encode()).hexdigest())
    code = inspect.getsource(total)
    record_property("code_hash", hashlib.sha256(code.encode()).hexdigest())
    started = time.perf_counter()
    found = total(copy.deepcopy(lines))
    record_property("render", f"{(time.perf_counter() - started) * 1e3:.3f} ms")
    out, err = capsys.readouterr()
    record_property("output", [out, err, caplog.messages, [str(w.message) for w in recwarn]])
    assert found["total"] == expected
"""
)
BARE = (
    PARAMETERS
    + """
@pytest.mark.test
@pytest.mark.parametrize(("lines", "expected"), CASES)
def test_total(lines, expected):
    assert total(lines)["total"] == expected
"""
)
FILES: Mapping[str, str] = {
    "stories_total.py": VARIANTS,
    "test_same.py": SAME,
    "test_bare.py": BARE,
}


def figures() -> Generator[Row]:
    items = scaled(ITEMS, 20)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), items)
        collected = seconds(Path(folder), ["--collect-only"])
        ran = seconds(Path(folder), [])
    variants, same, bare = FILES
    yield row(
        f"pytest: {items:,} variants collected",
        collected[variants],
        "s",
        baseline=collected[same],
        baseline_what="as many parametrised functions",
    )
    yield row(
        f"pytest: {items:,} variants collected and run",
        ran[variants],
        "s",
        baseline=ran[same],
        baseline_what="parametrised functions that copy, capture, hash and record as a run does",
        budget="ratio <= 1.5",
    )
    yield row(
        f"pytest: the same {items:,} variants",
        ran[variants],
        "s",
        baseline=ran[bare],
        baseline_what="parametrised functions that call and assert, nothing else",
        budget="ratio <= 2",
    )


def write(folder: Path, items: int) -> None:
    """Write the files of one project."""
    folder.joinpath("pytest.ini").write_text("[pytest]\nmarkers = test: for CI\n")
    folder.joinpath("total.py").write_text(COMPONENT)
    for name, text in FILES.items():
        folder.joinpath(name).write_text(text.replace("ITEMS", str(items)))


def seconds(folder: Path, args: Sequence[str]) -> Mapping[str, float]:
    """Return what pytest takes for each file, from its start to its end, one after the other."""
    times = {name: list[float]() for name in FILES}
    for _ in range(scaled(TIMES, 1)):
        for name, taken in times.items():
            taken.append(clocked_ms(lambda name=name: run(folder, name, args)) / 1e3)
    return {name: median(taken) for name, taken in times.items()}


def run(folder: Path, name: str, args: Sequence[str]) -> None:
    """Run one file; every item of it passes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name, *args]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
