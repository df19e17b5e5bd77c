"""What `describe_object` says of real objects, what it hides, and the images of `get_value`."""

import base64
import json

import pytest

SECRET = "Vk39-vault-code-71"
SETUP = f"""
import asyncio, collections, typing, dataclasses, functools, json as chosen, socket, sys
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt, numpy, pandas, PIL.Image, pydantic, repl_pair
from sklearn.linear_model import LinearRegression
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

class Base(DeclarativeBase): pass
class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
class Point(pydantic.BaseModel):
    x: int
    name: str = "origin"
@dataclasses.dataclass
class Order:
    'An order.'
    id: int
    lines: list = dataclasses.field(default_factory=list)
    password: str = {SECRET!r}
    def total(self, rate: float = 1.5, *, token={SECRET!r}):
        'Add it up.'
        password = (
            {SECRET!r})
        return rate
    @property
    def size(self):
        'Its size.'
        ran.append("size")
    @classmethod
    def make(cls, at="{SECRET}"): return cls(1)
ran = []
def get_token():
    return {SECRET!r}
class Loud:
    def __repr__(self): ran.append("repr"); return "x" * 10**9
    __class__ = property(lambda self: ran.append("__class__"))
    __doc__ = property(lambda self: ran.append("__doc__"))
    __module__ = property(lambda self: ran.append("__module__"))
class Meta(type):
    def __getattribute__(self, name): ran.append(name); raise RuntimeError(name)
    def mro(self): return [self, object]
class Odd(metaclass=Meta): pass
def signed(one, other=Loud()): pass
signed.__signature__ = signed.__text_signature__ = Loud()
signed.__wrapped__ = Loud()
signed.__doc__ = Loud()
SHORT = "hun7r"
sized = {{"s_token": "Vk42-vault-code-74", "s_less": "x" * 17, "s_more": "y" * 19}}
sized["s_copy"] = sized["s_token"]
globals().update(sized)
del sized
def paired(headers=(("Authorization", "hun7r"),), at=("token", "hun7r")): pass
def cut(url="x" * 50 + {SECRET!r}): pass
exec('def nested(pin: typing.Optional["_Pin"] = "hun7r"): pass')
def declared(pin: typing.Annotated[str, repl_pair.Sensitive] = "hun7r"): pass
@dataclasses.dataclass
class Declared:
    pin: typing.Annotated[str, repl_pair.Sensitive] = "hun7r"
class Model(pydantic.BaseModel):
    pin: typing.Annotated[str, repl_pair.Sensitive] = "hun7r"
exec('''from __future__ import annotations
_Pin = typing.Annotated[str, repl_pair.Sensitive]
def renamed(pin: _Pin = "hun7r"): pass
def hinted(password: Literal["hun7r"], pin: Annotated[str, Sensitive] = "hun7r"): pass
''')
class Settings:
    api_key = "Vk40-vault-code-72"
    def use(self, at="Vk40-vault-code-72"): pass
def twice(at="Vk41-vault-code-73"):
    password = "Vk41-vault-code-73"
@functools.lru_cache
def cached(a: int): return a
loud, odd, order, user, point = Loud(), Odd(), Order(1), User(), Point(x=1)
frame, array, model = pandas.DataFrame({{"a": [1]}}), numpy.zeros(3), LinearRegression()
figure, axes = plt.subplots()
lines = axes.plot([1, 2, 3])
other = plt.figure()
class Line(matplotlib.lines.Line2D):
    def draw(self, renderer): ran.append("draw")
other.add_subplot().add_line(Line([0, 1], [0, 1]))
hooked = plt.figure()
hooked.__reduce_ex__ = lambda *args: ran.append("reduce")
named = plt.figure()
named.suptitle({SECRET!r})
picture = PIL.Image.new("RGB", (3000, 20))
handlers = {{"f": get_token, "cls": Order, "mod": chosen}}
loop = asyncio.new_event_loop()
rows = list(range(5000))
long = pandas.DataFrame({{"n": range(5000)}})
ran.clear()
"""


