"""The steps of a reply where several clients share the server."""

import pytest

from repl_pair.bridge.replies import name_kernel_in_steps
from repl_pair.errors import KernelError, next_step
from repl_pair.wire import error_reply

AMBIGUOUS = error_reply(
    KernelError(
        "ambiguous_kernel", "Two are alive.", next_steps=[next_step("use_kernel", kernel="k1")]
    )
)


@pytest.mark.parametrize(
    ("op", "args", "is_repeated"),
    [
        ("run_variants", {"limit": 7}, True),
        ("list_stories", {}, True),
        ("run_variant", {"variant_id": "a.b/C", "overrides": {"x": "y" * 1000}}, False),
        ("eval_code", {"code": "shutil.rmtree(p)"}, False),
        ("unregister", {"kind": "story", "id": "a.b"}, False),
        ("describe_op", {}, False),
        ("unknown", {}, False),
    ],
)
def test_a_short_call_that_reads_or_runs_is_repeated_in_the_kernel_that_a_step_would_choose(
    op, args, is_repeated
):
    expected = next_step(op, **args, kernel="k1")
    steps = name_kernel_in_steps(AMBIGUOUS, op, args)["next_steps"]
    assert steps == [expected if is_repeated else next_step("list_stories", kernel="k1")]
