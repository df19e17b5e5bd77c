"""`lint`: what does not fit together is reported with its file, line and code, and nothing runs."""

import json

import pytest

HEAD = "import repl_pair\nfrom repl_pair import check\n\n\ndef add(a: int = 1):\n    return a\n\n\n"
BELL = """
import pytest

class Bell:
    def ring(self, loud=1):
        self.phase = "rung"
        return 1
repl_pair.story("bell", component=Bell)
repl_pair.handler("shake")(lambda: 2)
repl_pair.variant("bell/Rung", events=[["ring", {}]], play=[["dispatch", ["shake", {}]]])
repl_pair.variant("bell/Called", play=[["call", "ring"], check.path_equals("last", 1)])

repl_pair.decorator("rung", kind="frame_setup", init=[["ring"]])
repl_pair.variant("bell/Setup", decorators=["rung"], play=[check.state_is("phase", "rung")])
repl_pair.variant("bell/Night", args={"loud": 1}, args_to_events={"loud": "ring"})
repl_pair.mode("night", args={"loud": 2})

async def order(a: int = 1):
    return await repl_pair.effect.later("shop/send", a=a)

@repl_pair.decorator("gives")
def gives(component):
    return lambda: component(1)

@pytest.fixture
def number():
    return 1

stub = lambda name: ["force_fx_stub", {"effect": name, "response": 1}]
repl_pair.mode("dear", args={"a": 2})
repl_pair.story("order", component=order)
repl_pair.variant("order/Sent", decorators=[stub("shop/send"), stub("json.loads")])
repl_pair.variant("order/Later", tags=["xfail"])
repl_pair.variant("order/Fixed", args={"a": repl_pair.fixture("number")})
repl_pair.story("needs", component=lambda a: a, variants={"Given": {"decorators": ["gives"]}})
"""
SOUND = 'repl_pair.story("shop.add", component=add)\nrepl_pair.variant("shop.add/One")\n'
FAULTS = {
    **{
        f"repl_pair.{kind}('gone'{more}); repl_pair.variant('shop.add/Two', {slot}); "
        f"repl_pair.registry.unregister('{kind}', 'gone')": f"unknown-{kind}"
        for kind, more, slot in [
            ("tag", "", "tags=['gone']"),
            ("mode", ", args={}", "modes=['gone']"),
            ("decorator", ", kind='fx_override', response=1, effect='x'", "decorators=['gone']"),
        ]
    },
    "repl_pair.loader('gone')(add); "
    "repl_pair.variant('shop.add/Two', args={'a': repl_pair.ref('gone')}); "
    "repl_pair.registry.unregister('loader', 'gone')": "unknown-loader",
    "repl_pair.assertion('gone')(lambda settled: True); "
    "repl_pair.variant('shop.add/Two', play=[['gone']]); "
    "repl_pair.registry.unregister('assertion', 'gone')": "unknown-step",
    "repl_pair.assertion('odd')(lambda settled: True); "
    "repl_pair.variant('shop.add/Two', play=[['odd']]); "
    "repl_pair.registry.unregister('assertion', 'odd'); "
    "repl_pair.assertion('odd')(lambda settled, word: True)": "misused-assertion",
    "repl_pair.assertion('odd')(lambda settled, name, *, tolerance: True); "
    "repl_pair.variant('shop.add/Two', play=[['odd', '', {'tolerance': 5}]]); "
    "repl_pair.registry.unregister('assertion', 'odd'); "
    "from repl_pair.runtime.snapshots.assertions import matches_snapshot; "
    "repl_pair.assertion('odd')(matches_snapshot)": "misused-assertion",
    "repl_pair.story('shop.none', component=add)": "story-without-variants",
    "repl_pair.panel('notes', title='Notes', placement='modal', render='nots')": (
        "unreachable-panel"
    ),
    "repl_pair.variant('shop.add/Two', extends='shop.add/One')\n"
    "repl_pair.registry.unregister('variant', 'shop.add/One')": "dead-extends",
    "repl_pair.variant('shop.add/Two', args={'a': 2})\ndef add(b: int = 1): ...": "contract",
    "repl_pair.story('bell', component=type('Bell', (), {})); "
    "repl_pair.variant('bell/Rung', events=[['ring', {}]])": "unknown-handler",
    "repl_pair.story('shop.need', component=lambda a: a, variants={'None': ({},)})": "contract",
    **{
        f"repl_pair.variant('shop.add/Two', play=[{line}])": "misused-assertion"
        for line in (
            "check.path_equals('reslut.total', 1)",
            "check.contains('outputs[0]', 1)",
            "check.raises('ValueError', match='(')",
            "check.raises('ValueError', match='a{99999999999}')",
            "check.path_equals('result[', 1)",
        )
    },
    "repl_pair.story('bell', component=type('Bell', (), {'ring': len})); "
    "repl_pair.variant('bell/Rung', play=[['call', 'rign']])": "unknown-method",
    **{
        "repl_pair.variant('shop.add/Two', decorators=["
        f"['force_fx_stub', {{'effect': {name!r}, 'response': 1}}]])": "unknown-effect"
        for name in (
            "shop/send",
            "json.lods",
            "no_module_of_this_name.send",
            "breaks.send",
            "exits.f",
        )
    },
    "repl_pair.story('of.builtin', component=abs, variants={'One': {'args': {'x': 1}}}); "
    "repl_pair.variant('shop.add/Two', decorators=["
    "['force_fx_stub', {'effect': 'shop/send', 'response': 1}]])": "unknown-effect",
    "repl_pair.mode('fast', args={'sped': 2})": "unfit-mode",
    "repl_pair.variant('shop.add/Two', args={'a': repl_pair.fixture('tmp_pth')})": (
        "unknown-fixture"
    ),
    "1 / 0": "does-not-load",
}


