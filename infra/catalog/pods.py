"""
Whether a pod fits a node, and if not, why: by the rules of Kubernetes' scheduler.

What it looks at: `nodeSelector`, node affinity that is required, taints of `NoSchedule` and `NoExecute`, and requests. What depends on
other pods (affinity between them, spread, ports of the host, volumes) it does not know.
Sources: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/ and .../taint-and-toleration/, and
https://kubernetes.io/docs/concepts/workloads/pods/init-containers/ ("Resource sharing within containers"), read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from infra.catalog.nodes import GPU, OF_GOOGLE, Node, Taint
from infra.catalog.quantities import quantity, shown

Amounts = Mapping[str, Decimal]

TOLERATED = "kubernetes/kubernetes pull request 55839"
"""
GKE's API server gives a pod the toleration of a taint whose key is the name of an extended resource that the pod asks for (admission
plugin ExtendedResourceToleration): any such resource, so `google.com/tpu` too.

Sources: TOLERATED; that GKE does it, https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus and vllm-project/aibrix pull request
909 (a pod beside, which asks for no GPU, is kept away); of TPUs, Google's guides, whose pods carry no toleration. All read 2026-11.
"""
ONE_SHARED = "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus, read 2026-11"
"""On GPUs that are shared, a container that asks for more than one is refused by the node."""
NATIVE = ("kubernetes.io/", "requests.", "hugepages-")
HOST = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Toleration:
    """What of a taint a pod puts up with."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def covers(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if not self.key:
            return self.operator == "Exists"
        return self.key == taint.key and (self.operator == "Exists" or (self.operator == "Equal" and self.value == taint.value))


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that a node's label must be."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def met(self, node: Node) -> bool:
        has = node.labels.get(self.key)
        if self.key in node.undecided and has is None:
            return self.operator != "DoesNotExist"
        match self.operator:
            case "In":
                return has is not None and has in self.values
            case "NotIn":
                return has is None or has not in self.values
            case "Exists":
                return has is not None
            case "DoesNotExist":
                return has is None
            case "Gt" | "Lt":
                number, bound = _whole(has), _whole(self.values[0] if len(self.values) == 1 else None)
                if number is None or bound is None:
                    return False
                return number > bound if self.operator == "Gt" else number < bound
        return False

    def __str__(self) -> str:
        several = f"({', '.join(self.values)})" if len(self.values) != 1 else self.values[0]
        match self.operator:
            case "In":
                return f"{self.key}={several}" if len(self.values) == 1 else f"{self.key} in {several}"
            case "NotIn":
                return f"{self.key} not {several}" if len(self.values) == 1 else f"{self.key} not in {several}"
            case "Exists":
                return f"{self.key} (any value)"
            case "DoesNotExist":
                return f"no {self.key}"
            case "Gt" | "Lt":
                return f"{self.key} {'above' if self.operator == 'Gt' else 'below'} {several}"
        return f"{self.key} {self.operator} {several}"


