"""What the import of the runtime costs in a kernel: time, memory, other people's modules."""

import json
import tempfile
from statistics import median

from measure import Row, make_environment, row, run, scaled

from repl_pair.bridge.scratch_kernel import scratch_kernel

KERNELS = 7
MEASURE = """
import gc, json, os, sys, time
sys.pycache_prefix, sys.dont_write_bytecode = {prefix!r}, False
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
gc.collect()
before, memory, start = set(sys.modules), resident(), time.perf_counter()
import {module}
took = time.perf_counter() - start
new = set(sys.modules) - before
roots = {{name.partition(".")[0] for name in new}}
package = {module!r}.partition(".")[0]
foreign = roots - set(sys.stdlib_module_names) - {{package}}
own = [name for name in new if name.partition(".")[0] == package]
memory = resident() - memory
print(json.dumps({{"ms": took * 1e3, "mb": memory, "foreign": len(foreign), "own": len(own)}}))
"""
RUNTIME = "repl_pair.runtime.kernel.attach"
PYDANTIC = "pydantic.main"


def figures() -> list[Row]:
    with tempfile.TemporaryDirectory() as prefix:
        taken = [
            {module: measure(module, prefix) for module in (RUNTIME, PYDANTIC)}
            # The first ones fill the bytecode cache.
            for _ in range(scaled(KERNELS + 1, 1))
        ][-KERNELS:]
    middle = {
        module: {slot: median(one[module][slot] for one in taken) for slot in ("ms", "mb")}
        for module in (RUNTIME, PYDANTIC)
    }
    measured, base = middle[RUNTIME], middle[PYDANTIC]
    foreign, own = (
        {module: taken[-1][module][slot] for module in (RUNTIME, PYDANTIC)}
        for slot in ("foreign", "own")
    )
    import_of = {"baseline_what": "from pydantic import BaseModel"}
    return [
        row(
            "import of the runtime in a kernel",
            measured["ms"],
            "ms",
            baseline=base["ms"],
            budget="<= 15",
            **import_of,
        ),
        row(
            "memory of that import",
            measured["mb"],
            "MB",
            baseline=base["mb"],
            budget="<= 3",
            **import_of,
        ),
        row(
            "modules of the package that it imports",
            own[RUNTIME],
            "modules",
            baseline=own[PYDANTIC],
            budget="<= 60",
            **import_of,
        ),
        row(
            "packages of others that it imports",
            foreign[RUNTIME],
            "packages",
            baseline=foreign[PYDANTIC],
            budget="<= 0",
            **import_of,
        ),
    ]


def measure(module: str, prefix: str) -> dict[str, float]:
    """Import a module in a new kernel."""
    with scratch_kernel(environment=make_environment()) as kernel:
        return json.loads(run(kernel, MEASURE.format(module=module, prefix=prefix)))
