"""`approx` takes numbers that are nearly equal, not other labels or classes."""

from dataclasses import dataclass

import numpy
import pandas
import pytest

from repl_pair.runtime.assertions.tolerance import Tolerance, apart


@dataclass
class Euros:
    amount: float


@dataclass
class Dollars:
    amount: float


def series(*labels):
    return pandas.Series([1.0, 2.0], index=list(labels))


MASKED = numpy.ma.array([1, 99], mask=[0, 1])


def frame(first):
    return pandas.DataFrame([[first, 2]], columns=["a", "a"])


@pytest.mark.parametrize(
    ("expected", "actual", "is_near"),
    [
        (series("rent", "food"), series("rent", "food"), True),
        (series("food", "rent"), series("rent", "food"), False),
        ([1.0, 2.0], series("rent", "food"), True),
        (frame(1), frame(1 + 1e-9), True),
        (frame(9), frame(1), False),
        (Euros(5.0), Euros(5.0 + 1e-9), True),
        (Dollars(5.0), Euros(5.0), False),
        ({"amount": 5.0}, Euros(5.0), True),
        ([{"a": 2}], frame(1), False),
        ({"a": [2]}, frame(1), False),
        ({"a": [1]}, frame(1)[["a"]].iloc[:, :1], True),
        (MASKED, MASKED.copy(), True),
        (numpy.array([1, 99]), MASKED, False),
        ({1: 5.0}, {1: 5.0}, True),
        ({1: 5.0}, {True: 5.0}, False),
        ({1: 5.0}, {"1": 5.0}, False),
    ],
)
def test_labels_and_classes_are_no_matter_of_tolerance(expected, actual, is_near):
    assert (apart(expected, actual, "result", Tolerance.of(None, None)) is None) is is_near


class Walked(dict):
    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_however_many_keys_are_missing_the_others_are_walked_a_few_times():
    actual = Walked({f"new{n}": 1.0 for n in range(100)})
    assert apart({f"old{n}": 1.0 for n in range(100)}, actual, "result", Tolerance.of(None, None))
    assert actual.walks < 10
