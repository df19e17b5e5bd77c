import subprocess
import sys
from typing import Annotated

import pytest

from repl_pair.errors import CODES, ReplPairError, RequestError
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.descriptors import build_descriptor, build_descriptors, check_call
from repl_pair.runtime.op_base.table import TABLE, Table
from repl_pair.wire import View

READER = View(access=frozenset({"read"}))
INSPECTOR = View(access=frozenset({"read", "inspect"}))


@pytest.fixture
def table():
    table = Table()

    @table.op(access="read", lane="inline", toolset="t", needs={"deep": "inspect"})
    def list_things(
        call: Call, kind: Annotated[str, "Which kind"], deep: bool = False
    ) -> dict[str, int]:
        """List the things."""
        return {}

    return table


def test_a_descriptor_comes_from_the_function_itself(table):
    assert build_descriptors(table) == [
        {
            "name": "list_things",
            "doc": "List the things.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "description": "Which kind"},
                    "deep": {"type": "boolean", "default": False},
                },
                "required": ["kind"],
                "additionalProperties": False,
            },
            "access": "read",
            "lane": "inline",
            "toolset": "t",
            "needs": {"deep": "inspect"},
        }
    ]


def test_hidden_and_unknown_ops_are_refused_in_the_same_words():
    def message(name):
        with pytest.raises(RequestError) as refused:
            TABLE.find(name, READER)
        return refused.value.message.replace(name, "X")

    hidden, unknown = message("run_variant"), message("run_varianx")
    assert hidden.partition(" Nearest")[0] == unknown.partition(" Nearest")[0]
    assert "get_value" not in hidden + unknown


def test_a_parameter_that_needs_more_access_does_not_exist_without_it():
    op = TABLE.find("list_variables", INSPECTOR)
    check_call(op, {"values": True}, INSPECTOR)
    with pytest.raises(RequestError, match="values is not an argument"):
        check_call(op, {"values": True}, READER)


def test_all_faults_of_a_call_are_named_at_once():
    op = TABLE.find("get_variant", READER)
    with pytest.raises(RequestError) as refused:
        check_call(op, {"variant": 3}, READER)
    assert refused.value.message == (
        "get_variant: variant_id is missing (string). "
        "variant is not an argument. Nearest: variant_id."
    )


def test_every_built_in_op_describes_itself_and_its_parameters():
    for found in build_descriptors(TABLE):
        assert found["doc"], found["name"]
        if not found.get("internal"):
            parts = found["input_schema"]["properties"].items()
            undescribed = [name for name, part in parts if "description" not in part]
            assert undescribed == [], (found["name"], undescribed)


def test_every_error_code_is_explained_and_only_these_can_be_raised():
    assert all(CODES.values())
    with pytest.raises(AssertionError):
        ReplPairError("no_such_code", "x")


def test_a_kernel_that_agents_attach_to_does_not_import_the_runner_before_it_runs_something():
    code = (
        "import sys, repl_pair.runtime.kernel.attach; "
        "running = {f'repl_pair.runtime.running.{name}' for name in ('runner', 'frame')}; "
        "print(running & set(sys.modules))"
    )
    run = [sys.executable, "-c", code]
    out = subprocess.run(run, capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout == "set()\n"


def test_every_op_names_the_type_of_its_answer():
    silent = {op.name for op in TABLE.ops() if "answer" not in build_descriptor(op)}
    assert silent == {"open_panel"}
