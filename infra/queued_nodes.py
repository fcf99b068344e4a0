"""The nodes that a declared queued resource asks for, each as a node on its own: what rules and prices know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.declared import UNKNOWN, Declared, Secret

QUEUED = "accelform:tpu:QueuedResource"
NODE = "gcp:tpu/v2Vm:V2Vm"
SCHEDULING = {"standard": {}, "guaranteed": {}, "spot": {"spot": True}, "reservation": {"reserved": True}}


@dataclass(frozen=True, slots=True)
class Asked:
    """Nodes of one kind."""

    path: str
    """Where they are said: `nodes.eval`, `multislice.node`."""
    count: Any
    """How many; UNKNOWN where that is not known yet."""
    node: Declared
    """One of them, as a node that is declared by itself."""


def asked(resource: Declared) -> Iterator[Asked]:
    """The nodes of a queued resource; one that is all unknown where not even their kinds are known."""
    several, nodes = _plain(resource.get("multislice")), _plain(resource.get("nodes"))
    if several is not None:
        known = several if isinstance(several, Mapping) else {"node": UNKNOWN, "nodeCount": UNKNOWN}
        yield Asked("multislice.node", known.get("nodeCount", UNKNOWN), _node(resource, known.get("node", UNKNOWN)))
    if isinstance(nodes, Mapping):
        for id, node in nodes.items():
            yield Asked(f"nodes.{id}", 1, _node(resource, node))
    elif nodes is not None or several is None:
        yield Asked("nodes", UNKNOWN, _node(resource, UNKNOWN))


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Secret) else value


def _node(resource: Declared, said: Any) -> Declared:
    said, tier = _plain(said), resource.get("tier")
    known = isinstance(said, Mapping)
    inputs: dict[str, Any] = dict(said) if known else dict.fromkeys(("acceleratorType", "networkConfig", "serviceAccount"), UNKNOWN)
    account = inputs.get("serviceAccount")
    if isinstance(account, Mapping):
        inputs["serviceAccount"] = {**account, "scopes": ["cloud-platform"]}  # the provider asks for no other
    if known:
        inputs["networkConfig"] = said.get("networkConfig", {"enableExternalIps": False})  # the provider's default
    inputs["schedulingConfig"] = SCHEDULING.get(tier, UNKNOWN) if isinstance(tier, str) else UNKNOWN
    return Declared(NODE, resource.name, inputs | {"zone": resource.get("zone")}, resource.urn)
