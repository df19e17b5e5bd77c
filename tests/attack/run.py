"""Attack the package: `python tests/attack/run.py [--seed N] [--count N] [--kernels N]`.

Prints the counts, and the fewest calls that show what was found; it fails if anything was.
"""

import argparse
import sys
import time
from collections.abc import Iterator

from attack import Attack, Broken, Counts, describe
from stand import open_stand

CASES_OF_A_KERNEL = 5_000
"""So many calls are made to one kernel; the next has other canaries."""


def attack(seed: int, count: int) -> Counts:
    """Make so many calls over as many kernels as that takes; prints how far it is."""
    total, began = Counts(), time.monotonic()
    for kernel_seed, cases in kernels(seed, count):
        with open_stand(kernel_seed) as stand:
            attack = Attack(stand, kernel_seed)
            try:
                for _ in attack.run(cases):
                    show(f"{total.cases + attack.counts.cases:,} of {count:,} cases", end="\r")
            except Broken as broken:
                show(describe(kernel_seed, broken))
                raise SystemExit(1) from None
        total.add(attack.counts)
        show(f"{total.cases:,} of {count:,} cases in {time.monotonic() - began:,.0f} s")
    return total


def kernels(seed: int, count: int) -> Iterator[tuple[int, int]]:
    """Give the seed of each kernel and how many calls it gets."""
    for n, done in enumerate(range(0, count, CASES_OF_A_KERNEL)):
        yield seed * 1_000 + n, min(CASES_OF_A_KERNEL, count - done)


def show(text: str, end: str = "\n") -> None:
    """Print at once."""
    print(text, end=end, flush=True)


def main() -> int:
    """Read the command line, attack, and print the counts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=100_000)
    given = options.parse_args()
    counts = attack(given.seed, given.count)
    show(f"replies by code: {', '.join(f'{code} {n:,}' for code, n in counts.codes.most_common())}")
    show(f"ops answered with ok: {len(counts.reached)}, refused: {len(counts.refused)}")
    show(f"bytes searched: {counts.bytes:,}; canaries out: 0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
