"""Runs the suite again and again, files in random order, beside processes that keep cores busy.

    python tests/stress.py                            # `make test` and `make test-all`, ten times
    python tests/stress.py --targets test             # `make test` alone
    python tests/stress.py --times 2 tests/unit       # a part, with two workers

Prints a line for each run, with the seed of its order: `make test ARGS=--shuffle=SEED` repeats it.
The exit code is 0 if each run passed; one that skipped a test did not.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
COUNTS = ("passed", "failed", "error", "skipped")
BUSY = "while True: pass"
SUMMARY = re.compile(r"^=* ?(?:\d+ \w+,? ?)+ in [\d.]+s", re.MULTILINE)
BAD = re.compile(r"^(?:FAILED|ERROR|SKIPPED) .*", re.MULTILINE)
VARIABLES = {**os.environ, "CI": "true"}
"""Under CI what a test needs and does not find is a failure."""


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many cores busy."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def commands(parts: Sequence[str], targets: Sequence[str], seed: int) -> list[list[str]]:
    """Return what one run of the suite, or of a part of it, consists of."""
    shuffle = f"--shuffle={seed}"
    if not parts:
        return [["make", target, f"ARGS={shuffle}"] for target in targets]
    spread = ["--numprocesses", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
    return [[sys.executable, "-m", "pytest", shuffle, *spread, *parts]]


def run_once(wanted: list[list[str]], log: Path) -> tuple[bool, Counter[str], list[str]]:
    """Run the commands; return whether it passed, its counts, and what did not pass."""
    codes = []
    with log.open("w") as out:
        for command in wanted:
            ran = subprocess.run(
                command,
                cwd=ROOT,
                env=VARIABLES,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                check=False,
            )
            codes.append(ran.returncode)
    text = log.read_text(errors="replace")
    counts: Counter[str] = Counter()
    for summary in SUMMARY.findall(text):
        for number, word in re.findall(r"(\d+) (\w+)", summary):
            counts[word.rstrip("s") if word.startswith("error") else word] += int(number)
    return not any(codes) and not counts["skipped"], counts, BAD.findall(text)


def main() -> int:
    """Run, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="files or folders; the whole suite if none")
    parser.add_argument("--targets", nargs="+", default=["test", "test-all"], help="of make")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--busy", type=int, default=2, help="processes that keep cores busy")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="of the first")
    parser.add_argument("--logs", type=Path, default=ROOT / "build" / "stress")
    given = parser.parse_args()
    given.logs.mkdir(parents=True, exist_ok=True)
    print("| run | seed | " + " | ".join(COUNTS) + " | minutes | result |")
    print("|---" * (len(COUNTS) + 4) + "|", flush=True)
    good = 0
    with busy(given.busy):
        for number in range(1, given.times + 1):
            seed, began = given.seed + number - 1, time.monotonic()
            passed, counts, bad = run_once(
                commands(given.parts, given.targets, seed), given.logs / f"{seed}.log"
            )
            good += passed
            minutes = (time.monotonic() - began) / 60
            shown = [number, seed, *(counts[name] for name in COUNTS), f"{minutes:.1f}"]
            print(f"| {' | '.join(map(str, shown))} | {'passed' if passed else 'FAILED'} |")
            print(*bad, sep="\n", end="\n" if bad else "", flush=True)
    print(f"{good} of {given.times} runs passed; their output is in {given.logs}")
    return 0 if good == given.times else 1


if __name__ == "__main__":
    sys.exit(main())
