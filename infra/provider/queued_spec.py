"""
What a queued resource asks for: from inputs to Google's body, back, and whether the two are one.

Source of the fields: discovery document tpu v2, revision 20261001.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.provider.values import Path, is_empty, written

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
"""The one scope of every node: the service adds to any other list, and IAM decides anyway."""
SENT_AS_IS = (
    "acceleratorType",
    "acceleratorConfig",
    "runtimeVersion",
    "description",
    "labels",
    "metadata",
    "tags",
    "dataDisks",
    "shieldedInstanceConfig",
)
LINKS = ("network", "subnetwork", "sourceDisk", "reservationName")
EXACT = ("nodes", "labels", "dataDisks")
"""Where what was not asked for counts as another. Elsewhere the service may fill in what was left out, metadata among it."""
SPEC = ("nodes", "multislice", "tier", "reservationName", "minDuration", "validUntil", "validAfter")

Body = dict[str, Any]


def body(inputs: Mapping[str, Any]) -> Body:
    """What is sent to ask for it."""
    parent, tier = f"projects/{inputs['project']}/locations/{inputs['zone']}", inputs["tier"]
    specs: list[Body] = []
    if several := inputs.get("multislice"):
        params = {"nodeCount": several["nodeCount"], "nodeIdPrefix": several.get("nodeIdPrefix") or inputs["queuedResourceId"]}
        specs = [{"parent": parent, "multisliceParams": params, "node": _node(several["node"], tier)}]
    for id, node in sorted((inputs.get("nodes") or {}).items()):
        specs.append({"parent": parent, "nodeId": id, "node": _node(node, tier)})
    sent: Body = {"tpu": {"nodeSpec": specs}}
    if tier in ("spot", "guaranteed"):
        sent[tier] = {"minDuration": inputs["minDuration"]} if inputs.get("minDuration") else {}
    if tier == "reservation":
        sent["reservationName"] = inputs["reservationName"]
    policy = {_policy_key(word, inputs[word]): inputs[word] for word in ("validUntil", "validAfter") if inputs.get(word)}
    return sent | ({"queueingPolicy": policy} if policy else {})


def _node(node: Mapping[str, Any], tier: str) -> Body:
    sent = {name: node[name] for name in SENT_AS_IS if not is_empty(node.get(name))}
    sent["networkConfig"] = {"enableExternalIps": False} | (node.get("networkConfig") or {})
    if account := node.get("serviceAccount"):
        sent["serviceAccount"] = {"email": account["email"], "scope": [CLOUD_PLATFORM]}
    if tier == "reservation":
        sent["schedulingConfig"] = {"reserved": True}
    return sent


def _policy_key(word: str, value: str) -> str:
    return f"{word}{'Duration' if is_duration(value) else 'Time'}"


def is_duration(value: str) -> bool:
    return value.endswith("s")


def moment(value: str) -> float:
    """A time in seconds since 1970."""
    return dt.datetime.fromisoformat(value).timestamp()


def node_ids(inputs: Mapping[str, Any]) -> list[str]:
    """Ids of the nodes that it brings about. Of several: `MultisliceParams` in the discovery document."""
    several = inputs.get("multislice")
    if not several:
        return sorted(inputs.get("nodes") or {})
    prefix = several.get("nodeIdPrefix") or inputs["queuedResourceId"]
    return [f"{prefix}-{number}" for number in range(several["nodeCount"])]


def inputs_of(found: Mapping[str, Any]) -> Body:
    """What would ask for a queued resource that is there, but for its place and what a run waits for."""
    asked: Body = {"tier": _tier(found)}
    for spec in found.get("tpu", {}).get("nodeSpec", []):
        node = _node_inputs(spec.get("node", {}))
        if several := spec.get("multisliceParams"):
            prefix = several.get("nodeIdPrefix", "")
            own = found["name"].rpartition("/")[2]
            asked["multislice"] = {"node": node, "nodeCount": several.get("nodeCount", 0)} | (
                {"nodeIdPrefix": prefix} if prefix not in ("", own) else {}
            )
        else:
            asked.setdefault("nodes", {})[spec.get("nodeId", "")] = node
    if name := found.get("reservationName"):
        asked["reservationName"] = name
    if least := found.get("guaranteed", {}).get("minDuration"):
        asked["minDuration"] = least
    policy = found.get("queueingPolicy", {})
    interval = policy.get("validInterval", {})
    for word, end in (("validUntil", "endTime"), ("validAfter", "startTime")):
        value = policy.get(f"{word}Duration") or policy.get(f"{word}Time") or interval.get(end)
        if value:
            asked[word] = value
    return asked


def _tier(found: Mapping[str, Any]) -> str:
    scheduling = [spec.get("node", {}).get("schedulingConfig", {}) for spec in found.get("tpu", {}).get("nodeSpec", [])]
    if "spot" in found or any(one.get("spot") or one.get("preemptible") for one in scheduling):
        return "spot"
    if "reservationName" in found:
        return "reservation"
    return "guaranteed" if "guaranteed" in found else "standard"


def _node_inputs(node: Mapping[str, Any]) -> Body:
    found = {name: node[name] for name in SENT_AS_IS if not is_empty(node.get(name))}
    if "acceleratorType" in found:
        found.pop("acceleratorConfig", None)
    network = node.get("networkConfig", {})
    kept = {name: network[name] for name in ("network", "subnetwork", "canIpForward", "queueCount") if not is_empty(network.get(name))}
    found["networkConfig"] = {**kept, "enableExternalIps": bool(network.get("enableExternalIps"))}
    if email := node.get("serviceAccount", {}).get("email"):
        found["serviceAccount"] = {"email": email}
    return found


def plain(value: Any) -> Any:
    """*value* without what says nothing: false and empty ones, as a service leaves them out."""
    if isinstance(value, dict):
        kept = {name: plain(part) for name, part in value.items()}
        return {name: part for name, part in kept.items() if not is_empty(part)}
    return [plain(part) for part in value] if isinstance(value, list) else value


def unlike(inputs: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Where a queued resource that is there is another than the inputs ask for. No values: some are secret."""
    there, asked = inputs_of(found), {name: inputs.get(name) for name in SPEC}
    if asked["multislice"]:
        own = inputs["queuedResourceId"]
        asked["multislice"], there["multislice"] = _prefixed(asked["multislice"], own), _prefixed(there.get("multislice"), own)
    return sorted({written(path) for path in _unlike(asked, there, (), exact=True)})