@dataclass(frozen=True, slots=True)
class PodNeed:
    """What a pod asks of the node that it stands on."""

    requests: Amounts
    selector: tuple[Requirement, ...] = ()
    """All of `nodeSelector`."""
    terms: tuple[tuple[Requirement, ...], ...] | None = None
    """Terms of required node affinity, one of which must hold; an empty one never does. None where there is no affinity."""
    tolerations: tuple[Toleration, ...] = ()
    most_gpus: Decimal = Decimal(0)
    """GPUs of the container that asks for the most."""

    @classmethod
    def of(cls, pod_spec: Mapping[str, Any]) -> PodNeed:
        """
        What a pod spec asks for, as its manifest has it. Tolerations are those that GKE's API server adds too.

        Raises:
            BadQuantity: A request is no quantity.
        """
        spec = _map(pod_spec)
        containers = [_requests(one) for one in _maps(spec.get("containers"))]
        firsts = [(one, _requests(one)) for one in _maps(spec.get("initContainers"))]
        requests = _of_pod(spec, containers, firsts)
        affinity = _map(_map(spec.get("affinity")).get("nodeAffinity")).get("requiredDuringSchedulingIgnoredDuringExecution")
        every = [*containers, *(amounts for _, amounts in firsts)]
        extended = {name for amounts in every for name, amount in amounts.items() if is_extended(name) and amount > 0}
        return cls(
            requests=MappingProxyType({name: amount for name, amount in sorted(requests.items()) if amount}),
            selector=tuple(Requirement(str(key), "In", (str(value),)) for key, value in _map(spec.get("nodeSelector")).items()),
            terms=None if affinity is None else tuple(_term(one) for one in _maps(_map(affinity).get("nodeSelectorTerms"))),
            tolerations=(
                *(_toleration(one) for one in _maps(spec.get("tolerations"))),
                *(Toleration(name, "Exists", "", "NoSchedule") for name in sorted(extended)),
            ),
            most_gpus=max((amounts.get(GPU, Decimal(0)) for amounts in every), default=Decimal(0)),
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """Which nodes hold a pod, and which come near."""

    holds: tuple[Node, ...]
    near: tuple[tuple[Node, tuple[str, ...]], ...]
    """All others with the reasons against each: fewest reasons first, then the smallest shortage."""


def is_extended(resource: str) -> bool:
    """Whether a resource is one that a device plugin brings, such as `nvidia.com/gpu`. Source: kubernetes, `IsExtendedResourceName`."""
    return "/" in resource and not resource.startswith(NATIVE) and "kubernetes.io/" not in resource


def judge(need: PodNeed, nodes: Iterable[Node]) -> Fit:
    """Which of the nodes hold the pod."""
    holds: list[Node] = []
    near: list[tuple[Node, tuple[str, ...], Decimal]] = []
    for node in nodes:
        if against := list(_against(need, node)):
            near.append((node, tuple(reason for reason, _ in against), sum((short for _, short in against), Decimal(0))))
        else:
            holds.append(node)
    near.sort(key=lambda one: (len(one[1]), one[2], one[0].name))
    return Fit(tuple(holds), tuple((node, why) for node, why, _ in near))


def reasons(need: PodNeed, node: Node) -> tuple[str, ...]:
    """What speaks against the pod on this node, in words for a user; empty where it fits."""
    return tuple(reason for reason, _ in _against(need, node))


def taken(node: Node, needs: Iterable[PodNeed]) -> Node:
    """What is left of a node that holds these pods already."""
    for need in needs:
        left = {name: node.amount(name) - need.requests.get(name, 0) for name in ("cpu", "memory", "ephemeral-storage")}
        node = replace(
            node,
            cpu=left["cpu"],
            memory=int(left["memory"]),
            ephemeral_storage=int(left["ephemeral-storage"]),
            extended=MappingProxyType({name: has - int(need.requests.get(name, 0)) for name, has in node.extended.items()}),
            pods=node.pods - 1,
        )
    return node


def _against(need: PodNeed, node: Node) -> Iterator[tuple[str, Decimal]]:
    """Each reason, and how short the node is of what is asked for, as a part of it; 1 of what is not counted."""
    one = Decimal(1)
    for wanted in need.selector:
        if not wanted.met(node):
            yield _unmet(wanted, node), one
    if need.terms is not None and not any(term and all(wanted.met(node) for wanted in term) for term in need.terms):
        yield from ((reason, one) for reason in _affinity(need.terms, node))
    for taint in node.taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not any(some.covers(taint) for some in need.tolerations):
            yield f"does not tolerate the taint {taint} of {node.name}", one
    if node.pods < 1:
        yield f"finds no place: a node of {node.name} holds no more pods", one
    for resource, asked in need.requests.items():
        has = node.amount(resource)
        if asked > has:
            yield (
                f"asks for {shown(resource, asked, up=True)} {resource}; a node of {node.name} has {_has(resource, has)}",
                (asked - has) / asked,
            )
    sharing = node.labels.get(f"{OF_GOOGLE}gke-gpu-sharing-strategy")
    if sharing and need.most_gpus > 1 and node.extended.get(GPU):
        yield f"asks for {shown(GPU, need.most_gpus)} {GPU} in one container; on {node.name}, whose GPUs are shared, it may have 1", one


def _has(resource: str, has: Decimal) -> str:
    return shown(resource, has) if has > 0 else "none"


def _unmet(wanted: Requirement, node: Node) -> str:
    return f"wants label {wanted}; {_have(wanted.key, node)}"


def _have(key: str, node: Node) -> str:
    has = node.labels.get(key)
    return f"nodes of {node.name} have {'no ' + key if has is None else f'{key}={has}'}"


def _affinity(terms: Sequence[tuple[Requirement, ...]], node: Node) -> Iterator[str]:
    """Of one term each thing that it misses; of several, which none holds, all of them in one reason."""
    if not any(terms):
        yield "wants a node by affinity without any term, which no node meets"
    elif len(terms) == 1:
        yield from (_unmet(wanted, node) for wanted in terms[0] if not wanted.met(node))
    else:
        either = " or ".join(" and ".join(f"label {wanted}" for wanted in term) for term in terms if term)
        keys = dict.fromkeys(wanted.key for term in terms for wanted in term if not wanted.met(node))
        yield f"wants {either}; nodes of {node.name} have {', '.join(_said(key, node) for key in keys)}"


def _said(key: str, node: Node) -> str:
    has = node.labels.get(key)
    return f"no {key}" if has is None else f"{key}={has}"


def _of_pod(
    spec: Mapping[str, Any], containers: Sequence[Amounts], firsts: Sequence[tuple[Mapping[str, Any], Amounts]]
) -> dict[str, Decimal]:
    """
    What a pod needs at its worst: all containers and those that start first and stay, or one that starts first beside those that stay
    before it; and what the pod itself costs. A request of the pod as a whole stands for its containers'.
    """
    total: dict[str, Decimal] = {}
    for amounts in containers:
        _add(total, amounts)
    stay: dict[str, Decimal] = {}
    peak: dict[str, Decimal] = {}
    for one, amounts in firsts:
        now = dict(stay)
        _add(now, amounts)
        if one.get("restartPolicy") == "Always":
            stay = now
        for name, amount in now.items():
            peak[name] = max(peak.get(name, Decimal(0)), amount)
    _add(total, stay)
    for name, amount in peak.items():
        total[name] = max(total.get(name, Decimal(0)), amount)
    total.update(_requests(spec))
    _add(total, _amounts(spec.get("overhead")))
    return total


def _requests(one: Mapping[str, Any]) -> Amounts:
    """Requests of a container, or of a pod as a whole: what only a limit names is asked for as much."""
    resources = _map(one.get("resources"))
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(some: object) -> dict[str, Decimal]:
    return {str(name): quantity(amount) for name, amount in _map(some).items()}


def _add(total: dict[str, Decimal], more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount


def _term(one: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """A field can only be the node's name, which is its label too."""
    fields = ({**some, "key": HOST} for some in _maps(one.get("matchFields")))
    return tuple(
        Requirement(str(some.get("key", "")), str(some.get("operator", "")), tuple(map(str, some.get("values") or ())))
        for some in (*_maps(one.get("matchExpressions")), *fields)
    )


def _toleration(one: Mapping[str, Any]) -> Toleration:
    said = {key: str(one.get(key) or "") for key in ("key", "operator", "value", "effect")}
    return Toleration(said["key"], said["operator"] or "Equal", said["value"], said["effect"])


def _whole(text: str | None) -> int | None:
    try:
        return int(text) if text is not None and len(text) < 20 else None
    except ValueError:
        return None


def _map(value: object) -> Mapping[str, Any]:
    """A map, and nothing where there is something else: what is wrong with a manifest is said elsewhere."""
    return value if isinstance(value, Mapping) else {}


def _maps(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list | tuple) else []
