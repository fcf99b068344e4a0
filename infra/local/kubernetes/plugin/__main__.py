"""Starts the stand-in Kubernetes provider. This folder stands in PULUMI_HOME/plugins as `resource-kubernetes-v<version>`."""

import sys

sys.path.pop(0)  # this folder: what is imported is the installed package

from infra.provider import start

start.lightly()

from infra.local.kubernetes.provider import Kubernetes  # noqa: E402 - lightly
from infra.provider.server import serve  # noqa: E402 - lightly

serve(Kubernetes())
