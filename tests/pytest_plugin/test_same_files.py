"""pytest and all that loads stories without it find the same files, and load them as one does."""

import sys

import pytest
from bad_paths import BAD
from snapshot_project import new_stories

from repl_pair.errors import AuthoringError
from repl_pair.runtime.loading.load import SkippedFile, load_stories
from repl_pair.runtime.registry.registry import REGISTRY

pytest_plugins = ["pytester"]
STORY = """import repl_pair
{before}
repl_pair.story("{id}", component=lambda: 1, variants={{"V": {{}}}})
"""


def story(id, before=""):
    return STORY.format(id=id, before=before)


ENTERED = {
    "stories_a.py": story("top"),
    "deep/er/stories_b.py": story("deep"),
    "build/stories_c.py": story("built"),
    "node_modules/stories_d.py": story("node"),
    ".hidden/stories_e.py": story("hidden"),
    "env/pyvenv.cfg": "",
    "env/stories_f.py": story("env"),
}
LAYOUTS = {
    "folders that pytest enters": (ENTERED, ["deep", "top"]),
    "norecursedirs": (
        {**ENTERED, "pytest.ini": "[pytest]\nnorecursedirs = er\n"},
        ["built", "hidden", "node", "top"],
    ),
    "one stem in two folders": (
        {"x/stories_a.py": story("x"), "y/stories_a.py": story("y")},
        ["x", "y"],
    ),
    "one stem in two packages": (
        {
            **{f"{name}/__init__.py": "" for name in "xy"},
            **{f"{name}/helper.py": f"NAME = 'from {name}'" for name in "xy"},
            **{
                f"{name}/stories_a.py": story(name, "from .helper import NAME\n")
                + f"assert NAME == 'from {name}'\n"
                for name in "xy"
            },
        },
        ["x", "y"],
    ),
    "relative imports without packages": (
        {
            "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n",
            "t/sub/helper_t.py": "",
            "t/sub/stories_a.py": story("sub", "from . import helper_t"),
        },
        ["sub"],
    ),
    "a file in a package, whose own folder is not on the import path": (
        {
            "src/shop/__init__.py": "",
            "src/shop/mailbox.py": "",
            "src/shop/stories_a.py": story(
                "in.package",
                "import sys, mailbox\nfrom . import mailbox as own\n"
                "assert mailbox.Maildir and sys.path[0].endswith('src')\n"
                "assert not [folder for folder in sys.path if folder.endswith('shop')]\n",
            ),
        },
        ["in.package"],
    ),
    **{
        f"the folder of a file last on the import path, with {mode}": (
            {
                "pytest.ini": f"[pytest]\naddopts = --import-mode={mode}\n",
                "t/mailbox.py": "",
                "t/helper_t.py": "",
                "t/stories_a.py": story(
                    "last",
                    "import mailbox, helper_t\nmailbox.Maildir\n"
                    f"assert ('.' in __name__) == {mode == 'importlib'}\n",
                ),
            },
            ["last"],
        )
        for mode in ("append", "importlib")
    },
    "folders of pythonpath, the first before the second": (
        {
            "pytest.ini": "[pytest]\npythonpath = one two\n",
            "one/of_both.py": "NAME = 'one'\n",
            "two/of_both.py": "NAME = 'two'\n",
            "stories_a.py": story("a", "from of_both import NAME\nassert NAME == 'one'\n"),
        },
        ["a"],
    ),
    "namespace packages": (
        {
            "pytest.ini": "[pytest]\nconsider_namespace_packages = true\npythonpath = src\n",
            "src/acme/billing/__init__.py": "",
            "src/acme/billing/core.py": "",
            "src/acme/billing/stories_core.py": story(
                "billing", "from . import core\nassert core.__name__ == 'acme.billing.core'"
            ),
            "src/acme/tools/stories_tools.py": story(
                "tools",
                "import sys\nassert __name__ == 'acme.tools.stories_tools'\n"
                "assert not [one for one in sys.path if one.endswith(('acme', 'tools'))]\n",
            ),
            "other/stories_other.py": story("other", "assert __name__ == 'other.stories_other'"),
        },
        ["billing", "other", "tools"],
    ),
    "testpaths": (
        {
            "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["t*"]\n',
            "tests/stories_a.py": story("in.tests"),
            "stories_b.py": story("outside"),
        },
        ["in.tests"],
    ),
    **{
        f"testpaths = {words}": (
            {
                "pyproject.toml": f"[tool.pytest.ini_options]\ntestpaths = {words}\n",
                "tests/stories_a.py": story("in.tests"),
                "stories_b.py": story("outside"),
            },
            ids,
        )
        for words, ids in {
            "'.'": ["in.tests", "outside"],
            "['tests', '.']": ["in.tests", "outside"],
            "['./tests/../tests']": ["in.tests"],
            "['**/stories_a.py']": ["in.tests"],
            "['{root}/tests']": ["in.tests"],
        }.items()
    },
    "an ini file with a byte order mark": (
        {"pytest.ini": "\ufeff[pytest]\ntestpaths = tests\n", "tests/stories_a.py": story("a")},
        ["a"],
    ),
    "files that the project names outside of testpaths": (
        {
            "pyproject.toml": '[tool.repl_pair]\nstories = ["src/**/*_cases.py", "src.more"]\n'
            '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
            "tests/test_it.py": "def test_it(): pass\n",
            "src/shop/price_cases.py": story("named"),
            "src/more.py": story("module"),
        },
        ["module", "named"],
    ),
    "ini file of tox": (
        {
            "pyproject.toml": "[project]\nname = 'x'\n",
            "tox.ini": "[pytest]\nrepl_pair_stories = *_cases.py\npythonpath = lib\n",
            "lib/beside_cases.py": "",
            "shop_cases.py": story("cases", "import of_lib"),
            "lib/of_lib.py": "",
        },
        ["cases"],
    ),
    "what conftest.py registers and ignores": (
        {
            "conftest.py": "import repl_pair\nrepl_pair.tag('mild')\ncollect_ignore = ['old']\n",
            "old/stories_a.py": story("old"),
            "new/conftest.py": "collect_ignore_glob = ['*_b.py']\n",
            "new/stories_a.py": story("new", "repl_pair.registry.get('tag', 'mild')"),
            "new/stories_b.py": story("new.b"),
        },
        ["new"],
    ),
    "files that pytest is to ignore": (
        {
            "setup.cfg": "[tool:pytest]\naddopts = --ignore=x --ignore-glob=*_b.py\n",
            "x/stories_a.py": story("x"),
            "stories_b.py": story("b"),
            "stories_c.py": story("c"),
        },
        ["c"],
    ),
    "files of a project that never heard of this package": (
        {
            "stories_a.py": "1 / 0\n",
            "stories_b.py": story("b"),
            "stories_c.py": "from made import make\nmake('c')\n",
            "made.py": "import repl_pair\ndef make(id):\n"
            "    repl_pair.story(id, component=lambda: 1, variants={'V': {}})\n",
        },
        ["b", "c"],
    ),
    "a file that another imports": (
        {"stories_a.py": story("a", "import stories_b"), "stories_b.py": story("b")},
        ["a", "b"],
    ),
    "a file that skips itself": (
        {
            "stories_a.py": story("a", "import pytest\npytest.importorskip('not_there_at_all')"),
            "stories_b.py": story("b"),
        },
        ["b"],
    ),
    "equal tags in two files": (
        {
            "stories_a.py": story("a", "repl_pair.tag('slow', doc='takes long')"),
            "stories_b.py": story("b", "repl_pair.tag('slow', doc='takes long')"),
        },
        ["a", "b"],
    ),
}


