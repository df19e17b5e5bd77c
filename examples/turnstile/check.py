"""Runs the turnstile's variants, one by one and all at once; non-zero unless each passes."""

import asyncio
import sys

import stories_turnstile

import repl_pair

assert stories_turnstile
ids = repl_pair.registry.ids("variant")


async def run_together() -> list[repl_pair.RunRecord]:
    """Run all on one loop at the same time: each has a turnstile of its own."""
    return list(await asyncio.gather(*(repl_pair.arun(id) for id in ids)))


records = [*(repl_pair.run(id) for id in ids), *asyncio.run(run_together())]
for record in records:
    print(f"{record.status:10} {record.total}  {record.variant_id}  {record.reason}")
assert len(records) == 10, len(records)
sys.exit(sum(record.status != "pass" for record in records))
