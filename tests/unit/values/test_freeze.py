"""Freezing, merging and thawing of args."""

import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag, IntFlag, StrEnum
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
)
from uuid import UUID

import attrs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from markupsafe import Markup
from pydantic import BaseModel, Field, SecretStr
from starlette.datastructures import QueryParams

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.assertions.comparison import difference
from repl_pair.runtime.authoring.entries import Handle
from repl_pair.runtime.planning.identity import content_hash
from repl_pair.runtime.values.classes import TypeRef, current_class
from repl_pair.runtime.values.freeze import MAX_DEPTH, freeze
from repl_pair.runtime.values.frozen import (
    EnumMember,
    Record,
    Ref,
    Secret,
    merge,
    refs_in,
    sensitive_paths,
    to_plain,
)
from repl_pair.runtime.values.marks import Sensitive
from repl_pair.runtime.values.python_text import Writer
from repl_pair.runtime.values.takes import takes_of
from repl_pair.runtime.values.thaw import thaw

if TYPE_CHECKING:
    from nowhere import Unknown

CANARY = "canary-7f3a9b2c"


class Color(Enum):
    RED = "red"
    BLUE = 2


class Access(Flag):
    READ = 1
    WRITE = 2


class Bits(IntFlag):
    READ = 1


class Settings(dict):
    """As those of an app: `get_list` splits a text."""

    def get_list(self, key):
        return self[key].split(",")


class Several(dict):
    def getall(self, key):
        return [self[key], 2]


class Tone(StrEnum):
    LOUD = "loud"


@dataclass(frozen=True)
class Line:
    sku: str
    price: Decimal
    quantity: int = 1


@dataclass
class Order:
    lines: list[Line]
    placed: date
    color: Color = Color.RED
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass
class RushOrder(Order):
    hours: int = 4


@dataclass
class Login:
    user: str
    password: Annotated[str, Sensitive]


@dataclass
class Picky:
    size: int

    def __post_init__(self):
        if self.size == 0:
            raise WithoutWordsError
        if self.size < 0:
            raise ValueError(f"negative: {self.size}")


class WithoutWordsError(Exception):
    def __str__(self):
        raise RuntimeError


@dataclass
class Guarded:
    token: Annotated[str, Sensitive]

    def __post_init__(self):
        raise ValueError(self.token)


class Point(NamedTuple):
    x: int
    y: int = 0


@attrs.define
class Parcel:
    sku: str
    _weight: Decimal = Decimal(1)
    _code: Annotated[str, Sensitive] = "c"
    label: str = attrs.field(default="new", init=False)


class Address(TypedDict):
    city: str
    zip: NotRequired[str]


class Customer(BaseModel):
    name: str
    key: SecretStr
    color: Color = Color.RED
    lines: list[Line] = []


class Aliased(BaseModel):
    item_price: Decimal = Field(alias="itemPrice")


class Opaque:
    pass


ORDER = Order(lines=[Line("a", Decimal("1.10"))], placed=date(2026, 1, 31), notes={"k": [1]})


def no_load(ref):
    raise AssertionError(ref)


def rebuilt(frozen, hint=Any, load=no_load):
    return thaw(frozen, hint, load=load)


def refusal(frozen, hint):
    with pytest.raises(RequestError) as caught:
        rebuilt(frozen, hint)
    assert caught.value.code == "cannot_run"
    return caught.value.message


def refused(value, hint=Any):
    with pytest.raises(AuthoringError) as caught:
        freeze(value, hint)
    assert caught.value.code == "bad_body"
    return caught.value.message


# Laws.

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.uuids()
    | st.sampled_from(Color)
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
lines = st.builds(Line, sku=st.text(), price=st.decimals(allow_nan=False), quantity=st.integers())
orders = st.builds(
    Order,
    lines=st.lists(lines, max_size=3),
    placed=st.dates(),
    color=st.sampled_from(Color),
    notes=st.dictionaries(st.text(), json_values, max_size=3),
)
rich_values = st.recursive(
    scalars | lines | orders,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.sampled_from(Color), inner, max_size=4)
        | st.frozensets(scalars, max_size=4)
    ),
    max_leaves=12,
)
leaf_slots = {key: st.integers() | st.just(Secret("s")) | st.just([1]) for key in "abc"}
frozen_maps = st.recursive(
    st.fixed_dictionaries({}, optional=leaf_slots),
    lambda inner: st.fixed_dictionaries(
        {},
        optional=leaf_slots
        | {key: inner | st.builds(Record, st.just(TypeRef("m", "C")), inner) for key in "xyz"},
    ),
    max_leaves=8,
)


