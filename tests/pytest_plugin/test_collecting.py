"""Variants of stories files are items of pytest, under their own names."""

import sys
import types

import pytest

import repl_pair

pytest_plugins = ["pytester"]

PRICES = """
    from repl_pair import check, mode, story, variant

    mode("eur", args={"rate": 2}, axis="currency")
    mode("usd", args={"rate": 3}, axis="currency")
    mode("dark", args={})

    @story("pricing.quote", modes=["eur", "usd", "dark"])
    def quote(n: int = 1, rate: int = 1) -> int:
        return n * rate

    variant("pricing.quote/single", play=[check.compare("result", ">", 0)])
    variant(
        "pricing.quote/bulk",
        args={"n": 10},
        plays={
            "typed": [check.compare("result", ">", 0)],
            "large": {"steps": [check.compare("result", ">", 0)], "auto_run": True},
        },
    )
"""
ALL = ["", "[eur]", "[usd]", "[dark]", "[eur+dark]", "[usd+dark]"]


def ids_of(result):
    """Return the ids of a run with --collect-only -q."""
    return [line for line in result.outlines if "::" in line]


def collect(pytester, *args):
    return pytester.runpytest_inprocess("--collect-only", "-q", "-p", "no:cacheprovider", *args)


@pytest.fixture
def prices(pytester):
    pytester.makepyfile(stories_pricing=PRICES)
    return pytester


def named(*names):
    return [f"stories_pricing.py::pricing.quote/{name}" for name in names]


def test_a_variant_is_an_item_for_each_combination_of_its_modes_in_the_order_of_the_file(prices):
    found = ids_of(collect(prices))
    assert found == named(*(f"{name}{modes}" for name in ("single", "bulk") for modes in ALL))


@pytest.mark.parametrize(
    ("modes", "brackets"),
    [
        ("none", [""]),
        ("each", ["", "[eur]", "[usd]", "[dark]"]),
        ("dark+eur,usd", ["[usd]", "[eur+dark]"]),
        ("none,usd", ["", "[usd]"]),
    ],
)
def test_the_modes_are_chosen_by_option_or_ini(prices, modes, brackets):
    wanted = named(*(f"{name}{one}" for name in ("single", "bulk") for one in brackets))
    assert ids_of(collect(prices, "--pair-modes", modes)) == wanted
    prices.makeini(f"[pytest]\nrepl_pair_modes = {modes}")
    assert ids_of(collect(prices)) == wanted


def test_plays_are_items_of_their_own_where_they_are_chosen_apart(prices):
    found = ids_of(collect(prices, "--pair-plays", "each", "--pair-modes", "none,eur"))
    assert found == named(
        "single", "single[eur]", *(f"bulk[{m}play={p}]" for m in ("", "eur+") for p in PLAYS)
    )
    result = prices.runpytest_inprocess(
        "stories_pricing.py::pricing.quote/bulk[play=large]", "--pair-plays", "each"
    )
    result.assert_outcomes(passed=1)


def test_every_named_play_runs_or_the_run_states_which_did_not(pytester):
    pytester.makepyfile(
        stories_a="""
        from repl_pair import check, story
        plays = {"right": [check.result_equals(1)], "wrong": [check.result_equals(2)]}
        story("a", component=lambda: 1, variants={"V": {"plays": plays}})
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED stories_a.py::a/V[[]play=wrong] - *"])
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--pair-plays", "auto")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*plays that did not run*", "stories_a.py::a/V: not run: the named plays wrong"]
    )
    assert repl_pair.run("a/V").reason == "not run: the named plays wrong"


PLAYS = ("typed", "large")


def test_a_node_id_chooses_one_item_and_one_without_brackets_all_of_its_modes(prices):
    one = prices.runpytest_inprocess("stories_pricing.py::pricing.quote/bulk[eur+dark]")
    one.assert_outcomes(passed=1)
    every = prices.runpytest_inprocess("stories_pricing.py::pricing.quote/bulk")
    every.assert_outcomes(passed=len(ALL))
    some = prices.runpytest_inprocess("-k", "bulk and eur")
    some.assert_outcomes(passed=2, deselected=10)


def test_test_functions_of_the_file_are_collected_too_and_fixtures_of_it_work(pytester):
    pytester.makepyfile(
        stories_both="""
            import pytest, repl_pair
            from repl_pair import check, story, variant

            @pytest.fixture
            def five():
                return 5

            story("a.b", component=lambda n=1: n)
            variant("a.b/One", play=[check.path_equals("result", 1)])

            def test_five(five):
                assert five == 5

            def test_wrong():
                assert [1, 2] == [1, 3]
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*At index 1 diff: 2 != 3"])


def test_a_file_that_cannot_be_imported_is_an_error_of_collection(pytester):
    pytester.makepyfile(stories_broken="import repl_pair\nrepl_pair.variant('no.story/A')")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["*ERROR collecting stories_broken.py*", "*stories_broken.py:2: *no story 'no.story'*"]
    )


