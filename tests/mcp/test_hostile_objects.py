"""Objects whose every method notes that it ran: whatever an agent reads, none does."""

import json

import pytest

SETUP = '''
import sys, json, collections, dataclasses, datetime, decimal, enum, pathlib, types, typing
import numpy, pandas
import repl_pair

RAN = []
READY = []

def spy(name, then=None):
    def method(self, *args, **kwargs):
        if READY:
            RAN.append(f"{name} {caller()}")
        if then is None and not READY:
            return NotImplemented
        if then is None:
            raise RuntimeError(f"{name} ran")
        return then(self, *args, **kwargs)
    return method
def caller():
    frame = sys._getframe(1)
    while frame is not None and "repl_pair" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame and f"{frame.f_code.co_filename}:{frame.f_lineno}"

DUNDERS = """
__repr__ __str__ __format__ __bytes__ __len__ __length_hint__ __iter__ __reversed__ __contains__
__getitem__ __missing__ __bool__ __int__ __float__ __index__ __complex__ __round__ __fspath__
__call__ __enter__ __dir__ __lt__ __le__ __gt__ __ge__ __ne__ __add__ __radd__ __mod__ __array__
__array_interface__ __dataframe__ __next__ __copy__ __deepcopy__ __reduce__ __reduce_ex__
__getstate__ __sizeof__ __getattr__ __get__ __set__ __instancecheck__ __subclasscheck__
__array_ufunc__ __array_function__
""".split()
METHODS = """
keys items values get copy tolist item view flat iloc loc index columns shape dtype dtypes name
names size ndim to_dict tobytes isoformat utctimetuple total_seconds as_posix hex as_tuple
get_secret_value model_dump model_fields_set to_numpy array head _repr_html_ _repr_mimebundle_
_ipython_display_ resolve encode decode strip startswith __fields__ __name__ __wrapped__
__signature__ __rich_repr__ value
""".split()

def hostile(name, base=object, **more):
    """Make a subclass whose every method, property and lookup notes that it ran."""
    space = {dunder: spy(dunder) for dunder in DUNDERS}
    space |= {method: property(spy(method)) for method in METHODS}
    space["__class__"] = property(spy("__class__", lambda self: str))
    space["__getattribute__"] = spy("__getattribute__", base.__getattribute__)
    space["__eq__"] = spy("__eq__", lambda self, other: True)
    space["__hash__"] = spy("__hash__", lambda self: hash(self_key(self)))
    return type(base)(name, (base,), space | more)

def self_key(self):
    return KEY_OF.get(id(self), "plain")
KEY_OF = {}

class Meta(type):
    __getattribute__ = spy("Meta.__getattribute__", type.__getattribute__)
    __instancecheck__ = spy("Meta.__instancecheck__", lambda self, other: True)
    __subclasscheck__ = spy("Meta.__subclasscheck__", lambda self, other: True)
    __hash__ = spy("Meta.__hash__", type.__hash__)
    __eq__ = spy("Meta.__eq__", lambda self, other: True)
    __repr__ = spy("Meta.__repr__")
    __iter__ = spy("Meta.__iter__")
    __len__ = spy("Meta.__len__")
    __name__ = property(spy("Meta.__name__"))
    __module__ = property(spy("Meta.__module__"))
    __mro__ = property(spy("Meta.__mro__"))
    __dict__ = property(spy("Meta.__dict__"))
    __doc__ = property(spy("Meta.__doc__"))

Plain = hostile("Plain")
made = {}
made["object"] = Plain()
made["object"].__dict__  # it has one
object.__setattr__(made["object"], "a", 1)
object.__setattr__(made["object"], "password", "kV7wXq2LmZ")
made["of_metaclass"] = Meta("OfMeta", (), {"a": 1})()
Data = dataclasses.make_dataclass("Data", [("a", int), ("inner", object)], eq=False, repr=False)
HData = hostile("HData", Data)
made["dataclass"] = HData(1, Plain())

class Slots:
    __slots__ = ("a", "b")
made["slots"] = hostile("HSlots", Slots)()
Slots.a.__set__(made["slots"], 1)

for value in ("text", 7, 1.5, b"abc", (1, 2), 1j):
    kind = type(value).__name__
    cls = hostile(f"H{kind}", type(value))
    made[kind] = cls.__new__(cls, value)
for kind in (dict, collections.OrderedDict, collections.Counter, collections.UserDict):
    cls = hostile(f"H{kind.__name__}", kind)
    made[kind.__name__.lower()] = one = cls.__new__(cls)
    if issubclass(kind, dict):
        dict.__setitem__(one, "a", 1)
made["defaultdict"] = collections.defaultdict(spy("default_factory"), a=1)
for kind in (list, collections.deque, set, frozenset, bytearray):
    cls = hostile(f"H{kind.__name__}", kind)
    made[kind.__name__] = cls.__new__(cls)
list.append(made["list"], 1)
Point = collections.namedtuple("Point", "a b")
made["namedtuple"] = tuple.__new__(hostile("HPoint", Point), (1, 2))

Key = hostile("Key")
def key(of):
    one = Key()
    KEY_OF[id(one)] = of
    KEEP.append(one)
    return one
KEEP = []
WORDS = """
plain a password value name key header variable __module__ __spec__ __builtins__ $elided
$overflow type size $ref $type shape head __file__ token
""".split()
made["keys"] = {key(word): word for word in WORDS}
made["keys_in"] = {"x": {key(word): word for word in WORDS}, "y": [made["keys"]]}
made["keys_and_plain"] = {**made["keys"], "other": 1}
made["set_of"] = {key(word) for word in WORDS}
made["proxy"] = types.MappingProxyType(made["keys"])
made["pair"] = (key("password"), "kV7wXq2LmZ")
made["named"] = {"name": key("password"), "value": 3}

made["scalar"] = (cls := hostile("HScalar", numpy.float64)).__new__(cls, 1.5)
finalize = spy("__array_finalize__", lambda self, other: None)
HArray = hostile("HArray", numpy.ndarray, __array_finalize__=finalize)
made["array"], made["matrix"] = numpy.arange(4).view(HArray), numpy.ones((2, 2)).view(HArray)
made["objects"] = numpy.empty(2, dtype=object)
made["objects"][0] = Plain()
for base, name in ((pandas.DataFrame, "frame"), (pandas.Series, "series")):
    value = base({"a": [1, 2]} if name == "frame" else [1, 2])
    object.__setattr__(value, "__class__", hostile(f"H{name}", base, __module__=base.__module__))
    made[name] = value
LIKE = """numpy.ndarray numpy.void pandas.DataFrame pandas.Series pandas.Index pydantic.BaseModel
decimal.Decimal polars.DataFrame typing.Any builtins.str""".split()
for package, name in (like.split(".") for like in LIKE):
    made[f"like_{package}_{name}"] = hostile(name, __module__=package)()
labels = pandas.Index([key("a"), key("password")], dtype=object)
made["labelled"] = pandas.DataFrame([[1, 2]])
made["labelled"].columns = labels
made["labelled_rows"] = pandas.Series([1, 2])
made["labelled_rows"].index = labels
made["cells"] = pandas.DataFrame({"a": pandas.Series([Plain(), Plain()], dtype=object)})
made["index"] = labels
made["named_index"] = pandas.Series([1], name=key("password"))
categories = pandas.Categorical.from_codes([0], categories=pandas.Index([key("x")], dtype=object))
made["categories"] = pandas.Series(categories)

zone = {name: spy(name) for name in ("utcoffset", "tzname", "dst")}
Zone = hostile("Zone", datetime.tzinfo, **zone)
made["moment"] = datetime.datetime(2026, 1, 1, tzinfo=Zone())
made["clock"] = datetime.time(1, 2, tzinfo=Zone())
DAY = (2026, 1, 1)
LEAVES = {datetime.datetime: DAY, datetime.date: DAY, datetime.timedelta: (1,),
          decimal.Decimal: ("1.5",), pathlib.PurePosixPath: ("a/b",)}
for cls, value in LEAVES.items():
    sub = hostile(f"H{cls.__name__}", cls)
    made[cls.__name__.lower()] = sub.__new__(sub, *value)
class Fault(Exception):
    pass
made["fault"] = hostile("HFault", Fault)(Plain(), "text")
made["os_error"] = OSError(2, Plain(), Plain())
made["key_error"] = KeyError(Plain())
made["group"] = ExceptionGroup("several", [ValueError(Plain())])
class Colour(enum.Enum):
    RED = Plain()
    __str__ = spy("Colour.__str__")
    __repr__ = spy("Colour.__repr__")
    __hash__ = spy("Colour.__hash__", lambda self: 0)
    __eq__ = spy("Colour.__eq__", lambda self, other: self is other)
made["enum"] = Colour.RED
made["chain"] = collections.ChainMap(made["keys"], {"a": 1})
made["simple"] = types.SimpleNamespace(a=1, inner=Plain())
made["deep"] = {"a": [Plain(), {"b": (Plain(), made["dataclass"])}]}
made["password"] = Plain()
made["api_key"] = made["dict"]
SECRET = ("password", "api_key")
made = {name if name in SECRET else f"my_{name}": value for name, value in made.items()}
NAMES = json.dumps(list(made))
globals().update(made)

@repl_pair.story("hostile.any")
def any_value(name: str = "my_object"):
    return made[name]
for name in made:
    repl_pair.variant(
        f"hostile.any/{name}",
        args={"name": name},
        play=[repl_pair.check.path_equals("result.a", 1), repl_pair.check.result_equals(1)],
    )

MANY = [made[f"my_{name}"] for name in ("str", "moment", "pureposixpath", "namedtuple")]
@repl_pair.story("hostile.defaults")
def with_defaults(one=Plain(), other: HData = made["my_dataclass"], keys: dict = made["my_keys"],
                  more=made["my_of_metaclass"], many=tuple(MANY)):
    return one
repl_pair.variant("hostile.defaults/It")
'''
STUMBLE = """
def stumble(**held):
    one, other, keys = held["my_object"], held["my_of_metaclass"], held["my_keys"]
    password = held["password"]
    raise held["my_fault"] from held["my_group"]
made["my_fault"].__notes__ = [made["my_str"], made["my_object"]]
stumble(**made)
"""
"""A cell that ends with a hostile error, with hostile objects among the variables of its frames."""
OF_A_VARIANT = ("read_assertions", "get_variant", "explain_variant", "snapshot_identity")
OF_A_STORY = (
    "get_story",
    "get_docs_markdown",
    "list_variants",
    "tests_passing",
    "changed_variants",
)
OF_ALL = (
    "read_failures",
    "list_stories",
    "list_variants",
    "get_story_instructions",
    "kernel_status",
    "read_stacks",
    "read_hot_lines",
)
CODE = ("Plain", "Meta", "HData", "HArray", "Zone", "Colour", "Fault", "with_defaults", "spy")
STEPS = ("", ".a", ".plain", ".password", ".shape", "[0]", ".x.__module__")


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(SETUP)