@given(rich_values)
def test_freezing_twice_is_freezing_once(value):
    assert freeze(freeze(value)) == freeze(value)


@given(orders)
def test_freezing_twice_under_a_hint_is_freezing_once(value):
    assert freeze(freeze(value, Order), Order) == freeze(value, Order)


@given(json_values)
def test_json_comes_back_as_it_was(value):
    assert rebuilt(freeze(value)) == value


@given(rich_values)
def test_declared_data_comes_back_as_it_was_without_a_hint(value):
    assert rebuilt(freeze(value)) == value


@given(orders)
def test_a_hinted_dataclass_comes_back_as_it_was(value):
    assert rebuilt(freeze(value, Order), Order) == value


@given(orders)
def test_an_instance_freezes_like_the_mapping_of_its_fields(value):
    assert freeze(value, Order) == freeze(dict(vars(value)), Order)


@given(rich_values)
def test_frozen_data_and_what_is_rebuilt_share_no_mutable_container(value):
    frozen = freeze(value)
    assert not mutable_ids(value) & mutable_ids(frozen)
    assert not mutable_ids(frozen) & mutable_ids(rebuilt(frozen))


def mutable_ids(value):
    found = {id(value)} if isinstance(value, list | dict | set | Order) else set()
    if isinstance(value, Record):
        return found | mutable_ids(value.fields)
    if isinstance(value, Order | Line):
        return found | mutable_ids(vars(value)) - {id(vars(value))}
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return found.union(*map(mutable_ids, value)) if value else found
    return found


@given(frozen_maps, frozen_maps, frozen_maps)
def test_merging_is_associative_where_maps_meet_maps(a, b, c):
    assert merge(merge(a, b), c) == merge(a, merge(b, c)) == merge(a, b, c)


@given(frozen_maps, frozen_maps)
def test_the_last_of_merged_mappings_wins(a, b):
    merged = merge(a, b)
    assert merged.keys() == a.keys() | b.keys()
    for key, value in b.items():
        if not isinstance(value, dict):
            assert merged[key] == value


@given(frozen_maps, frozen_maps)
def test_merging_changes_none_of_its_operands(a, b):
    before = repr((a, b))
    merge(a, b)
    assert repr((a, b)) == before


# Merge by example.


def test_maps_merge_deep_and_all_else_replaces():
    base = {"order": {"lines": [1, 2], "color": "red"}, "n": 1}
    overlay = {"order": {"lines": [3]}, "n": None}
    assert merge(base, overlay) == {"order": {"lines": [3], "color": "red"}, "n": None}


def test_a_mapping_over_a_record_changes_the_fields_that_it_names():
    base = {"order": freeze(ORDER)}
    merged = rebuilt(merge(base, {"order": {"color": "BLUE"}})["order"])
    assert type(merged) is Order
    assert merged.lines == ORDER.lines


# Freeze by example.


def test_an_instance_of_the_hinted_class_becomes_the_mapping_of_its_fields():
    assert freeze(Line("a", Decimal("1.10")), Line) == {
        "sku": "a",
        "price": Decimal("1.10"),
        "quantity": 1,
    }
    assert freeze(Line("a", Decimal(1)), Line | None) == freeze(Line("a", Decimal(1)), Line)


@pytest.mark.parametrize("hint", [Any, Line | Point, Order, object, "Missing"])
def test_an_instance_of_a_class_that_the_hint_does_not_state_becomes_a_record(hint):
    value = RushOrder(lines=[], placed=date(2026, 1, 1))
    frozen = freeze(value, hint)
    assert frozen.type == TypeRef(__name__, "RushOrder")
    assert frozen.fields["hours"] == 4


