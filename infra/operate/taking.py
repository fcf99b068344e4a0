"""What of an estate a stack file can name, and under which key: each as `existing`, so that nothing of it is owned or changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infra.catalog import tpu
from infra.labels import STACK_LABEL
from infra.operate.estate import Thing

NO_NOUN = "has no key in a stack file"
CHANNELS_MAX = 5
TPU_MACHINE = re.compile(r"ct\w*-|tpu\w*-")
WAYS = {"SPOT": "spot", "FLEX_START": "flex-start", "RESERVATION_BOUND": "reservation"}
EFFECTS = {"NO_SCHEDULE": "no-schedule", "PREFER_NO_SCHEDULE": "prefer-no-schedule", "NO_EXECUTE": "no-execute"}
OF_GKE = ("nvidia.com/gpu", "google.com/tpu", "cloud.google.com/gke-queued")
"""Taints that GKE sets by itself, and every pool of the file has."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What stands under one key of the file."""

    path: tuple[str, ...]
    value: Any
    thing: Thing

    @property
    def key(self) -> str:
        return ".".join(self.path)


@dataclass(slots=True)
class Sorted:
    """An estate, sorted."""

    taken: list[Taken] = field(default_factory=list)
    left: list[tuple[Thing, str]] = field(default_factory=list)
    """What is not taken, and why."""


def sort(things: Sequence[Thing], stack: str, region: str) -> Sorted:
    """What of an estate a region's file of that name can name."""
    found = Sorted()
    keys: dict[str, set[str]] = {}
    clusters = {thing.name: _key(thing.short, keys.setdefault("clusters", set())) for thing in things if thing.kind == "cluster"}
    for thing in things:
        if why := _left(thing, stack, region):
            found.left.append((thing, why))
            continue
        chosen = SORTS.get(thing.kind, _none)(thing, keys, clusters)
        if isinstance(chosen, str):
            found.left.append((thing, chosen))
        else:
            found.taken.append(Taken(*chosen, thing))
    _one_of_each(found, "bucket")
    _one_of_each(found, "repository")
    for one in [one for one in found.taken if one.thing.kind == "channel"][CHANNELS_MAX:]:
        found.taken.remove(one)
        found.left.append((one.thing, f"a budget takes {CHANNELS_MAX} channels"))
    return found


Chosen = tuple[tuple[str, ...], Any] | str
"""The path in the file and what stands there; or why it is not taken."""
Keys = dict[str, set[str]]


def _left(thing: Thing, stack: str, region: str) -> str:
    """Why a thing is not taken, whatever it is; empty where nothing speaks against it."""
    if thing.is_going:
        return "is being deleted"
    if thing.maker:
        return thing.maker
    if thing.stack and thing.stack != stack:
        return f"is of stack {thing.stack}, by its label {STACK_LABEL}"
    if thing.place == "global":
        return "" if thing.kind in ("budget", "channel") else f"{NO_NOUN}; it stands in no region"
    return "" if thing.is_in(region) else f"stands in {thing.place}, and the file is of {region}"