@pytest.fixture(scope="module")
def inspector(kernel, connect):
    with connect(
        "--kernel", kernel.path, "--allow", "inspect", "--toolsets", "values,story"
    ) as one:
        yield one


def test_no_read_runs_the_code_of_a_hostile_class(kernel, inspector):
    def read(tool, **args):
        reply = inspector.ask(tool, **args)
        if not reply["ok"] and reply["error"]["code"] != "not_found":
            failed.append((tool, args, reply["error"]))

    def report():
        return kernel.cell("for line in sorted(set(RAN)): print(line)\nRAN.clear()")

    names, failed = json.loads(kernel.cell("print(NAMES)")), []
    assert kernel.run(STUMBLE).error
    kernel.cell("READY.append(1)")
    read("read_traceback")
    read("read_traceback", locals=True)
    read("read_history")
    read("read_history", match="a")
    read("list_variables", limit=200)
    read("list_variables", values=True, limit=200)
    for name in names:
        for step in STEPS:
            read("get_value", path=f"{name}{step}")
            read("describe_object", path=f"{name}{step}", members=True)
    for name in CODE:
        read("describe_object", path=name, members=True, limit=200)
    for more in ({"match": "*y_*"}, {"type": "str"}, {"sort": "bytes"}, {"kinds": ["class"]}):
        read("list_variables", limit=200, **more)
    for name in names:
        read("get_value", path=name, detail="full")
    assert report() == ""
    variants = [*(f"hostile.any/{name}" for name in names), "hostile.defaults/It"]
    for name in variants:
        inspector.ask("run_variant", variant_id=name)
    report()  # a run runs the code of the component
    for name in variants:
        for tool in OF_A_VARIANT:
            read(tool, variant_id=name)
    for tool in OF_A_STORY:
        for story in ("hostile.any", "hostile.defaults"):
            read(tool, story_id=story)
    for tool in OF_ALL:
        read(tool)
    assert report() == ""
    assert failed == []


PUBLISH = """
READY.clear()
live = repl_pair.surface("hostile")
rows, log = live.collection("rows", expose=True), live.stream("log", expose=True)
for name in made:
    live.cell(name, expose=True).set(made[name])
    rows[name] = made[name]
    log.push(made[name])
READY.append(1)
print(len(made))
"""


def test_no_read_of_a_member_runs_the_code_of_a_hostile_class(kernel, inspector):
    count = int(kernel.cell(PUBLISH))
    listed = inspector.call("list_surfaces", limit=200).structured_content["result"]
    members = [member["id"] for line in listed["items"] for member in line["members"]]
    assert len(members) == count + 2
    for member in members:
        for more in ({}, {"limit": 1}, {"since": 0}):
            reply = inspector.call("read_member", member=member, **more).structured_content
            assert reply["ok"], (member, reply)
    ran = kernel.cell("for line in sorted(set(RAN)): print(line)\nRAN.clear()")
    assert ran == ""