def test_an_instance_of_attrs_is_data_by_the_names_that_its_constructor_takes():
    parcel = Parcel("a", Decimal("1.5"))
    fields = {"sku": "a", "weight": Decimal("1.5"), "code": Secret("c")}
    assert freeze(parcel, Parcel) == fields
    assert freeze(parcel) == Record(TypeRef(__name__, "Parcel"), fields)
    assert freeze({**fields, "code": "c"}, Parcel) == fields
    json = {"sku": "a", "weight": "1.5"}
    for frozen, hint in ((fields, Parcel), (freeze(parcel), Any), (json, Parcel)):
        assert rebuilt(frozen, hint) == parcel


def test_nested_instances_are_frozen_by_the_hints_of_their_fields():
    frozen = freeze(ORDER, Order)
    assert frozen["lines"] == [{"sku": "a", "price": Decimal("1.10"), "quantity": 1}]
    assert frozen["color"] == EnumMember(TypeRef(__name__, "Color"), "RED")


def test_a_parameter_marked_sensitive_freezes_to_a_secret():
    for marker in (Sensitive, Sensitive()):
        assert freeze("s", Annotated[str, marker]) == Secret("s")
    assert freeze("s", Annotated[str, Sensitive] | None) == Secret("s")
    assert freeze({"a": [1]}, Annotated[dict[str, Any], Sensitive]) == Secret({"a": [1]})


def test_a_field_marked_sensitive_freezes_to_a_secret_whatever_form_it_came_in():
    for value in (Login("ann", "s"), {"user": "ann", "password": "s"}):
        assert freeze(value, Login) == {"user": "ann", "password": Secret("s")}
        assert freeze([value], list[Login])[0]["password"] == Secret("s")
        assert freeze({"k": value}, dict[str, Login])["k"]["password"] == Secret("s")
    assert freeze(Login("ann", "s")).fields["password"] == Secret("s")
    assert freeze({"user": "a", "password": "s"}, Login | Line)["password"] == Secret("s")


def test_a_pydantic_secret_is_a_secret_wherever_it_stands():
    live = SecretStr("s")
    assert freeze({"a": [live]})["a"][0].value is live
    assert freeze("s", SecretStr) == Secret("s")


def test_a_secret_passes_through():
    secret = Secret("s")
    assert freeze(secret) is secret
    assert freeze(secret, Annotated[str, Sensitive]) is secret


def test_no_repr_of_frozen_data_shows_a_secret():
    assert CANARY not in repr(freeze(Login("ann", CANARY)))


def test_a_handle_freezes_as_plain_text():
    frozen = freeze({Handle("tag", "k"): Handle("tag", "v")})
    assert frozen == {"k": "v"}
    assert {type(part) for item in frozen.items() for part in item} == {str}


def test_arrays_and_frames_are_copied():
    array, frame = np.arange(3), pd.DataFrame({"a": [1, 2]})
    frozen = freeze({"array": array, "frame": frame})
    array[0], frame.loc[0, "a"] = 9, 9
    assert frozen["array"].tolist() == [0, 1, 2]
    assert frozen["frame"]["a"].tolist() == [1, 2]
    again = rebuilt(frozen)
    again["array"][0] = 7
    again["frame"].loc[0, "a"] = 7
    assert frozen["array"].tolist() == [0, 1, 2]
    assert frozen["frame"]["a"].tolist() == [1, 2]


def test_scalars_of_numpy_and_pandas_are_kept():
    values = [np.float64(1.5), np.int64(2), pd.Timestamp("2026-01-01"), pd.NaT]
    assert all(a is b for a, b in zip(freeze(values), values, strict=True))


def test_arrays_of_objects_hold_plain_data_only():
    assert freeze(np.array([Decimal(1), None], dtype=object))[0] == Decimal(1)
    assert "list" in refused(pd.DataFrame({"a": [[1], [2]]}))
    assert "Opaque" in refused(np.array([Opaque()], dtype=object))


def test_mappings_of_the_library_freeze_as_dicts():
    for value in (OrderedDict(a=1), types.MappingProxyType({"a": 1})):
        assert type(freeze(value)) is dict


def test_keys_may_be_enum_members_and_tuples():
    given = {Color.RED: 1, (1, "a"): 2, None: 3, True: 4, ("a", (Color.RED,)): 5}
    frozen = freeze(given)
    assert frozen[EnumMember(TypeRef(__name__, "Color"), "RED")] == 1
    assert rebuilt(frozen) == given


