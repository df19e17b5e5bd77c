"""What it costs to check a realm, over reading its files."""

import json
import tempfile
import time
from pathlib import Path
from statistics import median

from measure import Row, row, scaled

from repl_pair.runtime.realm.bindings import bind
from repl_pair.runtime.realm.checks import check_realm
from repl_pair.runtime.realm.membership import init_realm, join_realm
from repl_pair.runtime.realm.realms import open_realm
from repl_pair.runtime.realm.saving import Edition, save_contract

CONTRACTS, DOMAINS, ROUNDS = 50, 5, 60


def figures() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root, realm = Path(folder, "web"), Path(folder, "realm")
        root.mkdir()
        make_realm(root, realm)
        files = sorted(realm.rglob("*.json"))
        taken: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(scaled(ROUNDS, 1)):
            for is_check, times in taken.items():
                begun = time.perf_counter()
                if is_check:
                    assert check_realm(open_realm(root), strict=True)["valid"]
                else:
                    for file in files:
                        json.loads(file.read_text(encoding="utf-8"))
                times.append(1e3 * (time.perf_counter() - begun))
    return [
        row(
            f"realm_check of {CONTRACTS} contracts in {DOMAINS} domains, p50",
            median(taken[True]),
            "ms",
            baseline=median(taken[False]),
            baseline_what=f"reading and parsing its {len(files)} files",
            budget="ratio <= 2",
        )
    ]


def make_realm(root: Path, realm: Path) -> None:
    """Make a realm whose one repo exports and imports every contract."""
    init_realm("shop", realm)
    home = join_realm(root, realm)
    for number in range(CONTRACTS):
        domain, name = f"domain_{number % DOMAINS}", f"contract_{number}"
        slots = {
            f"slot_{n}": {"type": "string", "description": f"The slot {n} of {name}"}
            for n in range(8)
        }
        schema = {"type": "object", "properties": slots, "required": list(slots)[:3]}
        for version in ("1.0.0", "1.1.0", "1.2.0"):
            schema["title"] = f"{name} {version}"
            edition = Edition(version=version, schema=schema, changes=f"What {version} brings.")
            save_contract(home, domain, name, edition)
        bind(home, domain, exports=[name], imports=[f"{name} >=1.1,<2"])
