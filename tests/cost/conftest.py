"""What every test of this folder counts with."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `costing` beside this file: test folders are no packages
