"""The rules' fixtures, for every test of this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `cases` beside this file: test folders are no packages