def _none(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    return NO_NOUN


def _key(word: str, taken: set[str]) -> str:
    """A key of the file that looks like a name, however odd that is."""
    plain = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")
    plain = plain if plain[:1].isalpha() else f"x-{plain}".rstrip("-")
    key, number = plain[:40].rstrip("-"), 2
    while key in taken:
        end = f"-{number}"
        key, number = plain[: 40 - len(end)].rstrip("-") + end, number + 1
    taken.add(key)
    return key


def _machine(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    kind = str(thing.body.get("machineType", "")).rpartition("/")[2]
    noun = "tpu_slices" if TPU_MACHINE.match(kind) else "gpu_vms"
    if noun == "gpu_vms" and not thing.body.get("guestAccelerators") and not re.match(r"a[2-9]|g[2-9]", kind):
        return f"{NO_NOUN}: {kind} has no accelerator"
    return _named(noun, thing, keys)


def _named(noun: str, thing: Thing, keys: Keys, *, word: str = "", more: Mapping[str, Any] | None = None) -> Chosen:
    # A slice and a machine with GPUs, or a pool, must not be called alike: one set of names for all that costs by its name.
    shared = "machines" if noun in ("tpu_slices", "gpu_vms", "node_pools") else noun
    key = _key(word or thing.short, keys.setdefault(shared, set()))
    return (noun, key), {"existing": thing.name, **(more or {})}


def _group(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    if not (thing.body.get("resourcePolicies") or {}).get("workloadPolicy"):
        return f"{NO_NOUN}: a managed group that is no TPU slice"
    return _named("tpu_slices", thing, keys)


def _node(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    return _named("tpu_slices", thing, keys)


def _cluster(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    if (thing.body.get("autopilot") or {}).get("enabled"):
        return "is Autopilot: a file can name a Standard cluster of others"
    if not (thing.body.get("workloadIdentityConfig") or {}).get("workloadPool"):
        return "has no workload identity: its pods act as its nodes"
    return ("clusters", clusters[thing.name]), {"existing": thing.name}


def _pool(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    config = thing.body.get("config") or {}
    kind = str(config.get("machineType", ""))
    gpus = config.get("accelerators") or []
    if not gpus and not TPU_MACHINE.match(kind):
        return f"{NO_NOUN}: its nodes have no accelerator"
    said: dict[str, Any] = {"cluster": clusters[thing.name.partition("/nodePools/")[0]]}
    if TPU_MACHINE.match(kind):
        topology = (thing.body.get("placementPolicy") or {}).get("tpuTopology")
        shape = _shape(kind, topology)
        if shape is None:
            return f"is a TPU of a kind that the catalogue does not know: {kind} {topology or ''}".rstrip()
        said |= {"accelerator_type": shape.accelerator_type}
        several = not shape.single_host
    else:
        several = False
        said["machine_type"] = kind
        if kind.startswith("n1-"):
            said |= {"accelerator_type": gpus[0].get("acceleratorType"), "count": int(gpus[0].get("acceleratorCount") or 1)}
    said["zones"] = sorted(thing.body.get("locations") or [])
    said["provisioning"] = (
        "spot" if config.get("spot") or config.get("preemptible") else "flex-start" if config.get("flexStart") else "on-demand"
    )
    reserved = config.get("reservationAffinity") or {}
    if reserved.get("consumeReservationType") == "SPECIFIC_RESERVATION" and reserved.get("values"):
        said |= {"provisioning": "reservation", "reservation": str(reserved["values"][0])}
    scale = thing.body.get("autoscaling") or {}
    zones = max(1, len(said["zones"]))
    if scale.get("enabled"):
        least = int(scale.get("totalMinNodeCount") or int(scale.get("minNodeCount") or 0) * zones)
        most = int(scale.get("totalMaxNodeCount") or int(scale.get("maxNodeCount") or 0) * zones)
        said["autoscale"] = {} if several else {"min": least, "max": most}
    elif not several:
        said["nodes"] = int(thing.body.get("initialNodeCount") or 0) * zones
    taints = [
        {"key": one["key"], "value": one.get("value", ""), "effect": EFFECTS.get(one.get("effect", ""), "no-schedule")}
        for one in config.get("taints") or []
        if one.get("key") not in OF_GKE
    ]
    said |= ({"taints": taints} if taints else {}) | ({"labels": dict(config["labels"])} if config.get("labels") else {})
    return _named("node_pools", thing, keys, more=said)


def _shape(machine: str, topology: str | None) -> tpu.TpuShape | None:
    every = [one for one in tpu.shapes().values() if one.machine_type == machine]
    return next((one for one in every if (one.topology == topology if topology else one.single_host)), None)


def _bucket(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    """For what a bucket is, only its name says: which of the file's two it could be."""
    words = set(re.split(r"[^a-z0-9]+", thing.short.lower()))
    fits = [key for key, known in {"data": {"data"}, "models": {"models", "model"}}.items() if words & known]
    if len(fits) != 1:
        return "may be the data or the models bucket: write it under storage if it is"
    return ("storage", fits[0]), {"existing": thing.name, "location": thing.place}


def _repository(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    if thing.body.get("format") != "DOCKER":
        return f"{NO_NOUN}: it holds no container images"
    return ("storage", "images"), {"existing": thing.name}


def _endpoint(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    return _named("endpoints", thing, keys, word=str(thing.body.get("displayName") or ""), more={"callers": []})


def _model(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    return _named("models", thing, keys, word=str(thing.body.get("displayName") or ""))


def _subnet(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    return "is named under network once a machine of the file's own stands in it"


def _budget(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    amount = (thing.body.get("amount") or {}).get("specifiedAmount")
    filters = thing.body.get("budgetFilter") or {}
    if not amount:
        return "has no amount of its own: last month's is its amount"
    if filters.get("labels") or filters.get("services") or filters.get("customPeriod") or filters.get("subaccounts"):
        return "counts a part of the project, or some days: a file's budget of the project counts all of it"
    units, nanos = int(amount.get("units") or 0), int(amount.get("nanos") or 0)
    text = f"{units}.{nanos:09d}".rstrip("0").rstrip(".") if nanos else str(units)
    more = {"amount": f"{text} {amount.get('currencyCode', '')}"}
    return _named("budgets", thing, keys, word=str(thing.body.get("displayName") or ""), more=more)


def _channel(thing: Thing, keys: Keys, clusters: Mapping[str, str]) -> Chosen:
    if thing.body.get("type") != "email":
        return "is no channel for mail"
    return ("notify",), f"existing:{thing.name}"


SORTS: Mapping[str, Callable[[Thing, Keys, Mapping[str, str]], Chosen]] = {
    "machine": _machine,
    "machine group": _group,
    "TPU node": _node,
    "cluster": _cluster,
    "node pool": _pool,
    "bucket": _bucket,
    "repository": _repository,
    "endpoint": _endpoint,
    "model": _model,
    "subnet": _subnet,
    "budget": _budget,
    "channel": _channel,
}


def _one_of_each(found: Sorted, kind: str) -> None:
    """Where several could stand under a key that holds one, none is taken: nobody here knows which is meant."""
    mine = [one for one in found.taken if one.thing.kind == kind]
    for path in dict.fromkeys(one.path for one in mine):
        same = [one for one in mine if one.path == path]
        if len(same) > 1:
            for one in same:
                found.taken.remove(one)
                found.left.append((one.thing, f"is one of {len(same)} that could be {one.key}: write the one that is"))


def config(taken: Sequence[Taken]) -> dict[str, Any]:
    """What the file says of them, without the namespace."""
    made: dict[str, Any] = {}
    for one in taken:
        if one.path == ("notify",):
            made.setdefault("notify", []).append(one.value)
        else:
            made.setdefault(one.path[0], {})[one.path[1]] = one.value
    return made


def refused(taken: Sequence[Taken], paths: Mapping[str, str]) -> Iterator[tuple[Taken, str]]:
    """Those of what was taken that a check of the file refuses, with its words."""
    for one in taken:
        for path, why in paths.items():
            if path == one.key or path.startswith(f"{one.key}."):
                yield one, why
                break
