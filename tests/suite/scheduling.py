"""Which worker runs a test: one each file; in the first part, one all files of the browser."""

from parts import is_first_part
from xdist.scheduler import LoadFileScheduling


class Scheduling(LoadFileScheduling):
    """Starts a browser and JupyterLab once, where each file has one test of them."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        is_shared = is_first_part(self.config) and file.startswith("tests/browser/")
        return "tests/browser" if is_shared else file
