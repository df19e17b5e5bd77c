"""Runs the model's variants in each strength, and exits non-zero unless each passes."""

import sys

import stories_wine

import repl_pair

assert stories_wine
rows = [(id, ()) for id in repl_pair.registry.ids("variant")]
rows += [(id, (m,)) for id, _ in rows if id.startswith("wine.score/") for m in ("strength/weak",)]
records = [repl_pair.run(id, modes=modes) for id, modes in rows]
for record in records:
    print(f"{record.status:10} {record.total}  {record.variant_id} {record.active_modes}")

(picture,) = [r for r in records if r.variant_id == "wine.picture/All"]
assert [sorted(bundle)[0] for bundle in picture.outputs] == ["image/png"], picture.outputs
hashes = {record.identity.content_hash for record in records}
assert len(hashes) == len(records) == 12, "two rows have one identity"
sys.exit(sum(record.status != "pass" for record in records))
