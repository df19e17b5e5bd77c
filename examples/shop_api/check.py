"""Runs the service's variants and exits non-zero unless each passes."""

import sys

import stories_shop_api

import repl_pair

assert stories_shop_api
records = [repl_pair.run(id) for id in repl_pair.registry.ids("variant")]
for record in records:
    print(f"{record.status:10} {record.total}  {record.variant_id}  {record.reason}")
assert len(records) == 6, len(records)
sys.exit(sum(record.status != "pass" for record in records))
