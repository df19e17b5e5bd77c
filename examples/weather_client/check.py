"""Runs every variant of the client and exits non-zero unless each passes and no stub is left."""

import asyncio
import sys
import time

import stories_weather
import weather

import repl_pair

assert stories_weather


async def run_together() -> list[repl_pair.RunRecord]:
    """Run all variants on one loop at the same time; none meets another's stub."""
    ids = repl_pair.registry.ids("variant")
    return await asyncio.gather(*(repl_pair.arun(id) for id in ids))


records = [repl_pair.run(id) for id in repl_pair.registry.ids("variant")]
for record in records:
    print(f"{record.status:10} {record.total}  {record.variant_id}  {record.reason}")

never = repl_pair.run("weather.forecast/Never_answers")
tried = [(e.id, e.stubbed) for e in never.effects if e.id == "http/get"]
assert tried == [("http/get", True)] * weather.TRIES, never.effects
assert abs(weather.now() - time.time()) < 5, "the clock is still stubbed"
assert len(records) == 6, len(records)
sys.exit(sum(record.status != "pass" for record in records))
