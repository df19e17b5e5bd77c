"""A project with notebooks, and pytest run in it as its person runs it."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import nbformat
from lean_pytest import lean
from nbclient import NotebookClient

DEFINE = """\
import repl_pair as rp
from shop import total

rp.tag("quick")
rp.story("shop.total", component=total)
rp.variant("shop.total/One", args={"prices": [1]}, play=[rp.check.path_equals("result", 1)])
rp.variant(
    "shop.total/Two",
    args={"prices": [1, 2]},
    tags=["quick"],
    play=[rp.check.path_equals("result", 3)],
)
None"""
SHOP = "def total(prices):\n    return sum(prices)\n"
BROKEN = "def total(prices):\n    return sum(prices[:1])\n"


@dataclass
class Ran:
    """One run of pytest: what it printed, and what its JUnit file says."""

    code: int
    out: str
    cases: dict[str, ElementTree.Element] = field(default_factory=dict)

    @property
    def outcomes(self):
        return {name: _outcome(case) for name, case in self.cases.items()}

    def failure(self, name):
        return self.cases[name].find("failure").text

    def properties(self, name):
        found = self.cases[name].findall("properties/property")
        return {one.get("name"): one.get("value") for one in found}


@dataclass
class Project:
    """A folder with a module `shop` and notebooks."""

    path: Path

    def write(self, name, *cells, execute=True, tags=None, outputs=None):
        """Write a notebook of code cells, executed as a person's would be; gives its path.

        `outputs` are stored without executing it: a text for each cell.
        """
        made = [nbformat.v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(cells)]
        notebook = nbformat.v4.new_notebook(cells=made)
        for at, given in (tags or {}).items():
            notebook.cells[at].metadata["tags"] = [given]
        for at, text in enumerate(outputs or ()):
            data = {"text/plain": text}
            shown = nbformat.v4.new_output("execute_result", data, execution_count=at + 1)
            notebook.cells[at].update(outputs=[shown], execution_count=at + 1)
        if execute and outputs is None:
            self.execute(notebook)
        nbformat.write(notebook, self.path / name)
        return self.path / name

    def execute(self, notebook):
        where = {"metadata": {"path": str(self.path)}}
        for attempt in range(3):
            how = {"allow_errors": True, "record_timing": False, "timeout": 60}
            client = NotebookClient(notebook, resources=where, **how)
            client.create_kernel_manager().kernel_spec_manager.kernel_dirs = []
            try:
                client.execute(env=self.environ)
            except RuntimeError:  # another process took a port of the kernel's
                if attempt == 2:
                    raise
            else:
                return

    @property
    def environ(self):
        own = {name: str(self.path / ".own" / name) for name in _DIRS}
        given = {**os.environ, **own, "PYTHONDONTWRITEBYTECODE": "1"}
        given.pop("PYTEST_CURRENT_TEST", None)  # kernels in tests do not catch processes
        given.pop("CI", None)  # pytest's summary has longer lines there
        return given

    def pytest(self, *arguments, **more):
        """Run pytest there with no more plugins than it needs."""
        return self.pytest_as_installed(*lean(arguments), *arguments, **more)

    def pytest_as_installed(self, *arguments, **more):
        """Run pytest there; a kernel that dies at its start is started once more."""
        ran = self._pytest(arguments, more)
        return self._pytest(arguments, more) if "Kernel died before" in ran.out else ran

    def _pytest(self, arguments, more):
        junit = self.path / "junit.xml"
        junit.unlink(missing_ok=True)
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "--color=no", f"--junitxml={junit}", *arguments],
            cwd=self.path,
            env={**self.environ, **more},
            capture_output=True,
            text=True,
            timeout=500,
        )
        return Ran(code=ran.returncode, out=ran.stdout + ran.stderr, cases=_cases(junit))


_DIRS = ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")


def _cases(junit):
    if not junit.exists():
        return {}
    found = ElementTree.parse(junit).getroot().iter("testcase")
    return {case.get("name"): case for case in found}


def _outcome(case):
    marks = [one.tag for one in case if one.tag in ("failure", "error", "skipped")]
    return marks[0] if marks else "passed"


def new_project(path):
    (path / ".own").mkdir()
    (path / "shop.py").write_text(SHOP)
    (path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    return Project(path)
