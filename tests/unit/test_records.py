from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace

import pytest

from repl_pair.records import mutable, record, row


@record
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False, repr=False)


@row
class Pair:
    left: int
    right: int = 2


@mutable
class Sheet:
    x: int
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Model:
    """What a record must behave like."""

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False, repr=False)


def test_a_record_behaves_as_the_frozen_dataclass_of_the_same_fields():
    ours, theirs = Point(x=1, tags=["a"]), Model(x=1, tags=["a"])
    assert repr(ours) == repr(theirs).replace("Model", "Point")
    assert asdict(ours) == asdict(theirs)
    assert [f.name for f in fields(ours)] == [f.name for f in fields(theirs)]
    assert asdict(replace(ours, y=5)) == asdict(replace(theirs, y=5))
    assert is_dataclass(ours)


def test_what_is_mutable_changes_equals_only_itself_and_takes_no_unknown_field():
    sheet = Sheet(x=1)
    sheet.x = 2
    sheet.notes.append("seen")
    assert asdict(sheet) == {"x": 2, "notes": ["seen"]}
    assert asdict(replace(sheet, x=3)) == {"x": 3, "notes": ["seen"]}
    assert sheet != Sheet(x=2, notes=["seen"])
    with pytest.raises(TypeError, match="missing or unknown z"):
        Sheet(x=1, z=1)


def test_records_are_equal_by_their_compared_fields_and_class():
    assert Point(x=1, note="one") == Point(x=1, note="two")
    assert Point(x=1) != Point(x=2)
    assert Point(x=1) != Model(x=1)
    assert len({Pair(1), Pair(1, 2), Pair(left=1, right=3)}) == 2


def test_a_default_that_is_made_is_made_for_each():
    assert Point(x=1).tags is not Point(x=1).tags


def test_a_record_is_frozen():
    point = Point(x=1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(FrozenInstanceError):
        del point.x


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Point(), "x"),
        (lambda: Point(x=1, z=2), "z"),
        (lambda: Point(z=2), "x, z"),
        (lambda: Pair(1, 2, 3), "it takes 2 fields, not 3"),
        (lambda: Pair(1, left=1), "given twice: left"),
    ],
)
def test_missing_unknown_and_doubled_fields_are_refused(make, named):
    with pytest.raises(TypeError, match=named):
        make()
