"""The provider in this process, and an echo of Google before it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `echo` beside this file: test folders are no packages
