import subprocess
import sys

import pytest

import repl_pair


def test_the_curated_face_is_this():
    assert sorted(repl_pair.__all__) == [
        "Sensitive",
        "arun",
        "assertion",
        "check",
        "decorator",
        "effect",
        "loader",
        "mode",
        "ref",
        "run",
        "show",
        "step",
        "story",
        "tag",
        "variant",
    ]


def test_what_else_the_package_offers_is_this():
    assert sorted(repl_pair.ATTRIBUTES) == [
        "Call",
        "Handle",
        "ReplPairError",
        "RunRecord",
        "VariantFailed",
        "Verdict",
        "__version__",
        "accept_snapshot",
        "debug",
        "derive",
        "derived",
        "docs",
        "embed",
        "explain",
        "fixture",
        "function",
        "global_args",
        "global_decorators",
        "handler",
        "last_sweep",
        "live",
        "load_ipython_extension",
        "mapped",
        "panel",
        "parse_share_url",
        "pause",
        "process_pool",
        "project",
        "record",
        "registry",
        "resume",
        "run_variants",
        "serializer",
        "share",
        "snapshot_identity",
        "stub",
        "surface",
        "to_data",
        "undo_agent",
        "unload_ipython_extension",
        "variants",
        "watch",
        "workspace",
        "write_accepted",
    ]


def test_all_that_is_named_is_there_and_completed(monkeypatch):
    names = [*repl_pair.__all__, *repl_pair.ATTRIBUTES]
    assert [name for name in names if not hasattr(repl_pair, name)] == []
    monkeypatch.setattr(sys, "ps1", "In : ", raising=False)
    assert set(names) <= set(dir(repl_pair))


def test_a_tool_that_reads_all_attributes_of_all_modules_imports_nothing_more():
    code = "import sys, repl_pair; [getattr(repl_pair, name) for name in dir(repl_pair)]; "
    code += "print([name for name in sys.modules if name.startswith('repl_pair')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "['repl_pair']\n"


def imported_by(module: str) -> list[str]:
    """The modules that a new process imports for one module."""
    code = (
        f"import sys; before = set(sys.modules); import {module};print(*set(sys.modules) - before)"
    )
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()


def test_the_runtime_brings_nothing_but_the_standard_library():
    out = {name.partition(".")[0] for name in imported_by("repl_pair.runtime")}
    brought = out - {"repl_pair"} - sys.stdlib_module_names
    assert brought == set()


def test_attaching_imports_at_most_sixty_modules_of_the_package():
    own = [m for m in imported_by("repl_pair.runtime.kernel.attach") if m.startswith("repl_pair")]
    assert len(own) <= 60, sorted(own)


COMPILED = """
import re, sys
own, files = re._compiler.compile, []
def note(*given):
    files.append(sys._getframe(3).f_code.co_filename)
    return own(*given)
re._compiler.compile = note
import repl_pair.runtime.kernel.attach
print(*files)
"""


def test_attaching_compiles_at_most_twelve_patterns():
    files = subprocess.run(
        [sys.executable, "-c", COMPILED], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    own = [file for file in files if "repl_pair" in file]
    assert 0 < len(own) <= 12, own


def test_importing_the_package_imports_no_more_than_it_takes_to_register():
    own = [m for m in imported_by("repl_pair") if m.startswith("repl_pair")]
    assert len(own) <= 20, sorted(own)


@pytest.mark.parametrize(("module", "near"), [("check", "path_equals"), ("step", "dispatch")])
def test_the_builders_are_all_that_their_module_shows(module, near):
    builders = getattr(repl_pair, module)
    assert near in dir(builders)
    assert all(callable(getattr(builders, name)) for name in dir(builders))
    with pytest.raises(AttributeError, match=f"no '{near[:-1]}'. Nearest: {near}"):
        getattr(builders, near[:-1])
