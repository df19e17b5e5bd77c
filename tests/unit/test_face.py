import subprocess
import sys

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
        "Handle",
        "ReplPairError",
        "RunRecord",
        "VariantFailed",
        "Verdict",
        "__version__",
        "accept_snapshot",
        "debug",
        "derived",
        "docs",
        "explain",
        "fixture",
        "global_args",
        "global_decorators",
        "handler",
        "last_sweep",
        "live",
        "load_ipython_extension",
        "panel",
        "parse_share_url",
        "pause",
        "process_pool",
        "record",
        "registry",
        "resume",
        "run_variants",
        "share",
        "snapshot_identity",
        "stub",
        "to_data",
        "undo_agent",
        "unload_ipython_extension",
        "watch",
        "workspace",
        "write_review",
    ]


def test_all_that_is_named_is_there_and_completed():
    names = [*repl_pair.__all__, *repl_pair.ATTRIBUTES]
    assert [name for name in names if not hasattr(repl_pair, name)] == []
    assert set(names) <= set(dir(repl_pair))


def test_the_runtime_brings_nothing_but_the_standard_library():
    code = (
        "import sys; before = set(sys.modules); import repl_pair.runtime;"
        "print(*{m.partition('.')[0] for m in set(sys.modules) - before})"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    brought = set(out) - {"repl_pair"} - sys.stdlib_module_names
    assert brought == set()
