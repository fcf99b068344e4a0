"""Starts the accelform provider: `Pulumi.yaml` names this folder."""

import sys

sys.path.pop(0)  # this folder: what is imported is the installed package

from infra.provider import start

start.lightly()

from infra.provider.accelform import Accelform  # noqa: E402 - lightly
from infra.provider.server import serve  # noqa: E402 - lightly

serve(Accelform())
