import subprocess
import sys

import repl_pair


def test_the_curated_face_is_this():
    assert sorted(repl_pair.__all__) == [
        "Handle",
        "ReplPairError",
        "RunRecord",
        "Sensitive",
        "VariantFailed",
        "Verdict",
        "__version__",
        "arun",
        "assertion",
        "check",
        "global_args",
        "load_ipython_extension",
        "loader",
        "mode",
        "op",
        "ref",
        "registry",
        "run",
        "snapshot_identity",
        "story",
        "stub",
        "tag",
        "unload_ipython_extension",
        "variant",
    ]
    assert all(hasattr(repl_pair, name) for name in repl_pair.__all__)


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
