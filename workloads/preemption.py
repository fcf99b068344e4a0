"""
The notice that this machine will be taken away: SIGTERM, some seconds before.

Spot machines of Compute Engine give 30 seconds, of which a Pod of GKE has 15.
Source: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/spot-vms (read on 2026-11-30).
"""

from __future__ import annotations

import signal
from types import FrameType


class Notice:
    """Listens for SIGTERM. With several hosts, all learn of a notice to one of them, and at the same step."""

    def __init__(self, hosts: int) -> None:
        self._hosts = hosts
        self._given = False
        if hosts == 1:
            signal.signal(signal.SIGTERM, self._note)
        # With several, JAX's preemption service has the signal: it was connected with the hosts.

    def at(self, step: int) -> bool:
        """Whether to save and end after *step*. Every host asks at every step."""
        if self._hosts == 1:
            return self._given
        from jax.experimental import multihost_utils

        return bool(multihost_utils.reached_preemption_sync_point(step))

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._given = True
