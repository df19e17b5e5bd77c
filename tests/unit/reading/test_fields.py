"""What reads the fields of instances lets their class go."""

import gc
import weakref
from dataclasses import dataclass

import attrs
import pytest

import repl_pair
from repl_pair.runtime.reading.fields import keys_are, read_fields
from repl_pair.runtime.reading.steps import PathMiss, follow
from repl_pair.runtime.secrets.egress import send_out


def plain():
    class Model:
        def __init__(self, n: int = 1):
            self.n = n

    return Model


def slotted():
    class Model:
        __slots__ = ("n",)

        def __init__(self, n: int = 1):
            self.n = n

    return Model


def declared():
    return dataclass(slotted())


def of_attrs():
    @attrs.define
    class Model:
        n: int = 1

    return Model


def read(cls):
    found = read_fields(cls())
    assert found is not None
    assert found[0] == {"n": 1}


def send(cls):
    assert send_out(cls()).value["n"] == 1


def run(cls):
    repl_pair.story("model", component=cls)
    repl_pair.variant("model/One", args={"n": 1}, play=[repl_pair.check.path_equals("state.n", 1)])
    assert repl_pair.run("model/One").status == "pass"
    repl_pair.registry.unregister("variant", "model/One")
    repl_pair.registry.unregister("story", "model")


@pytest.mark.parametrize("look", [read, send, run])
@pytest.mark.parametrize("define", [plain, slotted, declared, of_attrs])
def test_a_class_that_was_looked_at_lives_no_longer_than_the_person_keeps_it(define, look):
    cls = define()
    look(cls)
    kept = weakref.ref(cls)
    del cls
    gc.collect()
    assert kept() is None


def test_a_set_of_classes_is_read_without_code_of_their_metaclass():
    met = []

    class Meta(type):
        def __eq__(cls, other):
            met.append(other)
            return cls is other

        __hash__ = type.__hash__

    class Key(metaclass=Meta):
        pass

    assert "Key" in str(send_out({Key()}).value)
    assert met == []


def test_the_keys_of_a_dict_are_looked_at_without_an_iterator_of_the_persons():
    class Loud(dict[str, int]):
        def __iter__(self):
            raise RuntimeError("iterated")

    assert keys_are(str, Loud(a=1))
    assert not keys_are(str, Loud({1: 1}))


def test_a_wrong_name_on_a_class_is_answered_with_the_nearest():
    with pytest.raises(PathMiss, match="Nearest: openings"):
        follow(type("Door", (), {"openings": 1}), ["openigs"])
