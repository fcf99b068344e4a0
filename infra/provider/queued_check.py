"""The form of a queued resource's inputs. Whether a zone has what is asked for is judged where the catalogue is."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.provider.queued_spec import LINKS, is_duration, moment
from infra.provider.resource import Failure
from infra.provider.values import Path, Unknown

ID = r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
ID_SAID = "1 to 63 of a-z, 0-9 and -, a letter first, no - at the end"
"""Narrower than the discovery document's `[A-Za-z0-9_.~+%-]+`: a node's machines carry its id, under the rules of RFC 1035."""
FORMS = {
    "project": (r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]", "the project's id, such as shop-prod: not its name, not its number"),
    "zone": (r"[a-z]+(?:-[a-z]+)+[0-9]+-(?:ai[0-9]+)?[a-z]", "a zone, such as us-east5-a"),
    "queuedResourceId": (ID, ID_SAID),
    "reservationName": (
        rf"projects/[^/\s]+/(?:locations|zones)/[a-z0-9-]+/reservations/{ID}",
        "projects/shop-prod/locations/us-east5-a/reservations/nightly",
    ),
}
NODE_FORMS = {
    "acceleratorType": (r"v[0-9]+[a-z]*-[1-9][0-9]*", "such as v6e-8, v5litepod-16, v5p-8 or v4-8"),
    "runtimeVersion": (r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", "such as v2-alpha-tpuv6e"),
}
TOPOLOGY = (r"[1-9][0-9]*(?:x[1-9][0-9]*){1,2}", "chips along each axis, such as 2x2x1")
EMAIL = (r"[a-z0-9._-]+@(?:[a-z0-9-]+\.)+[a-z]{2,}", "such as tpu-eval@shop-prod.iam.gserviceaccount.com")
DISK = (rf"(?:https://[^\s]+/)?projects/[^/\s]+/(?:zones|regions)/[a-z0-9-]+/disks/{ID}", "projects/shop-prod/zones/us-east5-a/disks/data")
LABEL_KEY = (r"[a-z][a-z0-9_-]{0,62}", "1 to 63 of a-z, 0-9, _ and -, a letter first")
LABEL_VALUE = (r"[a-z0-9_-]{0,63}", "at most 63 of a-z, 0-9, _ and -")
"""Source: https://cloud.google.com/resource-manager/docs/labels-overview, read 2026-11."""
DURATION = r"[1-9][0-9]{0,8}s"
WHEN_SAID = "seconds after the request was made, such as 21600s, or a time with its zone, such as 2026-12-24T18:00:00Z"
DESCRIPTION_LETTERS = 512
MOST_NODES = 256
"""More of one request is taken for a slip; Google says no limit but quota."""
MOST_RETRIES = 100


def failures(inputs: Mapping[str, Any]) -> Iterator[Failure]:
    """Everything that is wrong, each in its place."""
    for name, (form, allowed) in FORMS.items():
        yield from _form(inputs.get(name), form, allowed, (name,))
    yield from _nodes(inputs)
    yield from _tier(inputs)
    yield from _when(inputs)
    retries = inputs.get("retries")
    if isinstance(retries, int) and not 0 <= retries <= MOST_RETRIES:
        yield Failure(("retries",), f"{retries} is no such number\n  allowed: 0 to {MOST_RETRIES}")


def _form(value: Any, form: str, allowed: str, path: Path) -> Iterator[Failure]:
    if isinstance(value, str) and not re.fullmatch(form, value):
        yield Failure(path, f"{value!r} is not of its form\n  allowed: {allowed}")


def _nodes(inputs: Mapping[str, Any]) -> Iterator[Failure]:
    nodes, several = inputs.get("nodes"), inputs.get("multislice")
    if nodes is None and several is None:
        yield Failure(("nodes",), "is missing\n  allowed: nodes by id, or multislice")
    if nodes is not None and several is not None:
        yield Failure(("multislice",), "goes not with nodes\n  allowed: one of the two")
    if isinstance(nodes, dict):
        if not 0 < len(nodes) <= MOST_NODES:
            yield Failure(("nodes",), f"has {len(nodes)} nodes\n  allowed: 1 to {MOST_NODES}")
        for id, node in nodes.items():
            yield from _form(id, ID, ID_SAID, ("nodes", id))
            yield from _node(node, ("nodes", id))
    if isinstance(several, dict):
        yield from _multislice(inputs, several)