def test_what_helpers_register_belongs_to_the_file_and_what_another_file_does_to_that(pytester):
    pytester.makepyfile(
        helping="""
            import repl_pair
            def register(name):
                repl_pair.story(f"made.{name}", component=lambda: 1, variants={"One": {}})
        """,
        stories_a="import stories_z\nfrom helping import register\nregister('a')",
        stories_z="from helping import register\nregister('z')\n"
        "import repl_pair\nrepl_pair.variant('made.z/Own')",
    )
    a, z = "stories_a.py::made.a/One", "stories_z.py::made.z/Own"
    assert a in ids_of(collect(pytester))
    assert ids_of(collect(pytester, "stories_z.py"))[-1] == z
    assert z in ids_of(collect(pytester))


def test_a_file_is_collected_though_a_module_of_its_name_was_imported_from_elsewhere(
    pytester, monkeypatch
):
    monkeypatch.setitem(sys.modules, "stories_a", types.ModuleType("stories_a"))
    text = "import repl_pair\nrepl_pair.story('a.b', component=lambda: 1, variants={'One': {}})"
    pytester.makepyfile(stories_a=text)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)


def test_one_id_from_two_files_is_refused_since_one_of_them_would_go_unchecked(pytester):
    text = "import repl_pair\nrepl_pair.story('a.b', component=lambda: 1, variants={'One': {}})"
    pytester.makepyfile(stories_a=text, stories_b=text)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["variant 'a.b/One': *stories_a.py:2 and *stories_b.py:2."])


MADE = "import repl_pair\nrepl_pair.story('{0}', component=lambda: 1, variants={{'One': {{}}}})\n"


@pytest.mark.parametrize(
    "settings",
    [
        {"pyproject.toml": '[tool.repl_pair]\nstories = ["shop/**/*_cases.py"]\n'},
        {"pytest.ini": "[pytest]\nrepl_pair_stories = shop/**/*_cases.py\n"},
        {"pytest.ini": "[pytest]\nrepl_pair_stories = *_cases.py\n"},
        {"pytest.ini": "[pytest]\nrepl_pair_stories = shop.deep.price_cases\n"},
    ],
)
@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_files_are_named_by_pattern_or_as_modules(pytester, settings, mode):
    folder = pytester.mkpydir("shop").joinpath("deep")
    folder.mkdir()
    folder.joinpath("__init__.py").write_text("")
    folder.joinpath("price_cases.py").write_text(MADE.format("shop.price"))
    folder.joinpath("other.py").write_text("raise SystemExit('imported')")
    for name, text in settings.items():
        pytester.path.joinpath(name).write_text(text)
    result = collect(pytester, f"--import-mode={mode}")
    assert ids_of(result) == ["shop/deep/price_cases.py::shop.price/One"]


def test_a_part_of_a_repo_that_names_its_stories_does_so_also_from_above(pytester):
    pytester.makeini("[pytest]\n")
    for name in ("a", "b"):
        part = pytester.mkdir(name)
        part.joinpath("pyproject.toml").write_text(f'[tool.repl_pair]\nstories = ["*_{name}.py"]\n')
        part.joinpath(f"price_{name}.py").write_text(MADE.format(name))
        part.joinpath(f"test_of_{name}.py").write_text("def test_it(): pass")
    assert ids_of(collect(pytester, "a")) == ["a/price_a.py::a/One", "a/test_of_a.py::test_it"]
    assert ids_of(collect(pytester, "b/price_b.py::b/One")) == ["b/price_b.py::b/One"]
    both = ids_of(collect(pytester, "a", "b"))
    assert both == ["a/test_of_a.py::test_it", "b/test_of_b.py::test_it"]


