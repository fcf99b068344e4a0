"""
What every machine cost that ever ran: when it began and ended on the sandbox's clock, and what Google would bill at the catalogue's price.

Machines of Compute Engine, those of groups among them, nodes of the Cloud TPU API, and custom jobs of Vertex AI. Disks and addresses are
not in it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from infra.catalog import tpu
from infra.catalog.gpu_machines import by_machine_type
from infra.catalog.machine_prices import gpu_hour, machine_hour
from infra.catalog.places import region_of
from infra.catalog.prices import PriceUnknown, tpu_chip_hour
from infra.catalog.vertex_prices import training_hour
from infra.labels import CONTAINER_KEY
from infra.sandbox.clock import rfc3339
from infra.sandbox.servers import endpoints, served
from infra.sandbox.services.aiplatform import custom_jobs, parts
from infra.sandbox.services.compute import links
from infra.sandbox.services.compute.capacity import provisioning
from infra.sandbox.services.compute.zones import tpu_host
from infra.sandbox.services.tpu import nodes

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

KEPT = "machines"
"""The name that the store has them under, beside its services."""
LEAST_SECONDS = 60
"""Of a machine of Compute Engine, which is billed by the second after that.
Source: https://cloud.google.com/compute/vm-instance-pricing, "Billing model", read 2026-11. No source says a least of nodes."""
VERTEX = parts.HOST
BEGINS = {links.HOST: ("RUNNING",), nodes.HOST: ("READY",), VERTEX: (custom_jobs.RUNNING,)}
LASTS = {
    links.HOST: ("RUNNING", "STOPPING", "SUSPENDING", "PENDING_STOP"),
    nodes.HOST: ("READY",),
    VERTEX: (custom_jobs.RUNNING, custom_jobs.CANCELLING),
}
"""States in which it is billed: a machine until it is TERMINATED (the same page, "Instance uptime"), a node while it is READY
(https://cloud.google.com/tpu/pricing, read 2026-11). Of a custom job no page says whether CANCELLING is: it is counted."""
WORDS = {
    links.HOST: ("instances", "status", "instance"),
    nodes.HOST: ("nodes", "state", "node"),
    VERTEX: (custom_jobs.WORD, "state", "custom-job"),
}
"""Collection, field of the state, and what one is called here."""
LONGEST_HOLD = 60.0
"""Real seconds: who was killed holds the clock no longer."""
CENT_PARTS = Decimal("0.000001")


class Machines:
    """The ledger, in the store: it outlives the server, and what a refused call did is not in it."""

    def __init__(self, cloud: Cloud, wall: Callable[[], float] = time.monotonic) -> None:
        self._cloud = cloud
        self._wall = wall
        self._holders: dict[str, float] = {}
        self._done: set[str] = set()

    def hold(self, sent: Any) -> None:
        """
        Somebody runs the containers of jobs' machines in real time: until they have ended, nobody is to move the clock on.

        Raises:
            ValueError: It is not said so.
        """
        wrong = not isinstance(sent, dict) or not {"holder", "seconds"} <= set(sent) <= {"holder", "seconds", "done"}
        if wrong or not isinstance(sent["holder"], str) or not isinstance(sent.get("done", []), list):
            raise ValueError(f"a holder has holder, seconds and may have done, a list; got {sent!r}")
        seconds = float(sent["seconds"])
        if not 0 <= seconds <= LONGEST_HOLD:
            raise ValueError(f"seconds: {seconds} is not from 0 to {LONGEST_HOLD:g}")
        self._holders[sent["holder"]] = self._wall() + seconds
        self._done |= {str(key) for key in sent.get("done", [])}

    @property
    def held(self) -> bool:
        """
        Whether a container runs, or is to run: a job's machine is there, or a model is deployed without a process that answers for it,
        and somebody is there who runs such.
        """
        if not any(until > self._wall() for until in self._holders.values()):
            return False
        entries = self._cloud.store.items(KEPT, KEPT)
        running = any(one["container"] and one["ended"] is None and key_of(one) not in self._done for _, one in entries)
        return running or any(key not in self._done for key in self._unserved())

    def _unserved(self) -> Iterator[str]:
        """Deployed models that no process answers for yet."""
        for name, body in endpoints(self._cloud):
            for one in body["deployedModels"]:
                if not self._cloud.servers.base(name, one["id"]):
                    yield served(name, one["id"])

    def saw(self, service: str, name: str, body: dict[str, Any] | None) -> None:
        """Notes that a machine begins, changes or ends. Told of every change in the store."""
        if service not in WORDS:
            return
        word, field, kind = WORDS[service]
        if name.rsplit("/", 2)[-2:-1] != [word]:
            return
        state = "" if body is None else str(body.get(field, ""))
        entry = self._cloud.store.get(KEPT, f"{service}/{name}")
        if entry is not None and entry["ended"] is None:
            if state not in LASTS[service]:
                entry["ended"] = self._cloud.moment
            labels = entry["labels"] if body is None else body.get("labels", {})
            self._keep(f"{service}/{name}", entry | {"state": state or "gone", "labels": labels})
        elif body is not None and state in BEGINS[service]:
            if entry is not None:
                self._keep(f"{service}/{name}#{self._cloud.store.next('machines')}", entry)
                self._cloud.store.delete(KEPT, f"{service}/{name}")
            self._keep(f"{service}/{name}", _new(kind, name, body, self._cloud.moment) | {"state": state})

    def _keep(self, key: str, entry: dict[str, Any]) -> None:
        self._cloud.store.put(KEPT, key, entry, KEPT)

    def shown(self) -> list[dict[str, Any]]:
        """Every machine that ever ran, the one first that began first; with one that runs, what it cost until now."""
        entries = [body for _, body in self._cloud.store.items(KEPT, KEPT)]
        return [_shown(entry, self._cloud.moment) for entry in sorted(entries, key=lambda entry: (entry["began"], entry["name"]))]