def _multislice(inputs: Mapping[str, Any], several: Mapping[str, Any]) -> Iterator[Failure]:
    yield from _node(several.get("node"), ("multislice", "node"))
    count, prefix = several.get("nodeCount"), several.get("nodeIdPrefix", inputs.get("queuedResourceId"))
    if isinstance(count, int) and not 2 <= count <= MOST_NODES:
        yield Failure(("multislice", "nodeCount"), f"{count} is no such number\n  allowed: 2 to {MOST_NODES}; one node goes under nodes")
        return
    if isinstance(prefix, str) and isinstance(count, int):
        path: Path = ("multislice", "nodeIdPrefix") if "nodeIdPrefix" in several else ("queuedResourceId",)
        long = 63 - len(f"-{count - 1}")
        if path[-1] == "nodeIdPrefix":
            yield from _form(prefix, ID, ID_SAID, path)
        if len(prefix) > long:
            yield Failure(path, f"has {len(prefix)} letters, and the nodes' ids have {63 - long} more\n  allowed: {long}")


def _node(node: Any, path: Path) -> Iterator[Failure]:
    if not isinstance(node, dict):
        return
    for name, (form, allowed) in NODE_FORMS.items():
        yield from _form(node.get(name), form, allowed, (*path, name))
    kinds = [name for name in ("acceleratorType", "acceleratorConfig") if node.get(name) is not None]
    if len(kinds) != 1:
        said = "is missing" if not kinds else "goes not with acceleratorConfig"
        yield Failure((*path, "acceleratorType"), f"{said}\n  allowed: either acceleratorType or acceleratorConfig")
    yield from _form(_at(node, "acceleratorConfig", "topology"), *TOPOLOGY, (*path, "acceleratorConfig", "topology"))
    yield from _form(_at(node, "serviceAccount", "email"), *EMAIL, (*path, "serviceAccount", "email"))
    for name in ("network", "subnetwork"):
        yield from _form(_at(node, "networkConfig", name), r"[^\s]+", f"name or path of the {name}", (*path, "networkConfig", name))
    queues = _at(node, "networkConfig", "queueCount")
    if isinstance(queues, int) and queues < 1:
        yield Failure((*path, "networkConfig", "queueCount"), f"{queues} is no such number\n  allowed: 1 or more")
    text = node.get("description")
    if isinstance(text, str) and len(text) > DESCRIPTION_LETTERS:
        yield Failure((*path, "description"), f"has {len(text)} characters\n  allowed: at most {DESCRIPTION_LETTERS}")
    for key, value in _items(node.get("labels")):
        yield from _form(key, *LABEL_KEY, (*path, "labels", key))
        yield from _form(value, *LABEL_VALUE, (*path, "labels", key))
    for number, tag in enumerate(_list(node.get("tags"))):
        yield from _form(tag, ID, ID_SAID, (*path, "tags", number))
    for number, disk in enumerate(_list(node.get("dataDisks"))):
        yield from _form(_at(disk, LINKS[2]), *DISK, (*path, "dataDisks", number, LINKS[2]))


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _at(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _tier(inputs: Mapping[str, Any]) -> Iterator[Failure]:
    tier = inputs.get("tier")
    if isinstance(tier, Unknown):
        return
    if tier == "reservation" and inputs.get("reservationName") is None:
        yield Failure(("reservationName",), f"is missing with tier: reservation\n  allowed: {FORMS['reservationName'][1]}")
    if tier != "reservation" and inputs.get("reservationName") is not None:
        yield Failure(("reservationName",), f"does nothing with tier: {tier}\n  fix: remove it, or set tier: reservation")
    if tier != "guaranteed" and inputs.get("minDuration") is not None:
        yield Failure(("minDuration",), f"does nothing with tier: {tier}\n  fix: remove it, or set tier: guaranteed")
    yield from _form(inputs.get("minDuration"), DURATION, "seconds, such as 86400s", ("minDuration",))


def _when(inputs: Mapping[str, Any]) -> Iterator[Failure]:
    known: dict[str, str] = {}
    for name in ("validUntil", "validAfter"):
        value = inputs.get(name)
        if isinstance(value, str):
            if _is_when(value):
                known[name] = value
            else:
                yield Failure((name,), f"{value!r} is neither a duration nor a time\n  allowed: {WHEN_SAID}")
    if len(known) == 2 and is_duration(known["validUntil"]) == is_duration(known["validAfter"]):
        until, after = (_number(known[name]) for name in ("validUntil", "validAfter"))
        if until <= after:
            yield Failure(("validUntil",), f"{known['validUntil']} is not after validAfter, {known['validAfter']}")


def _is_when(value: str) -> bool:
    if re.fullmatch(DURATION, value):
        return True
    try:
        return re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T", value) is not None and dt.datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _number(value: str) -> float:
    return float(value[:-1]) if is_duration(value) else moment(value)