def test_a_module_is_collected_where_it_is_named_and_the_arguments_name_nothing(pytester):
    pytester.makeini("[pytest]\ntestpaths = tests\nrepl_pair_stories = shop_cases")
    pytester.makepyfile(shop_cases=MADE.format("shop.price"))
    pytester.mkdir("tests").joinpath("test_a.py").write_text("def test_a(): pass")
    assert "shop_cases.py::shop.price/One" in ids_of(collect(pytester))
    assert ids_of(collect(pytester, "tests")) == ["tests/test_a.py::test_a"]


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("pytest.ini", "[pytest]\nrepl_pair_stories = no_such_module\n", "*no module 'no_such_*"),
        ("pyproject.toml", "[tool.repl_pair]\nstories = 3\n", "*stories is a list of patterns*"),
        (
            "pyproject.toml",
            "[tool.repl_pair]\nprivat = []\n",
            "*no key 'privat'. Nearest: private.*",
        ),
        (
            "pyproject.toml",
            "[tool.repl-pair]\nstories = []\n",
            "*the name of the table is [[]tool.repl_pair]*",
        ),
        ("pyproject.toml", "[tool]\nrepl_pair = 3\n", "*[[]tool.repl_pair] is no table*"),
    ],
)
def test_settings_that_name_nothing_are_refused(pytester, name, text, shown):
    pytester.path.joinpath(name).write_text(text)
    pytester.makepyfile("def test_a(): pass")
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([shown])


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_pattern_that_fits_no_file_is_warned_of_and_an_error_for_who_wants_that(
    pytester, options
):
    pytester.makeini("[pytest]\nrepl_pair_stories = stories_*.py shop/*_cases.py")
    pytester.makepyfile(stories_pricing=PRICES, test_a="def test_a(): pass")
    text = "*repl_pair_stories: the pattern 'shop/[*]_cases.py' fits no file with stories."
    warned = pytester.runpytest_subprocess("-k", "test_a", *options)
    warned.assert_outcomes(passed=1, deselected=0 if options else 12, warnings=1)
    warned.stdout.fnmatch_lines([text])
    refused = pytester.runpytest_subprocess("-W", "error", *options)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["ERROR: " + text[1:]])
    named = pytester.runpytest_subprocess("-W", "error", "test_a.py", *options)
    named.assert_outcomes(passed=1)


def test_a_run_without_stories_imports_the_declaration_of_the_plugin_alone(pytester):
    pytester.makepyfile(
        test_modules="""
        import sys

        OURS = {"repl_pair", "repl_pair.pytest_plugin", "repl_pair.pytest_plugin.options"}

        def test_a():
            assert {name for name in sys.modules if name.startswith("repl_pair")} == OURS
        """
    )
    for options in ((), ("-n", "1")):
        pytester.runpytest_subprocess(*options).assert_outcomes(passed=1)


def test_pytest_rewrites_no_module_that_a_run_of_stories_imports(pytester):
    pytester.makepyfile(stories_pricing=PRICES)
    pytester.makeconftest(
        """
        import sys
        import pytest

        pytest.register_assert_rewrite("repl_pair.runtime")  # as for an installed wheel

        def pytest_sessionfinish():
            module = sys.modules["repl_pair.runtime.running.runner"]
            print("LOADED BY", type(module.__loader__).__name__)
        """
    )
    result = pytester.runpytest_subprocess("-s")
    result.assert_outcomes(passed=2 * len(ALL))
    assert "LOADED BY SourceFileLoader" in result.stdout.str()


@pytest.mark.parametrize("first", ["conftest.py", "a/test_first.py"])
def test_what_a_helper_registered_when_another_file_imported_it_belongs_to_the_stories(
    pytester, first
):
    pytester.makeini("[pytest]\npythonpath = .\n")
    pytester.mkdir("a")
    (pytester.path / first).write_text("import cases\n\n\ndef test_it(): pass\n")
    (pytester.path / "cases.py").write_text(
        "import repl_pair\n"
        "repl_pair.story('cases', component=lambda: 1)\n"
        "repl_pair.variant('cases/Wrong', play=[repl_pair.check.result_equals(2)])\n"
    )
    (pytester.path / "stories_cases.py").write_text("import repl_pair\nimport cases\n")
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert ran.parseoutcomes().get("failed") == 1


def test_what_a_conftest_registers_is_collected_once_with_the_first_file_below_it(pytester):
    case = (
        "import repl_pair\n"
        "repl_pair.story('{0}', component=lambda: 1)\n"
        "repl_pair.variant('{0}/A')\n"
    )
    for folder in ("a", "b"):
        file = pytester.mkdir(folder) / f"stories_{folder}.py"
        file.write_text(case.format(f"of.{folder}"))
    (pytester.path / "conftest.py").write_text("import more\n" + case.format("of.root"))
    (pytester.path / "more.py").write_text(case.format("of.more"))
    (pytester.path / "b" / "conftest.py").write_text(case.format("of.below"))
    assert sorted(ids_of(collect(pytester))) == [
        "a/stories_a.py::of.a/A",
        "a/stories_a.py::of.more/A",
        "a/stories_a.py::of.root/A",
        "b/stories_b.py::of.b/A",
        "b/stories_b.py::of.below/A",
    ]
