"""Which worker runs a test: one each file; in the first part, one all files of the browser."""

from parts import is_first_part
from xdist.scheduler import LoadFileScheduling


class Scheduling(LoadFileScheduling):
    """Starts a browser and JupyterLab once, where each file has one test of them."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        is_shared = is_first_part(self.config) and file.startswith("tests/browser/")
        return "tests/browser" if is_shared else file

    def remove_node(self, node) -> str | None:
        """Return the test in which a worker ended; without this the next worker runs it again.

        A test that always hangs would end one worker after the other, and the run never.
        """
        units = self.assigned_work[node].values()
        waiting = ((unit, test) for unit in units for test, is_done in unit.items() if not is_done)
        unit, crashed = next(waiting, ({}, None))
        if crashed is not None:
            unit[crashed] = True
        super().remove_node(node)
        return crashed