@pytest.fixture
def put(pytester):
    """Write files of a project by their paths."""

    def write(files):
        for name, text in files.items():
            path = pytester.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{root}", str(pytester.path)), encoding="utf-8")

    return write


@pytest.fixture
def load(pytester, monkeypatch):
    """Load the project without pytest; give the ids of its stories."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def run(folder=pytester.path):
        undo = REGISTRY.checkpoint()
        try:
            load_stories(folder)
            return list(REGISTRY.ids("story"))
        finally:
            undo()

    yield run
    for name in set(sys.modules) - before:
        if str(pytester.path) in str(getattr(sys.modules[name], "__file__", "") or ""):
            del sys.modules[name]


@pytest.mark.filterwarnings("ignore:.* skips itself")
@pytest.mark.parametrize(("files", "ids"), LAYOUTS.values(), ids=LAYOUTS)
def test_pytest_and_the_loader_find_and_load_the_same_files(pytester, put, load, files, ids):
    put(files)
    result = pytester.runpytest_subprocess("--collect-only", "-q", "-p", "no:cacheprovider")
    collected = [line.partition("::")[2] for line in result.outlines if "::" in line]
    assert sorted(one for one in collected if "/" in one) == [f"{id}/V" for id in ids]
    assert load() == ids


@pytest.mark.parametrize("bad", ["loop", "dangling", "pipe"])
def test_what_is_no_file_is_passed_by(pytester, put, load, bad):
    put({"stories_a.py": story("a")})
    BAD[bad](pytester.path)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=60).assert_outcomes(passed=1)
    assert load() == ["a"]


def test_what_is_there_and_cannot_be_read_is_an_error_that_names_it(tmp_path):
    made = new_stories(tmp_path)
    made.write("stories_a.py", story("a"))
    for bad, name in (("file", "stories_b.py"), ("folder", "locked")):
        if bad == "file":
            made.write(name, story("b"))
            (tmp_path / name).chmod(0)
        else:
            (tmp_path / "stories_b.py").unlink()
            BAD[name](tmp_path)
        for ran in (made.pytest(), made.command("run", "--here"), made.command("lint")):
            assert ran.code != 0
            assert (name in ran.out, "Permission" in ran.out) == (True, True), ran.out
    assert "norecursedirs" in made.command("run", "--here").out
    made.write("pytest.ini", "[pytest]\nnorecursedirs = locked\n")
    assert [made.command(*c).code for c in (["run", "--here"], ["lint"])] == [0, 0]


@pytest.mark.parametrize("mode", ["append", "importlib"])
def test_where_pytest_puts_no_folder_first_that_of_the_project_is_not_first(
    pytester, put, load, mode
):
    files = {
        "pytest.ini": f"[pytest]\naddopts = --import-mode={mode}\n",
        "mailbox.py": "",
        "helper_t.py": "",
        "stories_a.py": story("last", "import mailbox, helper_t\nmailbox.Maildir"),
    }
    # The folder that pytest is started in is first by Python's own rule.
    put({f"below/{name}": text for name, text in files.items()})
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "below")
    result.assert_outcomes(passed=1)
    assert load(pytester.path / "below") == ["last"]


def test_below_the_folder_of_the_project_both_look_from_there(pytester, put, load, monkeypatch):
    put(
        {
            "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'
            '[tool.repl_pair]\nstories = ["stories_*.py", "shop/*_cases.py"]\n',
            "tests/stories_a.py": story("in.tests"),
            "below/stories_b.py": story("below"),
            "below/own/pyproject.toml": '[tool.repl_pair]\nstories = ["own_cases.py"]\n',
            "below/own/own_cases.py": story("own"),
            "below/own/stories_c.py": story("not.named"),
            "shop/price_cases.py": story("named"),
        }
    )
    for folder, ids in {"below/own": ["own"], "below": ["below", "named", "not.named"]}.items():
        monkeypatch.chdir(pytester.path / folder)
        result = pytester.runpytest_subprocess("--collect-only", "-q", "-p", "no:cacheprovider")
        collected = [line.partition("::")[2] for line in result.outlines if "::" in line]
        assert sorted(collected) == [f"{id}/V" for id in ids]
        assert load(pytester.path / folder) == ids


def test_a_file_that_skips_itself_is_named_without_pytest_too(put, load):
    put({"stories_a.py": story("a", "import pytest\npytest.importorskip('not_there_at_all')")})
    put({"stories_b.py": story("b")})
    with pytest.warns(SkippedFile, match=r"stories_a\.py skips itself: .*'not_there_at_all'"):
        assert load() == ["b"]


ENDINGS = {
    "sys.exit": "import sys; sys.exit(0)",
    "os._exit": "import os; os._exit(0)",
    "SystemExit": "raise SystemExit",
    "pytest.exit": "import pytest; pytest.exit('enough', returncode=0)",
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_a_file_that_ends_the_process_as_it_is_loaded_is_an_error_with_its_place(
    pytester, put, load, ending
):
    put({"stories_a.py": story("a", ending)})
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*stories_a.py:2: the file ends the process where it is loaded*"])
    with pytest.raises(AuthoringError, match=r"stories_a\.py:2: the file ends the process"):
        load()


DOUBLED = {
    "in one file": {"stories_a.py": story("a") + "\nrepl_pair.variant('a/V', args={})\n"},
    "in two files": {"stories_a.py": story("a"), "stories_b.py": story("a")},
    "in one file that was imported before": {
        "conftest.py": "import stories_a\n",
        "stories_a.py": story("a") + "\nrepl_pair.variant('a/V', args={})\n",
    },
    "in two files that were imported before": {
        "conftest.py": "import stories_a, stories_b\n",
        "stories_a.py": story("a"),
        "stories_b.py": story("a"),
    },
    "tags that differ": {
        "stories_a.py": story("a", "repl_pair.tag('slow', doc='1')"),
        "stories_b.py": story("b", "repl_pair.tag('slow', doc='2')"),
    },
    "loaders": {
        "stories_a.py": story("a", "repl_pair.loader('db')(lambda: 1)"),
        "stories_b.py": story("b", "repl_pair.loader('db')(lambda: 2)"),
    },
}


@pytest.mark.parametrize("files", DOUBLED.values(), ids=DOUBLED)
def test_an_id_twice_in_files_is_an_error_that_names_both_places(pytester, put, load, files):
    put(files)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["Registered twice*", "*: *stories_?.py:? and *stories_?.py:?."])
    with pytest.raises(AuthoringError, match=r"stories_.\.py:\d and .*stories_.\.py:\d\."):
        load()


def test_a_file_that_is_imported_under_two_names_is_an_error_that_states_both(put, pytester, load):
    put(
        {
            "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n",
            "t/stories_a.py": story("a"),
            "t/stories_b.py": story("b", "import stories_a"),
        }
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    words = r"*stories_a.py:?, imported as *stories_a and as *stories_a."
    result.stdout.fnmatch_lines(["Registered twice*", words, "Import the file by one name.*"])
    with pytest.raises(AuthoringError, match=r"stories_a\.py:\d, imported as .* and as .*\."):
        load()


def test_an_id_twice_is_an_error_at_every_load_and_one_that_moved_is_none(put, load):
    helper = "def make(id):\n    repl_pair.story(id, component=len)\n"
    put({"helper_of_both.py": f"import repl_pair\n{helper}"})
    files = {
        f"stories_{n}.py": "import repl_pair, helper_of_both\nhelper_of_both.make('a')\n"
        for n in "xy"
    }
    for pair in (files, {"stories_x.py": story("a"), "stories_y.py": story("a")}):
        put(pair)
        for _ in range(3):
            with pytest.raises(AuthoringError, match="Registered twice"):
                load()
    put({"stories_y.py": "import repl_pair\n"})
    assert load() == ["a"]
    put({"stories_x.py": story("b"), "stories_y.py": story("a")})
    assert load() == ["a", "b"]


def test_an_id_of_a_plugin_that_a_file_replaces_is_warned_of(pytester, put):
    put({"shop_plugin.py": story("a"), "stories_a.py": story("a")})
    words = ("-p", "no:cacheprovider", "-p", "shop_plugin")
    result = pytester.run(sys.executable, "-m", "pytest", *words)
    result.assert_outcomes(passed=1, warnings=2)


CASE = """import repl_pair as rp
rp.mode("usd", args={"by": 2})
rp.loader("db")(lambda: 1)
rp.story("a", component=lambda n, by: n * by, args={"n": rp.ref("db"), "by": 1}, modes=["usd"])
rp.variant("a/V", play=[rp.check.compare("result", "<", 3)])
"""
RUN = "import runpy\ndef test_it(): runpy.run_path('demo.py')\n"
SESSION = """
def test_it(pytester):
    pytester.makepyfile(stories_a={case!r})
    pytester.runpytest_inprocess().assert_outcomes(passed=2)
