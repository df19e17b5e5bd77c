"""What of source code is shown: no literal beside the name of a secret, in whatever notation."""

import linecache
import os

import pytest

from repl_pair.runtime.reading.code_lines import hide_literals, shown_block, shown_doc, shown_line

R = '"[redacted]"'
HIDDEN = {
    "beside": ("connect(user='ann', password='hunt')", f"connect(user={R}, password={R})"),
    "on another line": (
        "connect(\n  user='ann',\n  password='hunt',\n)",
        f"connect(\n  user='ann',\n  password={R},\n)",
    ),
    "of many lines": ("token = '''a\nb\nc'''\nx = 'y'", f"token = {R}\n\n\nx = 'y'"),
    "below an open bracket": (
        "login(password=(\n  'a'\n  'b'\n))\nx = 'y'",
        f"login(password=(\n  {R}\n  {R}\n))\nx = 'y'",
    ),
    "on a line that goes on": ("password = \\\n  'a'\nx = 'y'", f"password = \\\n  {R}\nx = 'y'"),
    "not closed": ("password = 'hunt", f"password = {R}"),
    "not closed, of many lines": ("token = '''a\nb", f"token = {R}\n"),
    "with its own quotes in it": (r"f(api_key='a\'hunt')", f"f(api_key={R})"),
    "in a comment": ("# don't say the password 'hunt'\nx = 'y'", "# [redacted]\nx = 'y'"),
    "behind a comment": ("f()  # don't\npassword = 'hunt'", f"f()  # don't\npassword = {R}"),
    "in a line magic": ("%env API_KEY=hunt 2\nx = 'y'", "%env API_KEY [redacted]\nx = 'y'"),
    "in a shell command": (
        "out = !curl --token \\\n  hunt\nx = 'y'",
        "out = !curl --token [redacted]\n [redacted]\nx = 'y'",
    ),
    "in a cell magic": (
        "%%bash\nexport PASSWORD=hunt\nls",
        "%%bash\nexport PASSWORD [redacted]\nls",
    ),
    "below its key": ("conf = {\n  'password':\n    'hunt'}", f"conf = {{\n  {R}:\n    {R}}}"),
    "in the body of a function of that name": (
        "def get_token():\n  if a:\n    return 'b'\n\n  return 'c'\ny = 'd'",
        f"def get_token():\n  if a:\n    return {R}\n\n  return {R}\ny = 'd'",
    ),
    "a long number": (
        "password = 98765432\nretries = 98765432",
        f"password = {R}\nretries = 98765432",
    ),
    "in a key": ("conf['password'] = 'hunt'", f"conf[{R}] = {R}"),
    "beside a name with a hyphen": ("h['X-Api-Key'] = 'hunt'\na = 'b'", f"h[{R}] = {R}\na = 'b'"),
    "beside a name of settings": (
        "conf.set('fs.azure.account.key.x.net', 'hunt')\nconf.set('fs.key', 'a')",
        f"conf.set({R}, {R})\nconf.set('fs.key', 'a')",
    ),
    "beside a name in other letters": ("\uff50assword = 'hunt'", f"\uff50assword = {R}"),
    "declared to be secret": (
        "pin: Annotated[str, Sensitive] = 'hunt'",
        f"pin: Annotated[str, Sensitive] = {R}",
    ),
    "of an expression that goes on in brackets": (
        "a = (\n  password\n  == 'hunt'\n)\nb = 'c'",
        f"a = (\n  password\n  == {R}\n)\nb = 'c'",
    ),
    "of an expression before the name": (
        "a = (\n  'hunt'\n  == password,\n  'b',\n)",
        f"a = (\n  {R}\n  == password,\n  'b',\n)",
    ),
    "before a name on a line that goes on": (
        "a = 'hunt' \\\n  or password\nb = 'c'",
        f"a = {R} \\\n  or password\nb = 'c'",
    ),
    "in the call of an option of that name": (
        "add(\n  '-p',\n  '--password',\n  default='hunt',\n)\nf(\n  'a',\n)",
        f"add(\n  {R},\n  {R},\n  default={R},\n)\nf(\n  'a',\n)",
    ),
    "beside a name in the same mapping": (
        "[{\n  'value': 'hunt',\n  'name': 'DB_PASSWORD',\n}]\n['user',\n  'password',\n  'a']",
        f"[{{\n  {R}: {R},\n  {R}: {R},\n}}]\n['user',\n  {R},\n  'a']",
    ),
    "in brackets that open where others close": (
        "f(a=(\n  1\n), password=(\n  'hunt'\n))",
        f"f(a=(\n  1\n), password=(\n  {R}\n))",
    ),
    "in a class of that name, below a comment": (
        "class Secrets:\n  a = 'b'\n# c\n  d = 'hunt'\ne = 'f'",
        f"class Secrets:\n  a = {R}\n# [redacted]\n  d = {R}\ne = 'f'",
    ),
    "in a match of that name": (
        "match password:\n  case 'hunt': pass\nmatch = 'a'",
        f"match password:\n  case {R}: pass\nmatch = 'a'",
    ),
    "a number in another base": ("secret_key = 0xdeadbeef", f"secret_key = {R}"),
    "numbers of bytes": ("secret = bytes([104, 117, 110, 116])", f"secret = bytes([{R}])"),
    "in a literal with the same quotes": ('token = f"{a["hunt"]}"', f"token = f{R}"),
    "in a cell magic that is indented": (
        "  %%bash\n  export PASSWORD=hunt",
        "  %%bash\n  export PASSWORD [redacted]",
    ),
    "below its key in a cell magic": (
        "%%writefile a.yaml\npassword:\n  hunt\nuser: b",
        "%%writefile a.yaml\npassword [redacted]\n [redacted]\nuser: b",
    ),
    "before the name in a shell command": (
        "!echo hunt | docker login -u a --password-stdin\n!curl -u a:hunt x.de/token",
        "!echo [redacted]\n!curl [redacted]",
    ),
    "in a shell command over lines": (
        "!mysql \\\n -phunt \\\n --token a\nb = 'c'",
        "!mysql [redacted]\n [redacted]\n [redacted]\nb = 'c'",
    ),
    "in a shell command for an attribute": (
        "self.out = !curl --token hunt",
        "self.out = !curl --token [redacted]",
    ),
    "below an option in a list": (
        "run([\n  'sql',\n  '--password',\n  'hunt',\n  'shop',\n])",
        f"run([\n  'sql',\n  {R},\n  {R},\n  'shop',\n])",
    ),
    "in a call that IPython quotes": (",set_password hunt", ",set_password [redacted]"),
}
"""Where a literal stands, and what is shown."""


