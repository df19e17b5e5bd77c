import pytest
from hypothesis import given, strategies as st

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import DEFAULT_TOOLSETS, GATED, OPEN, Policy, parse_words
from repl_pair.errors import RequestError
from repl_pair.wire import View

gates = st.frozensets(st.sampled_from(GATED))
policies = st.builds(Policy, allow=gates, ask=gates, toolsets=st.frozensets(st.just("story")))
accesses = st.sampled_from([*OPEN, *GATED, "unheard_of", None])


def descriptor(**slots):
    schema = {"type": "object", "properties": {}, "required": []}
    base = {"name": "get_it", "access": "read", "toolset": "core", "input_schema": schema}
    return base | slots


def test_reading_and_running_need_no_word_and_the_gates_are_shut():
    decisions = {a: Policy().resolve(descriptor(access=a)) for a in (*OPEN, *GATED)}
    assert decisions == {
        "read": "allow",
        "run": "allow",
        "inspect": "deny",
        "write": "deny",
        "eval": "deny",
    }


def test_an_asked_gate_is_neither_open_nor_hidden():
    policy = Policy(ask=frozenset({"inspect"}))
    assert policy.resolve(descriptor(access="inspect")) == "ask"
    assert "inspect" not in policy.view().access


def test_who_may_evaluate_may_write_unless_writing_is_asked_for():
    assert Policy(allow=frozenset({"eval"})).resolve(descriptor(access="write")) == "allow"
    asked = Policy(allow=frozenset({"eval"}), ask=frozenset({"write"}))
    assert asked.resolve(descriptor(access="write")) == "ask"


@pytest.mark.parametrize(
    "slots",
    [
        {"name": "_hidden"},
        {"internal": True},
        {"access": None},
        {"access": "unheard_of"},
    ],
)
def test_the_floor_holds_with_every_gate_open(slots):
    everything = Policy(allow=frozenset(GATED) - {"eval"}, toolsets=frozenset({"core"}))
    assert everything.resolve(descriptor(**slots)) == "deny"
    assert not everything.lists(descriptor(**slots))


def test_an_op_that_does_not_state_what_it_does_stays_shut_even_to_eval():
    assert Policy(allow=frozenset(GATED)).resolve(descriptor(access=None)) == "deny"


def test_a_toolset_lists_what_can_be_called_anyway():
    values = descriptor(toolset="story")
    assert Policy().resolve(values) == "allow"
    assert not Policy().lists(values)
    assert Policy(toolsets=frozenset({"story"})).lists(values)


def test_an_opened_gate_lists_what_was_behind_it():
    value = descriptor(toolset="values", access="inspect")
    names = descriptor(toolset="values", needs={"values": "inspect"})
    for opened in (Policy(allow=frozenset({"inspect"})), Policy(ask=frozenset({"inspect"}))):
        assert opened.lists(value)
        assert opened.lists(names)


def test_what_may_be_written_is_listed_also_where_evaluating_opens_it():
    write = descriptor(toolset="write", access="write")
    assert Policy(allow=frozenset({"eval"})).lists(write)
    assert not Policy(allow=frozenset({"inspect"})).lists(write)
    assert not Policy(toolsets=frozenset({"write"})).lists(write)


def test_an_opened_gate_lists_its_own_toolset_and_no_other_one():
    rest = descriptor(toolset="authoring", access="write")
    for opened in (Policy(allow=frozenset(GATED)), Policy(ask=frozenset({"write"}))):
        assert opened.resolve(rest) != "deny"
        assert not opened.lists(rest)
    chosen = Policy(allow=frozenset({"write"}), toolsets=frozenset({"authoring"}))
    assert chosen.lists(rest)
    assert not Policy(toolsets=frozenset({"authoring"})).lists(rest)


@given(policies, st.sampled_from([d for d in manifest.load() if not d.get("internal")]))
def test_what_is_listed_stands_in_a_toolset_that_is_on(policy, op):
    of_gates = {"write", "eval"} & {*policy.allow, *policy.ask}
    of_gates |= {"write"} if "eval" in policy.allow else set()
    on = DEFAULT_TOOLSETS | policy.toolsets | of_gates | ({"approval"} if policy.ask else set())
    assert policy.lists(op) == (policy.resolve(op) != "deny" and op["toolset"] in on)


def test_exposing_all_reaches_the_kernel_and_nothing_else_does_so():
    sent = Policy(expose_all=True).view().to_wire()
    assert View.from_wire(sent).expose_all is True
    assert not Policy(allow=frozenset(GATED)).view().expose_all
    assert not View.from_wire({**sent, "expose_all": 1}).expose_all


def test_run_op_is_for_what_no_gate_decides_over():
    open_all = Policy(allow=frozenset(GATED))
    assert open_all.is_for_run_op(descriptor(toolset="story", access="run"))
    assert not open_all.is_for_run_op(descriptor(access="write"))
    assert not Policy(ask=frozenset({"inspect"})).is_for_run_op(descriptor(access="inspect"))


def test_a_denied_parameter_is_out_of_the_schema_and_the_others_stay():
    schema = {"type": "object", "properties": {"a": {}, "values": {}}, "required": ["a"]}
    op = descriptor(input_schema=schema, needs={"values": "inspect"})
    assert Policy().visible_parameters(op) == {
        "type": "object",
        "properties": {"a": {}},
        "required": ["a"],
    }
    assert Policy(allow=frozenset({"inspect"})).visible_parameters(op) == schema
    assert Policy(ask=frozenset({"inspect"})).resolve_parameter(op, "values") == "ask"


def test_the_view_carries_all_that_the_kernel_filters_by():
    policy = Policy(allow=frozenset({"inspect"}), tier="ops", revision=3)
    assert policy.view("ann") == View(
        principal="ann",
        tier="ops",
        access=frozenset({"read", "run", "mutates", "inspect"}),
        policy=3,
    )


@given(policies, accesses)
def test_the_view_grants_exactly_what_the_resolver_allows(policy, access):
    allowed = policy.resolve(descriptor(access=access)) == "allow"
    assert (access in policy.view().access) == allowed


@given(policies, accesses, st.sampled_from(["story", "values", "other"]))
def test_whatever_is_listed_can_be_called(policy, access, toolset):
    op = descriptor(access=access, toolset=toolset)
    assert not policy.lists(op) or policy.resolve(op) != "deny"


@given(policies, accesses)
def test_asking_never_opens_what_is_not_allowed(policy, access):
    without = Policy(allow=policy.allow, ask=frozenset())
    if policy.resolve(descriptor(access=access)) == "allow":
        assert without.resolve(descriptor(access=access)) == "allow"


def test_gates_are_read_from_text_and_a_wrong_word_is_given_its_neighbour():
    assert parse_words(" inspect, write,", "access", GATED) == {"inspect", "write"}
    with pytest.raises(RequestError, match=r"No access 'inspekt'.*Nearest: inspect"):
        parse_words("inspekt", "access", GATED)
    with pytest.raises(RequestError, match="No access 'run'"):
        parse_words("run", "access", GATED)


def test_functions_that_change_something_are_open_unless_they_ask():
    asked = frozenset({"mutates"})
    assert "mutates" in Policy().view().access
    assert "mutates" in Policy(allow=asked).view().access
    assert "mutates" not in Policy(ask=asked).view().access
    assert "mutates" not in Policy(ask=asked, allow=asked).view().access


def test_what_asks_while_it_is_open_asks_through_run_op_too():
    asking = Policy(ask=frozenset({"mutates", "write"}), allow=frozenset({"eval"}))
    assert asking.with_gates_closed == Policy(ask=frozenset({"mutates"}))