def _prefixed(several: Mapping[str, Any] | None, own: str) -> Mapping[str, Any] | None:
    return several and {"nodeIdPrefix": own, **several}


def _unlike(asked: Any, there: Any, path: Path, *, exact: bool) -> Iterator[Path]:
    if is_empty(asked) and is_empty(there):
        return
    if isinstance(asked, dict) and is_empty(there):
        there = {}  # a service leaves false out, and may leave out what is empty then
    if isinstance(asked, dict) and isinstance(there, dict):
        for name in sorted({*asked, *(name for name in there if exact or name in EXACT)}):
            if not (path[-1:] == ("labels",) and name.startswith("goog")):  # what Google adds
                yield from _unlike(asked.get(name), there.get(name), (*path, name), exact=name in EXACT)
    elif isinstance(asked, list) and isinstance(there, list) and len(asked) == len(there):
        for index, (one, other) in enumerate(zip(asked, there, strict=True)):
            yield from _unlike(one, other, (*path, index), exact=False)
    elif not _same(asked, there, path):
        yield path


def _same(asked: Any, there: Any, path: Path) -> bool:
    if asked == there or not (isinstance(asked, str) and isinstance(there, str)):
        return bool(asked == there)
    if path[-1] in ("validUntil", "validAfter") and len(path) == 1:
        if is_duration(asked) != is_duration(there):
            return is_duration(asked)  # a service that keeps the time which it made of it
        return not is_duration(asked) and moment(asked) == moment(there)
    return path[-1] in LINKS and _same_link(asked, there)


def _same_link(asked: str, there: str) -> bool:
    """A bare name is that of whatever stands under it; a project is written by its id or its number."""
    if "/" not in asked or "/" not in there:
        return asked.rpartition("/")[2] == there.rpartition("/")[2]
    (own, one), (theirs, other) = (_link(link) for link in (asked, there))
    return one == other and (own == theirs or own.isdigit() != theirs.isdigit())


def _link(link: str) -> tuple[str, str]:
    """Project of a path, and what follows it."""
    match = re.search(r"projects/([^/]+)/(.*)", link)
    return (match[1], match[2]) if match else ("", link)
