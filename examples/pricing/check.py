"""Runs every variant of the example and exits non-zero unless each ends as it should."""

import sys

import stories_pricing

import repl_pair

EXPECTED = {
    "pricing.catalogue/Known": "pass",
    "pricing.catalogue/Unknown": "pass",
    "pricing.chart/Bars": "pass",
    "pricing.discount/Capped": "pass",
    "pricing.discount/Few": "pass",
    "pricing.discount/Wrong_on_purpose": "fail",
    "pricing.live/Usd": "pass",
    "pricing.payment/Accepted": "pass",
    "pricing.payment/Declined": "pass",
    "pricing.quote/Bulk": "pass",
    "pricing.quote/Empty": "pass",
    "pricing.quote/Old_currency": "pass",
    "pricing.quote/Partner": "pass",
    "pricing.quote/Single": "pass",
    "pricing.quote/Tax_free": "pass",
}


def find_faults() -> list[str]:
    """Run everything and say what is not as it should be."""
    registered = set(repl_pair.registry.ids("variant"))
    faults = [f"{id} is expected or registered, but not both" for id in registered ^ set(EXPECTED)]
    for id in sorted(registered & set(EXPECTED)):
        record = repl_pair.run(id)
        print(f"{record.status:10} {record.total} {record.elapsed_ms:8.2f} ms  {id}")
        if record.status != EXPECTED[id]:
            faults.append(f"{id}: {record.status}, not {EXPECTED[id]}. {record.reason}")
    return faults + find_faults_of_modes()


def find_faults_of_modes() -> list[str]:
    """Run one variant in every currency; it holds in each, and each is another snapshot."""
    records = [repl_pair.run("pricing.quote/Bulk", modes=[m]) for m in stories_pricing.CURRENCIES]
    hashes = {record.identity.content_hash for record in records}
    faults = [f"{r.active_modes}: {r.status}. {r.reason}" for r in records if r.status != "pass"]
    return faults + ([] if len(hashes) == len(records) else ["two currencies have one identity"])


if __name__ == "__main__":
    found = find_faults()
    print("\n".join(found) or f"all {len(EXPECTED)} variants end as they should")
    sys.exit(1 if found else 0)
