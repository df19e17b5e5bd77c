"""The demo, as the newcomer runs it."""

import json
import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

from repl_pair.demo import program, steps
from repl_pair.demo.program import OPENING
from repl_pair.demo.stage import expect, find_example, forms_of, read_cells, read_secret

ROOT = Path(__file__).parents[2]


def test_the_demo_shows_every_step_and_ends_well_its_verdict_alone_on_stdout(shell):
    shown = shell("demo", "--json")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert json.loads(shown.stdout) == {
        "ok": True,
        "result": {"status": "pass", "total": len(steps.STEPS) + 1},
    }
    for number, title in enumerate([OPENING, *steps.STEPS]):
        assert f"\n{number:2}  {title}\n" in shown.stderr
    assert f"All {len(steps.STEPS) + 1} steps are as they should be" in shown.stderr
    secret = read_secret(find_example() / "stories_pricing.py")
    assert not [form for form, text in forms_of(secret).items() if text in shown.stderr]
    assert "not listed by server" not in shown.stderr


def test_the_demo_shows_its_steps_on_stdout_where_no_json_is_asked_for(monkeypatch, pair):
    title, play = next(iter(steps.STEPS.items()))
    monkeypatch.setattr(program, "STEPS", {title: play})
    shown = pair("demo")
    assert (shown.exit_code, shown.stderr) == (0, "")
    printed = [line for line in shown.stdout.splitlines() if line and not line.startswith("   ")]
    assert printed[:2] == [f" 0  {OPENING}", f" 1  {title}"]
    assert printed[2].startswith("All ")


def test_a_step_that_is_not_what_it_should_be_is_named_and_ends_the_demo(monkeypatch, capsys):
    async def goes_wrong(stage):
        expect(False, "two and two are five")

    monkeypatch.setattr(program, "STEPS", {"Sums": goes_wrong, **steps.STEPS})
    assert program.show() == 1
    printed = capsys.readouterr()
    assert (
        "Step 1 (Sums) is not what it should be: expected that two and two are five" in printed.err
    )
    assert not any(title in printed.out for title in steps.STEPS)


def test_a_demo_that_a_signal_ends_leaves_nothing_behind(tmp_path):
    demo = subprocess.Popen(
        [sys.executable, "-u", "-m", "repl_pair", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
    )
    with demo:
        begun = next(line for line in demo.stdout if line.startswith(" 1  "))
        assert list(tmp_path.iterdir()), begun
        demo.terminate()
        demo.stdout.read()
    assert demo.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_the_cells_of_a_file_stand_between_its_marks(tmp_path):
    file = tmp_path / "stories_x.py"
    file.write_text('"""Doc."""\n\n# %% One\nx = 1\n\n# %%\ny = 2\n')
    assert read_cells(file) == [("One", "x = 1"), ("", "y = 2")]


def test_the_forms_of_a_secret_are_found_wherever_it_is_encoded():
    secret = "pk-live-8f3aQz71LmXw20Td"
    forms = forms_of(secret)
    for lead in ("", "a", "ab", "abc", "abcd"):
        encoded = b64encode(f"{lead}{secret}{lead}".encode()).decode()
        assert any(form in encoded for form in forms.values()), lead