@pytest.fixture
def stories(project):
    file = project / "stories_shop.py"
    (project / "breaks.py").write_text("raise RuntimeError")
    (project / "exits.py").write_text("raise SystemExit")

    def write(more):
        file.write_text(HEAD + SOUND + more + "\n")

    return write


def test_what_fits_together_exits_0(stories, pair):
    stories(BELL)
    result = pair("lint")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "nothing found in 1 file\n"


@pytest.mark.parametrize(("more", "code"), FAULTS.items(), ids=list(FAULTS.values()))
def test_what_does_not_is_reported_with_file_line_code_and_what_to_do(stories, pair, more, code):
    stories(more)
    result = pair("lint")
    assert result.exit_code == 1, result.stdout
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"stories_shop.py:11: {code}: "), result.stdout
    assert lines[1].startswith("    ")
    assert len(lines) == 2, result.stdout


def test_a_name_that_a_mark_of_the_variant_gives_is_a_fixture(stories, pair):
    stories(
        "import pytest\n"
        "repl_pair.variant('shop.add/Both', args={'a': repl_pair.fixture('x1')}, "
        "marks=[pytest.mark.parametrize('x1, y1', [(5, 6)])])\n"
        "repl_pair.variant('shop.add/Three', args={'a': repl_pair.fixture('z1')}, "
        "marks=[pytest.mark.parametrize(['z1'], [[7]])])\n"
    )
    result = pair("lint")
    assert result.exit_code == 0, result.stdout


def test_an_id_of_two_files_is_reported_at_the_second(stories, project, pair):
    stories("")
    (project / "stories_twice.py").write_text(HEAD + SOUND)
    (found,) = json.loads(pair("lint", "--json").stdout)["result"]["items"][:1]
    assert (found["code"], found["line"]) == ("duplicate-id", 9)
    assert found["file"].endswith("stories_twice.py")
    assert "stories_shop.py:9" in found["what"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.repl_pair]\nstories = [\n"stories_*.py",\n"*_case.py"]'),
        ("pytest.ini", "[pytest]\n\nrepl_pair_stories =\n  stories_*.py *_case.py"),
    ],
)
def test_a_pattern_that_fits_no_file_is_reported_where_it_stands(
    stories, project, pair, name, text
):
    stories("")
    (project / name).write_text(text)
    result = pair("lint")
    assert (result.exit_code, result.stderr) == (1, "1 found in 1 file\n")
    assert result.stdout.startswith(f"{name}:4: unfit-pattern: ")
    assert "'*_case.py' fits no file" in result.stdout


def test_nothing_runs_and_a_project_without_stories_is_a_usage_error(project, pair):
    assert pair("lint").exit_code == 0
    assert not (project / "ran.txt").exists()
    (project / "stories_shop.py").unlink()
    refused = pair("lint")
    assert refused.exit_code == 2
    assert "No story file matches" in refused.stderr


def test_a_fixture_is_known_where_pytest_finds_it_whatever_colours_are_forced(
    project, pair, monkeypatch
):
    monkeypatch.setenv("FORCE_COLOR", "1")
    fixture = "import pytest\n@pytest.fixture\ndef {}(): return 1\n"
    uses = "repl_pair.variant('shop.{1}/Of{0}', args={{'a': repl_pair.fixture('{0}')}})\n"
    (project / "below").mkdir()
    (project / "conftest.py").write_text(fixture.format("_kept"))
    (project / "below" / "conftest.py").write_text(fixture.format("deep"))
    for folder, story, names in (
        (project, "add", ("_kept", "own", "deep")),
        (project / "below", "low", ("_kept", "deep", "own")),
    ):
        text = HEAD + f"repl_pair.story('shop.{story}', component=add)\n"
        text += fixture.format("own") if story == "add" else ""
        text += "".join(uses.format(name, story) for name in names)
        (folder / f"stories_{story}.py").write_text(text)
    (project / "stories_shop.py").unlink()
    found = json.loads(pair("lint", "--json").stdout)["result"]["items"]
    assert [(f["code"], f["what"].split(":")[0]) for f in found] == [
        ("unknown-fixture", "variant shop.low/Ofown"),
        ("unknown-fixture", "variant shop.add/Ofdeep"),
    ]
    monkeypatch.chdir(project / "below")
    found = json.loads(pair("lint", "--json").stdout)["result"]["items"]
    below = [f["what"].split(":")[0] for f in found if f["file"].endswith("stories_low.py")]
    assert below == ["variant shop.low/Ofown"]


def test_fixtures_that_pytest_cannot_list_are_a_fault(stories, project, pair):
    (project / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    stories("repl_pair.variant('shop.add/Two', args={'a': repl_pair.fixture('tmp_path')})")
    result = pair("lint")
    assert result.exit_code == 1
    assert "unchecked-fixtures: pytest does not list the fixtures: " in result.stdout
    assert "--no-such-option" in result.stdout
