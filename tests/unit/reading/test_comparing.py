"""Values whose comparison runs code of the person's, wherever in them it stands."""

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy
import pandas
import pytest

from repl_pair.runtime.reading.comparing import compares_by_code


class Evil:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


KEYS = {Evil(): 1}
SPARSE: Any = pandas.arrays.SparseArray(numpy.array([Evil(), 1], dtype=object), fill_value=1)
HOLDING = {
    "a dict": KEYS,
    "a defaultdict": defaultdict(int, KEYS),
    "an ordered dict": OrderedDict(KEYS),
    "a counter": Counter(KEYS),
    "a slice": slice(Evil(), None),
    "a sparse column": pandas.DataFrame({"a": SPARSE}),
}


@pytest.mark.parametrize("what", HOLDING)
def test_code_of_a_class_is_found_in(what):
    assert compares_by_code(HOLDING[what]) == "Evil"
    assert compares_by_code([HOLDING[what]]) == "Evil"


@pytest.mark.parametrize("wrap", [dict, OrderedDict, Counter])
def test_plain_data_compares_by_no_code(wrap):
    assert compares_by_code(wrap({"a": 1, (2, "b"): 3})) == ""
    assert (
        compares_by_code([defaultdict(int, a=1), slice(1, 2), pandas.DataFrame({"a": [1]})]) == ""
    )