def key_of(entry: dict[str, Any]) -> str:
    """One time that a machine ran: the next one of its name has another key."""
    return f"{entry['name']}@{entry['began']:.3f}"


def _new(kind: str, name: str, body: dict[str, Any], moment: float) -> dict[str, Any]:
    words, metadata = name.split("/"), body.get("metadata", {})
    keys = metadata if kind == "node" else {item.get("key") for item in metadata.get("items", [])}
    entry = {
        "kind": kind,
        "name": name,
        "project": words[1],
        "zone": words[3],
        "labels": body.get("labels", {}),
        "began": moment,
        "ended": None,
        "container": CONTAINER_KEY in keys,
    }
    if kind == "custom-job":
        machine = custom_jobs.machine_of(body)
        count = sum(int(pool.get("replicaCount", 1)) for pool in body["jobSpec"]["workerPoolSpecs"])
        gpus = {machine["acceleratorType"]: machine.get("acceleratorCount", 1)} if machine.get("acceleratorType") else {}
        said = {"container": True, "machine_type": machine["machineType"], "gpus": gpus, "count": count}
        return entry | said | {"provisioning": custom_jobs.provisioning(body)}
    if kind == "node":
        return entry | {"accelerator_type": body["acceleratorType"], "provisioning": nodes.provisioning(body)}
    gpus = {links.last(one["acceleratorType"]): one.get("acceleratorCount", 1) for one in body.get("guestAccelerators", [])}
    said = {"id": body.get("id", ""), "machine_type": links.last(body["machineType"]), "gpus": gpus}
    return entry | said | {"provisioning": provisioning(body)}


def _shown(entry: dict[str, Any], now: float) -> dict[str, Any]:
    ended = entry["ended"]
    ran = math.ceil(round((now if ended is None else ended) - entry["began"], 3))
    seconds = max(ran, LEAST_SECONDS) if entry["kind"] == "instance" else ran
    hour = usd_hour(entry)
    said = {"key": key_of(entry)} | {key: value for key, value in entry.items() if key != "id" and (key != "gpus" or value)}
    return said | {
        "began": rfc3339(entry["began"]),
        "ended": None if ended is None else rfc3339(ended),
        "billed_seconds": seconds,
        "usd_hour": "unknown" if hour is None else str(hour),
        "usd": "unknown" if hour is None else str((hour * seconds / 3600).quantize(CENT_PARTS)),
    }


def usd_hour(entry: dict[str, Any]) -> Decimal | None:
    """List price of an hour as it was bought; None where no source has one: nothing is guessed."""
    region, way = region_of(entry["zone"]), entry["provisioning"]
    if entry["kind"] == "custom-job":
        return _on_vertex(entry)
    name = entry.get("accelerator_type", "")
    shape = tpu.shape(name) if name else tpu_host(entry["machine_type"])
    try:
        if shape is not None:
            return tpu_chip_hour(shape, region, way).usd * shape.chips
        attached = {} if by_machine_type(entry["machine_type"]) else entry["gpus"]  # what is built in is in the machine's price
        gpus = sum((gpu_hour(gpu, region, way).usd * count for gpu, count in attached.items()), Decimal(0))
        return machine_hour(entry["machine_type"], region, way).usd + gpus
    except PriceUnknown:
        return None


def _on_vertex(entry: dict[str, Any]) -> Decimal | None:
    """Of all its machines, which are taken to be of one kind."""
    try:
        hour = training_hour(entry["machine_type"], next(iter(entry["gpus"]), ""), entry["zone"], entry["provisioning"])
    except PriceUnknown:
        return None
    return hour.usd * int(entry["count"])
