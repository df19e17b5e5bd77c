"""What every program of Jupyter reads that a test starts."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from ports import use_own_ports

use_own_ports()