@pytest.fixture(scope="module")
def inspector(kernel, connect):
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        yield agent
        for secret in (SECRET, "Vk39", "Vk40", "Vk41", "hun7r"):
            assert secret.encode() not in agent.record.out
    assert kernel.cell("print(ran)") == "[]\n"


def describe(agent, path, **more):
    return agent.ask("describe_object", path=path, **more)["result"]


SAID = {
    "order": {"type": "Order", "mro": ["Order", "object"], "doc": "An order."},
    "Order": {
        "type": "type",
        "signature": "(id: int, lines: list = <factory>, password: str = [redacted]) -> None",
    },
    "order.total": {
        "type": "function",
        "signature": "(rate: float = 1.5, *, token=[redacted])",
        "doc": "Add it up.",
    },
    "order.size": {"type": "property", "doc": "Its size."},
    "paired": {"signature": "(headers=(('Authorization', [redacted]),), at=('token', [redacted]))"},
    "cut": {"signature": f"(url='{'x' * 50}[redacted]…)"},
    "declared": {"signature": "(pin: typing.Annotated[str, repl_pair.Sensitive] = [redacted])"},
    "Declared": {"signature": "(pin=[redacted]) -> None"},
    "Model": {"signature": "(*, pin: typing.Annotated[str, repl_pair.Sensitive] = [redacted])"},
    "hinted": {
        "signature": '(password: Literal["[redacted]"], pin: Annotated[str, Sensitive]'
        " = [redacted])"
    },
    "Settings": {"type": "type"},
    "nested": {"signature": "(pin=[redacted])"},
    "renamed": {"signature": "(pin: _Pin = [redacted])"},
    "twice": {"signature": "(at='[redacted]')"},
    "cached": {"signature": "(a: int)"},
    "frame.head": {"signature": "(n: int = 5) -> Self"},
    "Point": {"signature": "(*, x: int, name: str = 'origin')"},
    "array.sum": {"type": "method_descriptor"},
    "model.fit": {"signature": "(X, y, sample_weight=None)"},
    "axes.plot": {"type": "function"},
    "signed": {"type": "function", "signature": "(one, other=<Loud>)"},
    "handlers.cls": {"type": "type"},
    "chosen": {"type": "module"},
    "loud": {"type": "Loud"},
    "odd": {"type": "Odd"},
}


@pytest.mark.parametrize("path", SAID)
def test_an_object_is_described_from_what_is_stored_about_it(inspector, path):
    found = describe(inspector, path)
    assert {slot: found.get(slot) for slot in SAID[path]} == SAID[path]


@pytest.mark.parametrize("path", ["Order", "order", "order.total", "get_token", "User"])
def test_the_place_and_the_source_of_the_persons_code_are_its_cell(inspector, path):
    found = describe(inspector, path)
    assert found["where"]["cell"].startswith("In[")
    assert found["where"]["line"] > 1
    assert found["source"].startswith(("def ", "class ", "@dataclasses"))


def test_members_are_fields_and_methods_page_by_page(inspector):
    found = describe(inspector, "order", members=True)
    kinds = {one["name"]: one["kind"] for one in found["members"]}
    assert kinds == {
        **dict.fromkeys(("id", "lines", "password"), "field"),
        **{"total": "method", "size": "property", "make": "classmethod"},
    }
    first = describe(inspector, "array", members=True, limit=5)
    assert first["mro"]
    then = describe(inspector, "array", members=True, limit=5, cursor=first["cursor"])
    assert len(then["members"]) == 5
    assert not {"mro", "doc", "where"} & {*then}, "the first page has it"
    assert first["total"] > 50
    assert not {one["name"] for one in first["members"]} & {one["name"] for one in then["members"]}
    every = [
        describe(inspector, p, members=True) for p in ("user", "point", "model", "loop", "odd")
    ]
    assert all("members" in one for one in every)


def test_members_of_a_class_with_a_secret_do_not_say_it(inspector):
    members = describe(inspector, "Settings", members=True)["members"]
    assert members[-1]["signature"] == "(at='[redacted]')"


def test_the_order_by_size_does_not_tell_the_length_of_a_secret(inspector):
    found = inspector.ask("list_variables", match="s_*", sort="bytes")["result"]["items"]
    assert [line["id"] for line in found] == ["s_more", "s_less", "s_copy", "s_token"]


