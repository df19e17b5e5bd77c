import re

from repl_pair.bridge import manifest
from repl_pair.runtime.results.instructions import INSTRUCTIONS

VERBS = "list|get|read|run|preview|register|unregister|record|create|edit|delete|describe|use"
VERBS += "|share|explain|tests|watch|reset|clear|changed|snapshot"


def test_the_instructions_are_under_two_kilobytes():
    assert len(INSTRUCTIONS.encode()) < 2000


def test_every_tool_and_parameter_that_the_instructions_name_exists():
    ops = {entry["name"]: entry["input_schema"]["properties"] for entry in manifest.load()}
    named = set(re.findall(rf"\b(?:{VERBS})_\w+|\bunregister\b", INSTRUCTIONS))
    assert named - ops.keys() == set()
    assert len(named) >= 15
    for name, args in re.findall(r"\b(\w+)\(([^()]*)\)", INSTRUCTIONS):
        given = re.findall(r"(?:^|, )(\w+)=", re.sub(r"\{.*\}", "{}", args, flags=re.S))
        if name in named:  # and no function in the code of an example
            assert set(given) <= ops[name].keys(), (name, given)


def test_the_usual_calls_are_seven_in_their_order():
    usual = INSTRUCTIONS.partition("USUAL CALLS")[2].partition("Then:")[0]
    assert re.findall(r"(\d)\. (\w+)\(", usual) == [
        ("1", "list_stories"),
        ("2", "list_variants"),
        ("3", "get_variant"),
        ("4", "run_variant"),
        ("5", "read_failures"),
        ("6", "tests_passing"),
        ("7", "read_changes"),
    ]
