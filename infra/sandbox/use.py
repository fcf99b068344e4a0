"""
Declared use of accelerators: how busy they are, as nothing really runs here, so that what Cloud Monitoring would show of it can be read.

`POST /sandbox/loads` says it of one machine, of all machines of a group, of a node of the Cloud TPU API, or of all nodes of a pool:
`{"node_pool": NAME, "duty_cycle_percent": 40, "tensorcore_percent": 20, "memory_percent": 60}`. There are series of what stands, while it
stands: of a pool without nodes none. Nothing is drawn by lot.

There are no series of GPUs that are cut into parts (no source says that Monitoring has such), of GPUs of machines before A3 or on Spot (an
agent's alone), and of what a load does not say.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from infra.catalog.gpu_machines import by_machine_type
from infra.sandbox.accelerators import CLUSTER, PLACE, POOL, REPORTED, interrupted, used
from infra.sandbox.gauge import Gauge
from infra.sandbox.machines import KEPT
from infra.sandbox.service import Body
from infra.sandbox.services.compute import links
from infra.sandbox.services.compute.zones import tpu_host
from infra.sandbox.services.container import groups, parts, ways
from infra.sandbox.services.tpu import nodes

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

FACT = "use"
TAKEN = "taken away"
SIZES = "sizes"
PERCENTS = ("duty_cycle_percent", "tensorcore_percent", "memory_percent", "memory_bandwidth_percent")
TARGETS = {
    "node_pool": (parts.HOST, "nodePools"),
    "machine": (links.HOST, "instances"),
    "group": (links.HOST, "instanceGroupManagers"),
    "node": (nodes.HOST, "nodes"),
}
"""What a load of accelerators may be of: where it is kept, and its collection."""


class Use:
    """The loads of one sandbox's accelerators, what Google took away, and how large the groups of pools were to be."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def declare(self, sent: Body) -> None:
        """
        A load from now on: one of node_pool, machine, group and node, by its full name, and percents.

        Raises:
            ValueError: It is none, there is no such thing, or it has no accelerator that tells of itself.
        """
        named = [key for key in TARGETS if key in sent]
        if len(named) != 1 or (wrong := set(sent) - {*TARGETS, *PERCENTS}):
            got = ", ".join(sorted(wrong) if len(named) == 1 else named)
            raise ValueError(f"a load of accelerators has one of {', '.join(TARGETS)}, and may have {', '.join(PERCENTS)}; got {got}")
        what = named[0]
        percents = {key: _percent(key, sent[key]) for key in PERCENTS if key in sent}
        if not percents:
            raise ValueError(f"a load of accelerators has at least one of {', '.join(PERCENTS)}; of a node_pool it may be nodes alone")
        host, word = TARGETS[what]
        name = self._cloud.projects.by_id(str(sent[what]))
        body = self._cloud.store.get(host, name) if name.rsplit("/", 2)[-2:-1] == [word] else None
        if body is None:
            raise ValueError(f"{what}: there is no {what.replace('_', ' ')} {name!r} in the sandbox")
        _check(what, name, body, percents)
        changes = self._changes()
        target = changes.setdefault(name, {"what": what, "of": _of(what, body), "changes": []})
        target["changes"].append({"at": self._cloud.clock.now(), **percents})
        self._cloud.store.set_fact(FACT, changes)

    def shown(self) -> list[Body]:
        """The loads as they are now."""
        return [
            {target["what"]: name} | {key: value for key, value in target["changes"][-1].items() if key != "at"}
            for name, target in self._changes().items()
        ]

    def clear(self) -> None:
        """No load any more, and none that was."""
        self._cloud.store.set_fact(FACT, {})

    def taken_away(self, name: str) -> None:
        """Google took a machine or a node away: it needs its place. Told of each by whoever does it."""
        taken = self._cloud.store.fact(TAKEN) or []
        self._cloud.store.set_fact(TAKEN, [*taken, {"name": name, "at": self._cloud.moment}])

    def saw(self, service: str, name: str, body: Body | None) -> None:
        """Notes how many machines the group of a node pool is to have. Told of every change in the store."""
        if service != links.HOST or "/instanceGroupManagers/gke-" not in name:
            return
        size = 0 if body is None else int(body.get("targetSize", 0))
        sizes = self._cloud.store.fact(f"{SIZES}/{name}") or []
        if not sizes or sizes[-1][1] != size:
            self._cloud.store.set_fact(f"{SIZES}/{name}", [*sizes, [self._cloud.moment, size]])

    def series(self, project: str) -> Iterator[Gauge]:
        """Every series of accelerators, of machines that were taken away and of slices of several hosts, of a project."""
        entries = [entry for _, entry in self._cloud.store.items(KEPT, KEPT) if entry["project"] == project]
        for name, target in self._changes().items():
            for entry in entries:
                if _is_of(name, target, entry):
                    yield from used(entry, target["changes"], target["of"] if target["what"] == "node_pool" else None)
        for taken in self._cloud.store.fact(TAKEN) or []:
            yield from (
                interrupted(entry, taken["at"]) for entry in entries if entry["name"] == taken["name"] and _lived(entry, taken["at"])
            )
        for name, body in self._cloud.store.of_kind(parts.HOST, "nodePools"):
            if name.split("/")[1] == project and ways.slice_of(body) is not None:
                yield from self._whole(name, body, entries)

    def _changes(self) -> dict[str, Any]:
        return dict(self._cloud.store.fact(FACT) or {})

    def _whole(self, name: str, body: Body, entries: list[Body]) -> Iterator[Gauge]:
        """
        Whether a slice of several hosts has all of them: two series, of which one tells of each moment.

        Source: metrics_kubernetes, `node_pool/multi_host/available`; of its reasons the one that is so.
        """
        managers = groups.managers_of(body)
        sizes = [self._cloud.store.fact(f"{SIZES}/{manager}") or [] for manager in managers]
        bases = [links.last(manager).removesuffix("grp") for manager in managers]
        hosts = [entry for entry in entries if links.last(entry["name"]).startswith(tuple(bases))]

        def whole(moment: float) -> bool | None:
            wanted = sum(_last(changes, moment) for changes in sizes)
            return sum(_lived(host, moment) for host in hosts) >= wanted if wanted else None

        since = min((changes[0][0] for changes in sizes if changes), default=math.inf)
        words = name.split("/")
        labels = {"project_id": words[1], "location": words[3], "cluster_name": words[5], "node_pool_name": words[7]}
        for reason, said in (("", True), ("MachineNotRunning", False)):
            metric = {"type": "kubernetes.io/node_pool/multi_host/available", "labels": {"unavailability_reason": reason}}
            yield Gauge(
                {"metric": metric, "resource": {"type": "k8s_node_pool", "labels": labels}},
                "BOOL",
                "1",
                since,
                math.inf,
                lambda moment, said=said: said if whole(moment) is said else None,  # type: ignore[misc]
            )


