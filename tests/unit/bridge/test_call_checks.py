"""What is checked of a call before it is made."""

import pytest

from repl_pair.bridge.call_checks import check_forwarded
from repl_pair.bridge.policy import Policy
from repl_pair.errors import RequestError, next_step


@pytest.mark.parametrize(
    ("args", "step"),
    [
        ({}, next_step("describe_op", op="run_variant")),
        ({"variant_id": "a/B"}, next_step("run_op", op="run_variant", args={"variant_id": "a/B"})),
        (
            {"variant_id": "a/B", "kernel": "k"},
            next_step("run_op", op="run_variant", args={"variant_id": "a/B"}, kernel="k"),
        ),
    ],
)
def test_the_way_to_an_op_that_runs_is_a_call_that_works_as_written(args, step):
    with pytest.raises(RequestError) as caught:
        check_forwarded(Policy(), "read_op", "run_variant", args)
    assert list(caught.value.next_steps) == [step]