@pytest.mark.parametrize("place", HIDDEN)
def test_a_literal_beside_a_name_of_secrets_is_hidden_and_no_other(place):
    code, shown = HIDDEN[place]
    assert hide_literals(code).text == shown


def test_a_block_hides_what_the_code_around_it_hides():
    code = "def get_password():\n  def inner():\n    return 'hunt'\n  return inner\nx = 'y'\n"
    block = shown_block(code.splitlines(keepends=True), 1, 2)
    assert (block.text, block.hidden) == (f"  def inner():\n    return {R}\n", ("hunt",))


def test_what_was_hidden_is_given_to_be_looked_for_elsewhere():
    code = "connect(api_key='a\\n\\'b', user='ann')\n%env TOKEN=hunt"
    assert {"a\n'b", "ann", "hunt"} <= {*hide_literals(code).hidden}


@pytest.mark.parametrize(
    "code",
    [
        *("print('plain')", "tokens_used = 'x'\nkeys = a.keys('b')", "if x: pass\ny = 'z'"),
        "class A:\n  '''The user\"s tokens.'''\n  def f(self): return f'{1}'\n",
        "if password:\n  x = 'y'\n",
    ],
)
def test_code_without_such_a_name_stays_as_it_is(code):
    assert hide_literals(code) == type(hide_literals(""))(code)


def test_of_a_doc_that_names_a_secret_only_what_is_quoted_or_assigned_is_hidden():
    assert shown_doc("The user's token isn't here.") == "The user's token isn't here."
    shown = shown_doc('Log in with password="hunt" or token=hunt.\nSay "hello".')
    assert shown == f'Log in with password={R} or token=[redacted]\nSay "hello".'
    shown = shown_doc("login(password=\n  'hunt')\nset('x-api-key', b'hunt')\nf('a')")
    assert shown == f"login(password=\n  {R})\nset({R}, {R})\nf('a')"


def test_hiding_takes_time_in_line_with_the_length_of_a_text():
    for part in (
        "password ' \" ( ",
        "f(\n'password',\n",
        "password - -a ",
        "(password\n",
        " \t",
        "password '''",
        "token(" + "x" * 9,
        "'\\" * 9 + "secret",
    ):
        hide_literals(part * 20_000 + "password")  # the test has a limit of time of its own


def test_a_line_is_read_from_a_file_or_cell_and_nothing_is_kept_in_linecache(tmp_path):
    source = tmp_path / "shop.py"
    source.write_text("x = 1\npassword = '''a\nb'''\ny = f('z')\n")
    before = dict(linecache.cache)
    assert [shown_line(str(source), n) for n in (1, 2, 3, 4, 9, 0)] == [
        *("x = 1", f"password = {R}", "", "y = f('z')", "", "")
    ]
    assert linecache.cache == before
    source.write_text("changed = 1\n")
    assert shown_line(str(source), 1) == "changed = 1"
    asked = []
    linecache.cache["<of a loader>"] = (lambda: asked.append(1),)
    linecache.cache["<cell>"] = (4, None, ["a = 1\n", "b = 2\n"], "<cell>")
    try:
        assert (shown_line("<of a loader>", 1), shown_line("<cell>", 2)) == ("", "b = 2")
    finally:
        del linecache.cache["<of a loader>"], linecache.cache["<cell>"]
    assert asked == []


def test_no_line_is_read_from_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (str(tmp_path / "pipe"), "/dev/zero", str(tmp_path), "no\0name", "<string>"):
        assert shown_line(name, 1) == ""