def _percent(what: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 100:
        raise ValueError(f"{what}: {value!r} is not a number from 0 to 100")
    return float(value)


def _of(what: str, body: Body) -> Body:
    """What of a thing tells which machines are its, and how they tell of themselves."""
    if what == "group":
        return {"base": body["baseInstanceName"]}
    if what == "node_pool":
        sharing = "gpuSharingConfig" in ([*body["config"].get("accelerators", []), {}])[0]
        return {"topology": body.get("placementPolicy", {}).get("tpuTopology", ""), "shared": sharing}
    return {}


def _check(what: str, name: str, body: Body, percents: dict[str, float]) -> None:
    """
    Raises:
        ValueError: No metric tells of its accelerators, or not of this.
    """
    if what in ("node", "group"):
        return  # what the machines of a group are, their template says: where they have no accelerator, there is no series
    config = body["config"] if what == "node_pool" else body
    if what == "machine" and POOL in body.get("labels", {}):
        raise ValueError(f"machine: {name} is a node of GKE: say it of its node_pool")
    machine = links.last(config["machineType"])
    if tpu_host(machine) is not None:
        return
    gpus = config.get("accelerators" if what == "node_pool" else "guestAccelerators", [])
    if not gpus and by_machine_type(machine) is None:
        raise ValueError(f"{what}: {machine} has no accelerator")
    if what == "machine" and not machine.startswith(REPORTED):
        raise ValueError(f"machine: the GPUs of {machine} tell of themselves to an agent alone, which nothing here runs")
    if what == "node_pool" and any(one.get("gpuPartitionSize") for one in gpus):
        raise ValueError("node_pool: its GPUs are cut into parts, and no source says that Monitoring has series of those")
    if only := sorted(set(percents) - {"duty_cycle_percent", "memory_percent"}):
        raise ValueError(f"{only[0]}: no metric of a GPU tells it")
    if what == "machine" and "memory_percent" in percents:
        raise ValueError("memory_percent: no metric of a machine's GPUs tells it without an agent")


def _is_of(name: str, target: Body, entry: Body) -> bool:
    """Whether a load is of a machine that ran."""
    words, labels = name.split("/"), entry["labels"]
    if target["what"] == "node_pool":
        return (labels.get(PLACE), labels.get(CLUSTER), labels.get(POOL)) == (words[3], words[5], words[7])
    if target["what"] == "group":
        near = entry["zone"] == words[3] or entry["zone"].rpartition("-")[0] == words[3]
        return near and entry["kind"] == "instance" and links.last(entry["name"]).startswith(f"{target['of']['base']}-")
    return bool(entry["name"] == name)


def _lived(entry: Body, moment: float) -> bool:
    """Whether a machine ran at a moment; that it ended then is of it still."""
    return bool(entry["began"] <= moment and (entry["ended"] is None or moment <= entry["ended"]))


def _last(changes: list[Any], moment: float) -> int:
    index = bisect_right(changes, moment, key=lambda change: change[0])
    return int(changes[index - 1][1]) if index else 0
