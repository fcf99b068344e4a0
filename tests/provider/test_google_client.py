"""Google's client is imported without reading what is installed."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from importlib import metadata
read, reads = metadata.packages_distributions, []
metadata.packages_distributions = lambda: reads.append(1) or read()
from infra.provider import google_client
google_client.quickly()
google_client.quickly()
import googleapiclient.discovery
assert not reads
assert metadata.packages_distributions() == read()
"""


def test_nothing_is_read_and_nothing_said() -> None:
    """Afterwards all is as it was: who asks what is installed is answered."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
