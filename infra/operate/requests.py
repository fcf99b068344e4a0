"""
Requests in the queue of the Cloud TPU API, as they stand: which of them nothing comes of any more.

Google puts none back into the queue: one that is suspended or failed stays, and counts against the quota, until it is deleted, and so
does one whose time to wait is over. Sources: https://cloud.google.com/tpu/docs/queued-resources, read 2026-11; discovery document tpu v2.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.catalog import tpu
from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds
from infra.operate.google import Google as Reader
from infra.provider.google import Google
from infra.provider.holds import seconds
from infra.provider.queue import API, ENDED, QUEUES, WAITING, Queue, state_of

CHECK = "requests in the queue"


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """One queued resource."""

    name: str
    """`projects/P/locations/Z/queuedResources/Q`."""
    state: str
    """Google's word; a new one of theirs is shown as it is."""
    age_seconds: float | None
    """Since it was made; None where it is not told."""
    chips: int | None
    """Of all its nodes; None where a node's type is not in the catalogue."""
    dead: str
    """Why nothing comes of it any more; empty while something may."""
    node_ids: tuple[str, ...] = ()

    @property
    def zone(self) -> str:
        return self.name.split("/")[3]

    @property
    def id(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def age(self) -> str:
        """`3 d`, `5 h` or `12 min`."""
        if self.age_seconds is None:
            return "unknown"
        units = ((86400, "d"), (3600, "h"), (60, "min"))
        seconds, unit = next((one for one in units if self.age_seconds >= one[0]), units[-1])
        return f"{max(0, int(self.age_seconds // seconds))} {unit}"

    def shown(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "state": self.state,
            "age_seconds": None if self.age_seconds is None else int(self.age_seconds),
            "chips": self.chips,
            "dead": self.dead,
        }


def read(body: Mapping[str, Any], now: float) -> QueuedRequest:
    """One queued resource as Google answers it, at that moment in seconds since 1970."""
    state = state_of(body)
    made, until = (
        seconds(text) if text else None for text in (body.get("createTime"), body.get("queueingPolicy", {}).get("validUntilTime"))
    )
    dead = ""
    if state in ENDED:
        dead = f"{state}: Google does not ask again"
    elif state in WAITING and until is not None and until <= now:
        dead = f"expired: it was to wait until {body['queueingPolicy']['validUntilTime']}"
    specs = body.get("tpu", {}).get("nodeSpec", [])
    every = [_chips(spec) for spec in specs]
    chips = sum(one for one in every if one is not None) if every and None not in every else None
    age = None if made is None else max(0.0, now - made)
    return QueuedRequest(str(body["name"]), state, age, chips, dead, tuple(_ids(body["name"], specs)))


def listed(google: Google, project: str, now: float) -> list[QueuedRequest]:
    """Every request of a project, in all zones: the dead ones first, the oldest first among them."""
    bodies = google.pages(API, f"{QUEUES}.list", "queuedResources", parent=f"projects/{project}/locations/-")
    return sorted((read(body, now) for body in bodies), key=lambda one: (not one.dead, -(one.age_seconds or 0.0), one.name))


def remove(google: Google, request: QueuedRequest) -> None:
    """Takes a request away with the nodes that it left, and waits until they are gone. One that is gone already is well."""
    Queue(google, request.name.rpartition("/queuedResources/")[0], request.id, request.node_ids, None, lambda _: None).remove()


def dead_requests(google: Reader, needs: CloudNeeds) -> Iterator[Found]:
    """Whether chips of the quota are held by requests that nothing comes of."""
    if "tpu.googleapis.com" not in needs.services:
        return
    parent = f"projects/{needs.project}/locations/-"
    bodies = google.items("tpu", "v2", "projects.locations.queuedResources.list", "queuedResources", parent=parent, pageSize=500)
    yield _found([read(body, dt.datetime.now(dt.UTC).timestamp()) for body in bodies])


def _found(requests: Iterable[QueuedRequest]) -> Found:
    dead = [one for one in requests if one.dead]
    if not dead:
        return Found(CHECK, "ok", "none is dead")
    known = sum(one.chips for one in dead if one.chips is not None)
    chips = f"{known} chips" if all(one.chips is not None for one in dead) else f"at least {known} chips"
    are = "request is" if len(dead) == 1 else "requests are"
    said = f"{len(dead)} {are} suspended, failed or expired, and {'holds' if len(dead) == 1 else 'hold'} {chips} of the quota"
    return Found(CHECK, "warning", said, "look at them: accelform queue --cloud; delete them: accelform queue --cloud --remove-dead")


def _count(spec: Mapping[str, Any]) -> int:
    return int(spec.get("multisliceParams", {}).get("nodeCount", 1))


def _chips(spec: Mapping[str, Any]) -> int | None:
    node = spec.get("node", {})
    if kind := node.get("acceleratorType"):
        shape = tpu.shapes().get(str(kind))
        return shape.chips * _count(spec) if shape else None
    sides = str(node.get("acceleratorConfig", {}).get("topology", "")).split("x")
    if not all(side.isdigit() for side in sides):
        return None
    chips = _count(spec)
    for side in sides:
        chips *= int(side)
    return chips


def _ids(name: str, specs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Ids of its nodes. Those of several: MultisliceParams in the discovery document."""
    for spec in specs:
        if "multisliceParams" in spec:
            prefix = spec["multisliceParams"].get("nodeIdPrefix") or name.rpartition("/")[2]
            yield from (f"{prefix}-{index}" for index in range(_count(spec)))
        else:
            yield str(spec.get("nodeId", ""))
