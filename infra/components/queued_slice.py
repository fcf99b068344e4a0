"""A TPU slice by Google's queue: the request waits until there is room for all of its nodes, and is asked for again when they are lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import pulumi
from pydantic import Field

from infra import accelform, gcp, names
from infra.components.network import Network
from infra.components.placement import Placement
from infra.errors import Problem
from infra.spec import Spec, WholeNumber

if TYPE_CHECKING:
    from infra.components.tpu_slice import TpuSliceSpec

TIERS = {"on-demand": "standard", "spot": "spot", "reservation": "reservation"}
"""Way of buying -> tier. Flex-start is none of the API's version 2. Source: discovery document tpu v2, revision 20261001."""
MINUTES_MAX = 365 * 24 * 60


class QueuedSpec(Spec):
    """How a slice waits in the queue of the Cloud TPU API, and how many there are of it."""

    nodes: Annotated[WholeNumber, Field(ge=1, le=256)] = 1
    """Slices of the one request, as one Multislice group: all of them stand, or none."""
    valid_until_minutes: Annotated[WholeNumber, Field(ge=1, le=MINUTES_MAX)] | None = None
    """Minutes after which the request ends unfulfilled. (default: it waits without end)"""
    valid_after_minutes: Annotated[WholeNumber, Field(ge=1, le=MINUTES_MAX)] | None = None
    """Minutes before which nothing is made."""
    wait_minutes: Annotated[WholeNumber, Field(ge=0, le=MINUTES_MAX)] = 60
    """Minutes that a run waits for the nodes; the request stays in the queue, and the next run goes on. 0: it waits for the queue only."""
    retries: Annotated[WholeNumber, Field(ge=0, le=100)] = 2
    """How often a run asks again after the request failed or was suspended."""


def check_queued(spec: QueuedSpec | None, way: str) -> Iterator[Problem]:
    """What is wrong with it beside the rest of the slice."""
    if spec is None:
        return
    if way != "tpu-api":
        yield Problem("queued", "is for the Cloud TPU API: Compute Engine has no such queue", fix="set `way: tpu-api`, or remove it")
    after, until = spec.valid_after_minutes, spec.valid_until_minutes
    if after is not None and until is not None and until <= after:
        yield Problem("queued.valid_until_minutes", f"{until} is not after valid_after_minutes, {after}")


class QueuedSlice(pulumi.ComponentResource):
    """The request of one slice, or of several of its kind."""

    request: accelform.QueuedResource

    def __init__(
        self,
        name: str,
        spec: TpuSliceSpec,
        queued: QueuedSpec,
        *,
        placement: Placement,
        network: Network,
        account: gcp.serviceaccount.Account,
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("accelform:queued_slice:QueuedSlice", name, None, pulumi.ResourceOptions(parent=opts.parent))
        id = names.resource(placement.stack, "tpu", name)
        node = {
            "acceleratorType": spec.accelerator_type,
            "runtimeVersion": spec.shape.runtime_version,
            "networkConfig": {"subnetwork": network.subnetwork.id, "enableExternalIps": False},
            "serviceAccount": {"email": account.email},
            "shieldedInstanceConfig": {"enableSecureBoot": False},
            "metadata": {"enable-oslogin": "TRUE"},
            "labels": placement.labels,
        }
        several = queued.nodes > 1
        self.request = accelform.QueuedResource(
            name,
            project=placement.project,
            zone=spec.zone,
            queued_resource_id=id,
            tier=TIERS[spec.provisioning],
            nodes=None if several else {id: node},
            multislice={"node": node, "nodeCount": queued.nodes, "nodeIdPrefix": names.shortened(id, 59)} if several else None,
            reservation_name=_reservation(spec, placement),
            valid_until=_seconds(queued.valid_until_minutes),
            valid_after=_seconds(queued.valid_after_minutes),
            wait_for="active" if queued.wait_minutes else "accepted",
            retries=queued.retries,
            opts=pulumi.ResourceOptions.merge(
                opts,
                pulumi.ResourceOptions(
                    parent=self,
                    custom_timeouts=pulumi.CustomTimeouts(create=_timeout(queued), update=_timeout(queued)),
                ),
            ),
        )
        self.register_outputs({"request": self.request.id, "state": self.request.state})


def _seconds(minutes: int | None) -> str | None:
    return None if minutes is None else f"{minutes * 60}s"


def _timeout(queued: QueuedSpec) -> str:
    """Of a run that waits for the queue only, long enough for it."""
    return f"{queued.wait_minutes or 10}m"


def _reservation(spec: TpuSliceSpec, placement: Placement) -> str | None:
    """A reservation as the Cloud TPU API writes it. Source: `reservationName` in the discovery document."""
    if not spec.reservation:
        return None
    words = spec.reservation.split("/")
    project = words[1] if len(words) > 1 else placement.project
    return f"projects/{project}/locations/{spec.zone}/reservations/{words[-1]}"