def test_a_mapping_is_data_whatever_its_methods_are_called():
    assert freeze(Settings(hosts="a,b", port=5)) == {"hosts": "a,b", "port": 5}


def test_other_keys_are_refused_by_type():
    assert "args.a has a key of type float" in refused({"a": {1.5: 1}})
    assert "args has a key of type Markup" in refused({Markup("a"): 1})
    assert freeze({np.str_("a"): 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (print, "callable"),
        (lambda: 1, "callable"),
        (Opaque, "the class Opaque"),
        (sys, "the module sys"),
        ((i for i in ()), "a generator"),
        (Opaque(), f"an object of type {__name__}.Opaque"),
        (type("Meta", (type,), {"__eq__": id, "__hash__": None})("Odd", (), {})(), "type"),
        (type("Any", (type,), {"__getattr__": lambda cls, name: cls})("Odd", (), {})(), "Odd"),
        (Markup("<b>"), "an object of type markupsafe.Markup"),
        (QueryParams("a=1&a=2"), "an object of type starlette.datastructures.QueryParams"),
        (QueryParams("a=1"), "an object of type starlette.datastructures.QueryParams"),
        (Several(a=1), f"an object of type {__name__}.Several"),
    ],
)
def test_what_is_no_data_is_refused_with_its_place_and_the_way_to_do_it(value, words):
    message = refused({"client": [{"session": value}]})
    assert message.startswith("args.client[0].session is ")
    assert words in message
    assert "ref('loader_id', ...)" in message


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ma.MaskedArray([1, 2], mask=[0, 1]), "numpy.ma.MaskedArray"),
        (np.rec.array([(1,)], dtype=[("a", "i4")]), "numpy.rec.recarray"),
        (np.longdouble(1), "use float64"),
        (np.array(1, dtype=np.longdouble), "use float64"),
        (pd.DataFrame({"a": np.ones(1, dtype=np.longdouble)}), "use float64"),
        (10**4300, "whole number of over 4,200 digits"),
        ({10**4300: 1}, "whole number of over 4,200 digits"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_has_no_hash_is_refused_before_a_run(value, words):
    assert words in refused([value])


def test_all_that_freezes_can_stand_in_a_slot_of_a_body():
    value: Any = 10**4200
    for _ in range(MAX_DEPTH):
        value = [value]
    body = {"plays": [["", [["result_equals", freeze(value)]]]]}
    assert content_hash(body).startswith("rp1:")
    assert "nested too deeply" in refused([value])


def test_an_object_whose_class_cannot_be_asked_is_refused():
    assert "Odd" in refused(type("Odd", (), {"__class__": property(lambda self: 1 / 0)})())


def test_an_open_file_is_refused():
    with Path(__file__).open() as opened:
        assert "an open file" in refused([opened])


def test_a_refusal_names_the_place_that_the_caller_gave():
    with pytest.raises(AuthoringError, match=r"^variant 'a/B': args\.x is a callable"):
        freeze(print, where="variant 'a/B': args.x")


def test_data_that_holds_itself_is_refused():
    value: list[Any] = []
    value.append({"again": value})
    assert "args[0].again contains itself" in refused(value)


def test_shared_parts_are_no_cycle():
    shared = [1]
    assert freeze([shared, shared]) == [[1], [1]]


def test_a_class_inside_a_function_needs_a_hint_that_holds_it():
    @dataclass
    class Inner:
        a: int

    assert "class inside a function" in refused(Inner(1))
    assert rebuilt(freeze(Inner(1), Inner), Inner) == Inner(1)


def test_a_set_of_records_is_refused_with_the_way_to_write_it():
    assert "write a list" in refused({Line("a", Decimal(1))})
    given = [{"sku": "a", "price": 1}]
    assert rebuilt(freeze(given, set[Line]), set[Line]) == {Line("a", Decimal(1))}


# Thaw by example.


@pytest.mark.parametrize(
    ("hint", "form", "value"),
    [
        (Decimal, "1.10", Decimal("1.10")),
        (Decimal, 3, Decimal(3)),
        (datetime, "2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        (date, "2026-01-31", date(2026, 1, 31)),
        (time, "12:30", time(12, 30)),
        (timedelta, 90, timedelta(seconds=90)),
        (Path, "a/b", Path("a/b")),
        (UUID, "12345678123456781234567812345678", UUID(int=0x12345678123456781234567812345678)),
        (Color, "RED", Color.RED),
        (Color, "red", Color.RED),
        (Color, 2, Color.BLUE),
        (Tone, "loud", Tone.LOUD),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple[int, *tuple[str, ...]], [1, "a", "b"], (1, "a", "b")),
        (set[int], [1, 2, 1], {1, 2}),
        (frozenset[date], ["2026-01-31"], frozenset({date(2026, 1, 31)})),
        (Sequence[Decimal], ["1"], [Decimal(1)]),
        (Mapping[int, Color], {"1": "RED"}, {1: Color.RED}),
        (dict[Color, int], {"RED": 1}, {Color.RED: 1}),
        (Line, {"sku": "a", "price": "1.5"}, Line("a", Decimal("1.5"))),
        (Address, {"city": "Bonn"}, {"city": "Bonn"}),
        (Point, {"x": 1}, Point(1)),
        (Point, [1, 2], Point(1, 2)),
        (Optional[date], None, None),  # noqa: UP045  the old spelling is the case
        (date | None, "2026-01-31", date(2026, 1, 31)),
        (str | date, "2026-01-31", "2026-01-31"),
        (int | Decimal, "1.5", Decimal("1.5")),
        (Line | Point, {"x": 1}, Point(1)),
        (list[Line] | None, [{"sku": "a", "price": 1}], [Line("a", Decimal(1))]),
        (Literal["a", 1], 1, 1),
        (Literal[Color.RED], "RED", Color.RED),
        (NewType("Sku", str), "a", "a"),
        (Annotated[Decimal, "the price"], "1", Decimal(1)),
        (Opaque, {"any": 1}, {"any": 1}),
        (Callable[[int], int], [1], [1]),
    ],
)
def test_a_json_form_becomes_the_declared_type(hint, form, value):
    found = rebuilt(freeze(form, hint), hint)
    assert found == value
    assert type(found) is type(value)


def test_a_whole_number_is_taken_for_a_float_as_it_is():
    assert type(rebuilt(3, float)) is int


@pytest.mark.parametrize(
    ("hint", "form", "words"),
    [
        (int, True, "expected int (a whole number), got bool True"),
        (float, False, "expected float (a number), got bool False"),
        (bool, 1, "expected bool (true or false), got int 1"),
        (int, 1.5, "got float 1.5"),
        (str, 1, "got int 1"),
        (int, None, "got None"),
        (Decimal, 1.1, "a decimal number as text"),
        (Decimal, "one", "got str 'one'"),
        (date, "31.1.2026", "'2026-01-31'"),
        (bytes, "aGk=", "ref('loader_id', ...)"),
        (Color, "GREEN", "Color (RED, BLUE)"),
        (Color, True, "Color (RED, BLUE)"),
        (list[int], "ab", "expected list[int], got str 'ab'"),
        (list[int], {"a": 1}, "expected list[int], got dict"),
        (dict[str, int], [1], "expected dict[str, int], got list"),
        (tuple[int, str], [1], "expected tuple[int, str], got list"),
        (Line, 5, "expected Line as a mapping of its fields"),
        (Line, {"sku": "a", "prize": 1}, "Line has no field 'prize'. Nearest: price"),
        (Line, {"sku": "a"}, "Line lacks price"),
        (Address, {"zip": "1"}, "Address lacks city"),
        (Parcel, {"sku": "a", "wait": 1}, "Parcel has no field 'wait'. Nearest: weight"),
        (Parcel, {"sku": "a", "label": "b"}, "Parcel has no field 'label'."),
        (Parcel, {"weight": "1"}, "Parcel lacks sku"),
        (Point, [1, 2, 3], "Point has 2 fields, got 3"),
        (Picky, {"size": -1}, "Picky cannot be built: ValueError: negative: -1"),
        (Picky, {"size": 0}, "Picky cannot be built: WithoutWordsError: <unreadable>"),
        (int | date, "x", "expected int | date, got str 'x'"),
        (Literal["a", "b"], "c", "one of 'a', 'b'"),
        (Literal[1], True, "one of 1"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(hint, form, words):
    message = refusal({"order": [form]}, dict[str, list[hint]])
    assert message.startswith("args.order[0]: ")
    assert words in message


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_key_of_more_digits_than_python_reads_is_no_whole_number(sign):
    message = refusal({f"{sign}{'9' * 5000}": 1}, dict[int, int])
    assert message.endswith("9: expected int (a whole number), got str.")


def test_a_secret_comes_back_live_and_never_in_a_refusal():
    assert rebuilt(freeze(Login("ann", CANARY), Login), Login) == Login("ann", CANARY)
    assert CANARY not in refusal(Secret(CANARY), Annotated[int, Sensitive])
    assert CANARY not in refusal(freeze({"token": CANARY}, Guarded), Guarded)


def test_pydantic_secrets_come_back_as_their_own_type():
    live = SecretStr("s")
    assert rebuilt(freeze(live), Any) is live
    assert rebuilt(freeze("s", SecretStr), SecretStr) == live
    assert rebuilt(freeze("s", SecretStr | None), SecretStr | None) == live


def test_a_pydantic_model_freezes_to_its_fields_and_comes_back():
    customer = Customer(
        name="ann", key=SecretStr("s"), color=Color.BLUE, lines=[Line("a", Decimal(1))]
    )
    frozen = freeze(customer, Customer)
    assert sensitive_paths(frozen) == (("key",),)
    assert rebuilt(frozen, Customer) == customer
    assert rebuilt(freeze(customer)) == customer
    given = {"name": "ann", "key": "s", "color": "BLUE", "lines": [{"sku": "a", "price": "1"}]}
    assert rebuilt(freeze(given, Customer), Customer) == customer


def test_a_pydantic_model_is_built_by_field_name_though_it_has_an_alias():
    model = Aliased(itemPrice=Decimal(1))
    assert rebuilt(freeze(model, Aliased), Aliased) == model
    assert rebuilt({"itemPrice": "1"}, Aliased) == model


def test_a_pydantic_model_that_refuses_is_cannot_run():
    assert "Customer cannot be built: ValidationError" in refusal({"name": "a"}, Customer)
    given = freeze({"name": 1, "key": CANARY}, Customer)
    assert CANARY not in refusal(given, Customer)


def test_a_ref_is_answered_by_the_loader_wherever_it_stands():
    ref = Ref("db", {"url": "x"})
    frozen = freeze({"a": [ref], "b": ref}, dict[str, Any])
    found = rebuilt(frozen, dict[str, Any], load=lambda r: (r.loader, r.kwargs))
    assert found == {"a": [("db", {"url": "x"})], "b": ("db", {"url": "x"})}


def test_a_ref_is_loaded_once_though_several_alternatives_are_tried():
    calls = []
    frozen = freeze({"a": [Ref("db"), "x"]})
    rebuilt(frozen["a"], list[int] | list[Any] | tuple[str, ...], load=calls.append)
    assert len(calls) == 1


def test_the_refs_of_frozen_data_are_found_in_secrets_too():
    one, two = Ref("one"), Ref("two")
    frozen = freeze({"a": [one], "b": two}, Any)
    frozen["c"] = Secret(two)
    assert [ref.loader for ref in refs_in(frozen)] == ["one", "two", "two"]


def test_args_are_rebuilt_with_todays_classes(monkeypatch):
    old, new = redefined_module(monkeypatch)
    frozen = freeze(old.Item(1, old.Shade.DARK))
    again = rebuilt(frozen)
    assert type(again) is new.Item
    assert again.shade is new.Shade.DARK
    assert type(rebuilt(freeze(old.Item(1), old.Item), old.Item)) is new.Item
    assert freeze(new.Item(1), old.Item) == freeze(old.Item(1), new.Item)
    assert current_class(old.Item) is new.Item


def test_a_class_that_is_gone_is_cannot_run():
    frozen = Record(TypeRef("nowhere", "Gone"), {})
    assert "there is no class Gone in nowhere any more" in refusal(frozen, Any)


def test_an_enum_member_that_is_gone_is_cannot_run():
    frozen = EnumMember(TypeRef(__name__, "Color"), "REDD")
    assert "Color has no member 'REDD'. Nearest: RED" in refusal(frozen, Color)


@pytest.mark.parametrize(
    ("flag", "forms", "text"),
    [
        (Access.READ, ("READ", 1), "Access.READ"),
        (Access.READ | Access.WRITE, ("READ|WRITE", 3), "Access.READ | Access.WRITE"),
        (Access(0), ("0", 0), "Access(0)"),
        (Bits.READ | 8, ("READ|8", "1|8", 9), "Bits.READ | Bits(8)"),
    ],
)
def test_a_flag_comes_back_from_data_from_names_and_from_its_number(flag, forms, text):
    frozen = freeze({"x": flag})["x"]
    assert rebuilt(frozen) is flag
    assert Writer().value(frozen, "x") == text
    assert difference(frozen, flag) is None
    for form in forms:
        assert rebuilt(form, type(flag)) is flag
        assert difference(form, flag) is None


@pytest.mark.parametrize("form", ["READ|GONE", "READ|8", "4", 4, True, ""])
def test_what_no_flag_is_known_by_is_no_member(form):
    assert "expected Access" in refusal(form, Access)
    assert difference(form, Access.READ) is not None


def test_a_part_of_a_flag_that_is_gone_is_named():
    frozen = EnumMember(TypeRef(__name__, "Access"), "READ|WRITTEN")
    assert "Access has no member 'WRITTEN'. Nearest: WRITE" in refusal(frozen, Access)


SOURCE = """
from dataclasses import dataclass
from enum import Enum
class Shade(Enum):
    DARK = 1
@dataclass
class Item:
    size: int
    shade: Shade = Shade.DARK
"""


def redefined_module(monkeypatch):
    module = types.ModuleType("redefined_for_test")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(SOURCE, vars(module))
    old = types.SimpleNamespace(Item=module.Item, Shade=module.Shade)
    exec(SOURCE, vars(module))
    return old, module


# Hints.


def test_hints_are_given_for_each_named_parameter():
    def component(a: int, b, *rest: int, c: Annotated[str, Sensitive] = "x", **more: int): ...

    assert takes_of(component).hints == {"a": int, "b": Any, "c": Annotated[str, Sensitive]}


def test_hints_of_a_class_are_those_of_its_constructor():
    assert takes_of(Line).hints == {"sku": str, "price": Decimal, "quantity": int}
    assert takes_of(Point).hints == {"x": int, "y": int}
    assert takes_of(Opaque).hints == {}
    assert takes_of(Customer).hints["key"] is SecretStr


def test_a_hint_that_cannot_be_resolved_leaves_the_others_alone():
    def component(a: "Unknown", b: "int", c: list["Unknown"]): ...

    assert takes_of(component).hints == {"a": Any, "b": int, "c": Any}


def test_a_secret_whose_hint_cannot_be_resolved_stays_a_secret():
    def component(a: Annotated["Unknown", Sensitive], b: "Annotated[Unknown, Sensitive]"): ...

    hints = takes_of(component).hints
    assert freeze(CANARY, hints["a"]) == Secret(CANARY)
    assert freeze(CANARY, hints["b"]) == Secret(CANARY)


def test_functions_of_one_code_and_different_hints_are_distinguished():
    def make(kind):
        def component(a: kind): ...

        return component

    assert [takes_of(make(k)).hints["a"] for k in (int, str)] == [int, str]


# Plain form.


def test_the_plain_form_has_no_class_names():
    frozen = freeze({"order": ORDER, "login": Login("ann", "s"), "db": Ref("db", {"a": Color.RED})})
    assert to_plain(frozen) == {
        "order": {
            "lines": [{"sku": "a", "price": Decimal("1.10"), "quantity": 1}],
            "placed": date(2026, 1, 31),
            "color": "RED",
            "notes": {"k": [1]},
        },
        "login": {"user": "ann", "password": Secret("s")},
        "db": {"$ref": "db", "a": "RED"},
    }


def test_the_places_of_secrets_are_key_paths_into_the_plain_form():
    frozen = freeze({"logins": [Login("ann", "s")], "key": SecretStr("s"), "by": {Color.RED: [1]}})
    assert sensitive_paths(frozen) == (("logins", "0", "password"), ("key",))
    assert sensitive_paths(freeze("s", SecretStr)) == ((),)
