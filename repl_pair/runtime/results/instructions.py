"""What an agent reads first: the words, the usual calls, the rules."""

INSTRUCTIONS = """\
WORDS
story: the person's function or class, under an id (pricing.quote).
variant: one named state of it (pricing.quote/Bulk): args, events, play. Data only.
mode: a saved tuple of args. play: steps, among them assertions, that record and never raise.

USUAL CALLS
1. list_stories()  2. list_variants(story_id=...)  3. get_variant(variant_id=...)
4. run_variant(variant_id=..., modes=[...], overrides={...})
5. read_failures()  6. tests_passing(story_id=...)  7. read_changes(since=...)
Then: run_variants() (all, or by tags, story), preview_variant (no verdict), \
explain_variant (where values come from), get_docs_markdown, share_variant.
Not in your list of tools? describe_op(op=...); read_op(op=..., args={...}) calls it if it reads, \
run_op if it runs. next_steps are calls that work as written, hints words to the person.

STATUS
pass, fail, error; cannot_run: not judged, see reason. total 0: nothing \
was asserted. stale: changed since the run; run it again.
Args: global < story < modes, in the order given < variant < overrides.

WRITING (only with --allow write)
register_variant(variant_id="pricing.quote/Mine", body={"extends": "pricing.quote/Bulk", \
"args": {...}, "play": [["path_equals", "result.total", 13.0]]}); then run_variant, and \
unregister(kind="variant", id=...).
A body is data over ids that exist: no code, imports, dotted Python names. list_assertions, \
list_decorators and list_modes give the ids.

LOOKING
list_variables(type="DataFrame", sort="bytes"). Cell stuck or slow: read_stacks(), read_hot_lines().
--allow inspect: read_traceback(), read_history(), describe_object(path=...), \
get_value(path="orders[10:20]"), frame.loc["a"], array[3, :5]; the reply's path tells a label from \
a position.
--allow eval: eval_code(code="len(orders)"); scope="user" assigns there.

SECRETS
"[redacted]" is a secret and cannot be had or overridden; it is valid as an expected value. \
{"$elided"} is large: read_more(handle=...). {"$overflow"}: next_steps has a smaller one.
"""