"""
INI = "[pytest]\npythonpath = .\naddopts = -p pytester"
REPLACED = {
    "a variant": ("import repl_pair as rp\nrp.variant('a/V')\n", RUN, 2),
    "its story": ("import repl_pair as rp\nrp.story('a', component=lambda n, by: 1)\n", RUN, 2),
    "its mode": ("import repl_pair as rp\nrp.mode('usd', args={'by': 3})\n", RUN, 1),
    "its loader": ("import repl_pair as rp\nrp.loader('db')(lambda: 0)\n", RUN, 2),
    "all that is imported as tests are collected": (CASE, "import demo\ndef test_it(): pass", 2),
    "all by another session": ("", SESSION.format(case=CASE), 2),
    "its mode by an equal one": ("import repl_pair as rp\nrp.mode('usd', args={'by': 2})", RUN, 0),
    "nothing: the file is executed again": (
        "import importlib, sys\nimportlib.reload(sys.modules['stories_a'])\n"
        "import runpy\nrunpy.run_path('stories_a.py', run_name='stories_b')\n",
        RUN,
        0,
    ),
}


@pytest.mark.parametrize(("demo", "test", "refused"), REPLACED.values(), ids=REPLACED)
def test_a_variant_is_not_run_with_what_another_file_has_registered_since_it_was_collected(
    pytester, put, demo, test, refused
):
    put({"stories_a.py": CASE, "demo.py": demo, "test_demo.py": test})
    put(
        {
            "pytest.ini": INI,
            "reversing.py": "def pytest_collection_modifyitems(items): items.reverse()",
        }
    )
    words = ("-p", "no:cacheprovider", "stories_a.py", "test_demo.py", "-p", "reversing")
    result = pytester.runpytest_subprocess(*words)
    passed = result.parseoutcomes().get("passed", 0)
    assert (passed, result.parseoutcomes().get("failed", 0)) == (3 - refused, refused)
    cause = "* was collected from *stories_a.py:?, and * has registered it since*"
    result.stdout.fnmatch_lines([cause] * refused)


def test_a_file_that_tests_import_by_another_name_is_one(pytester, put):
    put(
        {
            "tests/stories_a.py": story("a"),
            "tests/test_a.py": "import tests.stories_a\ndef test_it(): pass\n",
            "tests/later/stories_z.py": story("z", "import tests.stories_a"),
        }
    )
    words = ("-p", "no:cacheprovider", "--doctest-modules")
    result = pytester.run(sys.executable, "-m", "pytest", *words)
    result.assert_outcomes(passed=3, warnings=2)


def test_a_mode_that_two_conftests_define_otherwise_is_an_error(pytester, put, load):
    for folder, currency in (("a", "EUR"), ("b", "USD")):
        put(
            {
                f"{folder}/conftest.py": f"import repl_pair\n"
                f"repl_pair.mode('money', args={{'currency': {currency!r}}})\n",
                f"{folder}/stories_{folder}.py": story(folder),
            }
        )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["mode 'money': *a/conftest.py:2 and *b/conftest.py:2."])
    with pytest.raises(AuthoringError, match=r"a/conftest\.py:2 and .*b/conftest\.py:2\."):
        load()


def test_a_variant_of_each_conftest_is_its_folders_whatever_conftest_came_later(pytester, put):
    for folder in ("a", "b"):
        put(
            {
                f"{folder}/conftest.py": story(f"of.{folder}")
                + f"\nrepl_pair.variant('of.{folder}/Kept',"
                " play=[repl_pair.check.matches_snapshot()])\n",
                f"{folder}/stories_{folder}.py": story(folder),
            }
        )
    for words in (["a", "--pair-update"], ["b", "--pair-update"], ["a", "b"]):
        result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *words)
        result.assert_outcomes(passed=6 if words[-1] == "b" else 3)
    kept = [str(file.relative_to(pytester.path)) for file in pytester.path.rglob("*.txt")]
    assert sorted(kept) == [f"{n}/__repl_pair__/conftest/of.{n}.txt" for n in ("a", "b")]


def test_a_file_that_its_package_imports_is_executed_once(pytester, put, load):
    put({"shop/__init__.py": "from . import stories_a\n", "shop/stories_a.py": story("a")})
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
    assert load() == ["a"]


def test_stories_are_named_by_the_project_of_pytests_own_settings(pytester, put):
    put(
        {
            "a/pyproject.toml": "[tool.pytest.ini_options]\n"
            "[tool.repl_pair]\nstories = ['cases_*.py']\n",
            "a/cases_a.py": story("a"),
        }
    )
    for words in (["a"], ["-c", "a/pyproject.toml", "a"], ["a/cases_a.py"]):
        pytester.runpytest_subprocess("-p", "no:cacheprovider", *words).assert_outcomes(passed=1)


def test_collecting_and_running_write_nothing_beside_the_stories(pytester, put, monkeypatch):
    kept = "repl_pair.variant('a/Kept', play=[repl_pair.check.matches_snapshot()])\n"
    put({"here/stories_a.py": story("a") + kept})
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    runs = []
    for word in ("--pair-update", "-v"):
        result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "here", word)
        result.assert_outcomes(passed=2)
        runs.append(sorted((pytester.path / "here").rglob("*")))
    assert len(runs[0]) == 4
    assert runs[1] == runs[0]
