"""The Kubernetes provider in this process, and a cluster, or none, before it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `talk` beside this file: test folders are no packages
