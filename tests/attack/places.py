"""The kinds of places in which a person's kernel may hold a secret; a canary is planted in each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from canaries import LONG, SHAPES


@dataclass(frozen=True, kw_only=True)
class Place:
    """A kind of place: `plant` is the code that plants a canary there, {c} stands for its literal.

    `value` is the expression that a component of the person's takes it from. A secret that is
    `known` may be in any text; any other is hidden where it stands only.
    """

    name: str
    plant: str
    value: str
    known: bool = False
    shapes: Sequence[str] = ()

    def shape(self, rng: Random) -> str:
        """Choose how its canary looks."""
        return rng.choice(self.shapes or (LONG if self.known else tuple(SHAPES)))


def known(name: str, plant: str, value: str, **more: str | Sequence[str]) -> Place:
    """Make the row of a secret that the kernel knows before anything leaves it."""
    return Place(name=name, plant=plant, value=value, known=True, **more)  # type: ignore[arg-type]


def standing(name: str, plant: str, value: str = "", **more: str | Sequence[str]) -> Place:
    """Make the row of a secret that is hidden where it stands."""
    return Place(name=name, plant=plant, value=value or f"v_{name}", **more)  # type: ignore[arg-type]


URL = ("token", "odd", "digits", "unicode")

PLACES: Sequence[Place] = (
    # What the person's variables are called, and what the environment holds.
    known("variable", "v_db_password = {c}", "v_db_password"),
    known("upper_variable", "V_API_KEY = {c}", "V_API_KEY"),
    known("bytes_variable", "v_access_token = {c}.encode()", "v_access_token.decode()"),
    known("environment", "os.environ['ATTACK_TOKEN'] = {c}", "os.environ['ATTACK_TOKEN']"),
    known(
        "environment_url",
        "os.environ['ATTACK_URL'] = 'postgresql://ann:' + quote({c}, safe='') + '@db.dev/x'",
        "unquote(os.environ['ATTACK_URL'].split(':')[2].split('@')[0])",
        shapes=URL,
    ),
    # What declares itself secret.
    known("secret_str", "v_signer = pydantic.SecretStr({c})", "v_signer.get_secret_value()"),
    known(
        "secret_bytes",
        "v_seal = pydantic.SecretBytes({c}.encode())",
        "v_seal.get_secret_value().decode()",
    ),
    known("settings", "v_settings = Settings(signer={c})", "v_settings.signer.get_secret_value()"),
    known("declared_field", "v_pinned = Pinned('plain', {c})", "v_pinned.pin"),
    known("declared_tuple", "v_pinned_row = PinnedRow('plain', {c})", "v_pinned_row.pin"),
    # Fields of the person's objects with the names of secrets.
    known("dataclass_field", "v_login = Login('plain', {c})", "v_login.password"),
    known("model_field", "v_model = Model(password={c})", "v_model.password"),
    known("attrs_field", "v_attrs = Attrs('plain', {c})", "v_attrs.password"),
    known("slot", "v_slots = Slots({c})", "v_slots.token"),
    known("private_field", "v_vault = Vault({c})", "v_vault._password"),
    known("key", "v_config = {{'plain': 1, 'password': {c}}}", "v_config['password']"),
    known("key_2", "v_two = {{'a': {{'api_key': {c}}}}}", "v_two['a']['api_key']"),
    known("key_3", "v_3 = {{'a': {{'b': {{'api_key': {c}}}}}}}", "v_3['a']['b']['api_key']"),
    known("key_in_list", "v_rows = [{{'plain': 1, 'password': {c}}}]", "v_rows[0]['password']"),
    known("wide_key", "v_wide = {{f'n{{n}}': n for n in range(300)}} | {{'password': {c}}}",
          "v_wide['password']"),
    known("model_extra", "v_extra = Extra(plain=1, password={c})", "v_extra.password"),
    known("model_private", "v_private = Private(); v_private._password = {c}",
          "v_private._password"),
    known("class_attribute", "class Kind: password = {c}", "Kind.password"),
    known("enum_member", "class Keys(enum.Enum): API_KEY = {c}", "Keys.API_KEY.value"),
    known("module_attribute", "v_module = types.ModuleType('v_module'); v_module.password = {c}",
          "v_module.password"),
    known("column_known", "v_columns = pandas.DataFrame({{'n': [1], 'password': [{c}]}})",
          "v_columns['password'].iloc[0]"),
    # Secrets that are hidden where they stand.
    *(
        standing(f"depth_{depth}", f"v_depth_{depth} = " + "{{'a': " * depth
                 + "{{'plain': 1, 'password': {c}}}" + "}}" * depth)
        for depth in range(1, 7)
    ),
    standing("pair", "v_pair = ('Authorization', {c})"),
    standing("pairs", "v_pairs = [('Accept', 'plain'), ('Authorization', {c})]"),
    standing("name_value", "v_name_value = {{'name': 'DB_PASSWORD', 'value': {c}}}"),
    standing("named_rows", "v_named_rows = [{{'key': 'API_KEY', 'value': {c}, 'more': 'plain'}}]"),
    standing("bytes_key", "v_bytes_key = {{b'password': {c}, b'user': 'plain'}}"),
    standing("wide", "v_wide_row = [{{f'n{{n}}': n for n in range(150)}} | {{'password': {c}}}]",
             "v_wide_row"),
    standing("listed", "v_listed = [{{'plain': 1, 'password': {c}}}, {{'password': [{c}, 'x']}}]"),
    standing("in_set", "v_in_set = [{{'password': {{{c}}}}}, {{'tokens': 3}}]"),
    standing("ordered", "v_ordered = collections.OrderedDict(plain=1, password={c})"),
    standing("default", "v_default = collections.defaultdict(str, password={c})"),
    standing("counted", "v_counted = types.SimpleNamespace(plain=1, password={c})"),
    standing("proxy", "v_proxy = types.MappingProxyType({{'password': {c}}})"),
    standing("cookie", "v_cookie = http.cookies.SimpleCookie(); v_cookie['sid'] = {c}",
             shapes=("token", "digits")),
    standing("url", "v_url = 'https://ann:' + quote({c}, safe='') + '@files.example.com/x'",
             shapes=("token", "digits")),
    standing("column", "v_column = pandas.DataFrame({{'n': [1] * 30, 'password': [{c}] * 30}})"),
    standing("turned", "v_turned = pandas.DataFrame({{'n': [1], 'password': [{c}]}}).T"),
    standing("row", "v_row = pandas.DataFrame({{'n': [1], 'password': [{c}]}}).iloc[0]"),
    standing("label", "v_label = pandas.Series({{'plain': 1, 'password': {c}}})"),
    standing("multi_column", "v_multi_column = pandas.DataFrame([['plain', {c}]], columns="
             "pandas.MultiIndex.from_tuples([('in', 'user'), ('in', 'password')]))"),
    standing("index", "v_index = pandas.DataFrame({{'n': [1]}}, index=pandas.Index([{c}], "
             "name='password'))"),
    standing("structured", "v_structured = numpy.array([('plain', {c})], "
             "dtype=[('user', 'U99'), ('password', 'U99')])"),
    standing("exception", "v_exception = Refused('plain'); v_exception.password = {c}"),
    standing("object", "v_object = Holder(); v_object.inner = {{'password': {c}}}"),
    standing("node", "v_node = {{'password': {c}}}; v_node['self'] = v_node"),
    standing("frame_in_dict", "v_frame_in_dict = {{'t': [pandas.DataFrame({{'n': [1], "
             "'api_key': [{c}]}})]}}"),
)  # fmt: skip
"""All places that are promised; those of the args and bodies of variants are in WRITTEN."""

WRITTEN: Mapping[str, Sequence[str]] = {
    "arg_password": LONG,
    "arg_pin": LONG,
    "arg_key": LONG,
    "arg_login": LONG,
    "arg_options": LONG,
    "loader_declared": LONG,
    "loader_used": LONG,
    "expected": LONG,
    "event": tuple(SHAPES),
    "patch": tuple(SHAPES),
    "mode": tuple(SHAPES),
    "response": tuple(SHAPES),
    "use": tuple(SHAPES),
    "set": tuple(SHAPES),
    "member_secret": tuple(SHAPES),
    **dict.fromkeys(("kept_surface", "kept_member", "kept_function", "kept_key"), ("token",)),
    "kept_projection": ("token",),
    **dict.fromkeys(("kept_value", "kept_doc", "kept_tier"), LONG),
}
"""The places in what the person registers, and the shapes of their canaries.

What begins with `kept` is of the app and exposed to no agent: the names are canaries too.
"""

UNPROMISED: Mapping[str, str] = {
    "a short secret in a sentence": "A short secret inside a sentence",
    "a secret that code changed": "one that your code has changed",
    "a literal in source": "A literal in source is part of the code hash",
    "pixels": "Of an image, only the text that matplotlib drew is searched",
}
"""Places of which docs/threats.md says that they are not searched, with its words."""


def plant(rng: Random) -> tuple[dict[str, str], str, list[Place]]:
    """Return the canaries by place, the code that plants them, and the rows that are planted."""
    rows = list(PLACES)
    canaries = {place.name: SHAPES[place.shape(rng)](rng) for place in rows}
    code = "\n".join(place.plant.format(c=repr(canaries[place.name])) for place in rows)
    canaries |= {name: SHAPES[rng.choice(shapes)](rng) for name, shapes in WRITTEN.items()}
    return canaries, code, rows