BEHIND = "a path ends at a function, class or module; members=true lists what it has"


def test_the_doc_of_a_library_is_no_longer_than_any_text(inspector):
    doc = describe(inspector, "frame")["doc"]["$elided"]
    assert len(doc["head"]) <= 2000 < doc["size"]


MISSING = {
    "Order.total": f"There is no 'total' in Order ({BEHIND}).",
    "chosen.dumps": f"There is no 'dumps' in chosen ({BEHIND}).",
    "get_token.__globals__": f"There is no '__globals__' in get_token ({BEHIND}).",
    "get_token.nothing": f"There is no 'nothing' in get_token ({BEHIND}).",
    "order.totl": "There is no 'totl' in order. Nearest: total.",
    "order.__class__": "There is no '__class__' in order.",
    "ordr": "There is no variable 'ordr'. Nearest: order",
    "socket": "There is no variable 'socket'.",
    "get_ipython": "There is no variable 'get_ipython'.",
    "_mine": "There is no variable '_mine'.",
}


@pytest.mark.parametrize("path", MISSING)
def test_what_is_closed_reads_as_what_is_not_there(inspector, path):
    error = inspector.ask("describe_object", path=path)["error"]
    assert error["code"] == "not_found"
    assert error["message"].startswith(MISSING[path])


@pytest.mark.parametrize("path", ["order[1:2]", "handlers[:2]", "point.name[0:3]", "loud[1:]"])
@pytest.mark.parametrize("op", ["get_value", "describe_object"])
def test_a_slice_of_what_has_none_is_refused_with_the_way_back(inspector, op, path):
    reply = inspector.ask(op, path=path)
    assert reply["error"]["code"] == "bad_arguments"
    assert "has no slices" in reply["error"]["message"]
    assert reply["next_steps"][0]["args"] == {"path": path.partition("[")[0]}


@pytest.mark.parametrize("path", ["figure", "axes", "picture"])
def test_a_figure_or_a_picture_comes_as_an_image(inspector, path):
    result = inspector.call("get_value", path=path)
    images = [part for part in result.content if part.type == "image"]
    assert [one.mime_type for one in images] == ["image/png"]
    assert base64.b64decode(images[0].data).startswith(b"\x89PNG")


@pytest.mark.parametrize("path", ["other", "hooked", "named"])
def test_a_figure_with_code_of_the_persons_or_a_secret_is_not_drawn(inspector, path):
    reply = inspector.ask("get_value", path=path)
    assert (reply["result"]["value"], "outputs" in reply["result"]) == ("<Figure>", False)
    assert "drawn" in reply["notifications"][0] or "secret" in reply["notifications"][0]


@pytest.mark.parametrize("path", ["rows", "long"])
def test_a_value_in_full_has_more_than_in_brief(inspector, path):
    brief, full = (
        inspector.ask("get_value", path=path, detail=detail)["result"]["value"]
        for detail in ("brief", "full")
    )
    assert len(json.dumps(full)) > 3 * len(json.dumps(brief))


def test_variables_are_chosen_by_name_type_and_kind_and_sorted_by_size(inspector):
    def names(**args):
        return [line["id"] for line in inspector.ask("list_variables", **args)["result"]["items"]]

    assert names(match="fig*") == ["figure"]
    assert names(type="Figure") == ["figure", "hooked", "named", "other"]
    assert "Order" in names(kinds=["class"])
    assert names(kinds=["module"], match="num") == ["numpy"]
    assert names(sort="bytes")[:2] == ["rows", "long"]
    assert names(sort="recent")[:2] == ["long", "rows"]
    items = inspector.ask("list_variables", match="array")["result"]["items"]
    assert items == [{"id": "array", "type": "ndarray", "shape": [3], "bytes": 24}]
    reply = inspector.ask("list_variables", type="Figur")
    assert "Nearest: Figure" in reply["notifications"][0]
    for bad in ({"sort": "nothing"}, {"kinds": ["nothing"]}):
        assert inspector.ask("list_variables", **bad)["error"]["code"] == "bad_arguments"
