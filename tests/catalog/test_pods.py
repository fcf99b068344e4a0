"""Whether pods fit: each rule of the scheduler, cases that people have reported, and that more room never fits less."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.catalog.nodes import Gpus, Node, Taint, node
from infra.catalog.pods import PodNeed, judge, reasons, taken
from infra.catalog.quantities import BadQuantity

ZONE = "us-central1-a"
GPU_TAINT, TPU_TAINT = Taint("nvidia.com/gpu", "present"), Taint("google.com/tpu", "present")
GPU = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
TPU = {"resources": {"limits": {"google.com/tpu": 4}}}
ANY = [{"operator": "Exists"}]


def made(name: str, machine_type: str, **facts: Any) -> Node:
    return node(f"pool {name}", machine_type=machine_type, pool=name, zone=ZONE, **facts)


SYSTEM = made("system", "e2-standard-4")
L4 = made("l4", "g2-standard-8", taints=[GPU_TAINT])
V5E = made("v5e", "ct5lp-hightpu-4t", topology="2x4", taints=[TPU_TAINT])


def asks(**amounts: object) -> dict[str, Any]:
    return {"resources": {"requests": amounts}}


def pod(*containers: dict[str, Any], **more: Any) -> PodNeed:
    return PodNeed.of({"containers": list(containers or [{}])} | more)


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


# What a pod asks for.


def test_limits_stand_for_requests() -> None:
    """What only a limit names is requested as much; a request goes before its limit."""
    need = pod({"resources": {"limits": {"cpu": "2", "memory": "4Gi"}, "requests": {"cpu": "500m"}}})

    assert need.requests == {"cpu": Decimal("0.5"), "memory": 4 * 2**30}


def test_containers_add_up_and_first_ones_count_by_the_largest() -> None:
    """Two containers of 1, and one of 3 that starts first: 3, not 5."""
    assert pod(asks(cpu=1), asks(cpu=1), initContainers=[asks(cpu=3), asks(cpu=1)]).requests == {"cpu": 3}


def test_what_starts_first_and_stays_is_added() -> None:
    """Sidecars of 1: beside the containers, and beside what starts after them, not before. By hand: max(2 + 1, 3, 4 + 1), max(2 + 1, 5)."""
    sidecar = asks(cpu=1) | {"restartPolicy": "Always"}

    assert pod(asks(cpu=2), initContainers=[asks(cpu=3), sidecar, asks(cpu=4)]).requests == {"cpu": 5}
    assert pod(asks(cpu=2), initContainers=[asks(cpu=5), sidecar]).requests == {"cpu": 5}
    assert pod(asks(cpu=2), initContainers=[sidecar, sidecar, asks(cpu=1)]).requests == {"cpu": 4}


def test_overhead_is_added_and_the_pod_as_a_whole_goes_before() -> None:
    """What a sandbox of its own costs comes on top; a request of the whole pod stands for its containers'."""
    assert pod(asks(cpu=1), overhead={"cpu": "250m"}).requests == {"cpu": Decimal("1.25")}
    assert pod(asks(cpu=1), asks(cpu=1), resources={"limits": {"cpu": "4"}}).requests == {"cpu": 4}


@pytest.mark.parametrize("spec", [{}, {"containers": None}, {"containers": ["a", 1]}, {"containers": [{"resources": []}], "affinity": "x"}])
def test_odd_pods_ask_for_nothing(spec: dict[str, Any]) -> None:
    """What a manifest may not be is said elsewhere; here it raises nothing."""
    assert reasons(PodNeed.of(spec), SYSTEM) == ()


def test_fails_with_a_quantity_that_is_none() -> None:
    """A request that cannot be read is not taken for nothing."""
    with pytest.raises(BadQuantity, match="GB"):
        pod(asks(memory="4GB"))


# Resources.


def test_says_what_is_short_and_by_how_much() -> None:
    """GPUs by number, cpu in cores, memory in Gi."""
    need = pod({"resources": {"requests": {"cpu": 8, "memory": "64Gi"}, "limits": {"nvidia.com/gpu": 2}}})

    assert reasons(need, L4) == (
        "asks for 8 cpu; a node of pool l4 has 7.91",
        "asks for 64Gi memory; a node of pool l4 has 27.7Gi",
        "asks for 2 nvidia.com/gpu; a node of pool l4 has 1",
    )


def test_all_of_a_machine_is_more_than_a_node_has() -> None:
    """A pod that asks for all vCPUs of its machine stays pending, on an empty node too. Source: kubernetes/kubernetes issue 37232."""
    assert reasons(pod(asks(cpu=4)), SYSTEM) == ("asks for 4 cpu; a node of pool system has 3.92",)
    assert reasons(pod(asks(cpu="3920m")), SYSTEM) == ()
    assert reasons(pod(asks(cpu="3920.1m")), SYSTEM) == ("asks for 3.921 cpu; a node of pool system has 3.92",)


def test_nodes_do_not_add_up() -> None:
    """Four nodes of 2 vCPUs hold no pod that asks for 4, though together they have 8. Source: kubeflow/pipelines issue 330."""
    four = [made(f"n{number}", "n1-standard-2") for number in range(4)]
    found = judge(pod(asks(cpu="4", memory="6G")), four)

    assert found.holds == ()
    assert found.near[0] == (
        four[0],
        ("asks for 4 cpu; a node of pool n0 has 1.93", "asks for 5.59Gi memory; a node of pool n0 has 5.49Gi"),
    )


def test_temporary_storage_is_less_than_the_disk() -> None:
    """Of a boot disk of 100 GiB pods have less than half. Source: https://pin-yi.me/blog/gcp/gke-local-ephemeral-storage, read 2026-11."""
    need = pod(asks(**{"ephemeral-storage": "50Gi"}))

    assert reasons(need, SYSTEM) == ("asks for 50Gi ephemeral-storage; a node of pool system has 43.82Gi",)


def test_a_resource_that_no_node_has() -> None:
    """Named as it was asked for; nothing is taken for granted."""
    assert reasons(pod(asks(**{"hugepages-2Mi": "1Gi"})), SYSTEM) == ("asks for 1Gi hugepages-2Mi; a node of pool system has none",)
    assert reasons(pod({"resources": {"limits": {"amd.com/gpu": 1}}}), L4) == (
        "does not tolerate the taint nvidia.com/gpu=present:NoSchedule of pool l4",
        "asks for 1 amd.com/gpu; a node of pool l4 has none",
    )


def test_pods_take_from_a_node() -> None:
    """What stands on a node already is not there twice."""
    one = pod(GPU | {"resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "1Gi"}}})
    left = taken(L4, [one])

    assert reasons(one, L4) == ()
    assert reasons(one, left) == ("asks for 1 nvidia.com/gpu; a node of pool l4 has none",)
    assert (L4.cpu - left.cpu, L4.memory - left.memory, L4.ephemeral_storage - left.ephemeral_storage) == (Decimal("1.5"), 2**30, 2**30)
    assert reasons(pod(), taken(SYSTEM, [pod()] * 110)) == ("finds no place: a node of pool system holds no more pods",)


def test_one_container_has_one_shared_gpu() -> None:
    """Four share a GPU: containers fit with one each, and none with two."""
    shared = made("shared", "g2-standard-8", gpus=Gpus("nvidia-l4", 1, sharing="time-sharing", clients=4), taints=[GPU_TAINT])

    assert reasons(pod(GPU, GPU), shared) == ()
    assert reasons(pod({"resources": {"limits": {"nvidia.com/gpu": 2}}}), shared) == (
        "asks for 2 nvidia.com/gpu in one container; on pool shared, whose GPUs are shared, it may have 1",
    )


# Labels.


def test_selects_by_label() -> None:
    """What a selector wants and a node has otherwise, or not at all."""
    assert reasons(pod(nodeSelector={"cloud.google.com/gke-accelerator": "nvidia-l4"}, tolerations=ANY), L4) == ()
    assert reasons(pod(GPU, nodeSelector={"cloud.google.com/gke-accelerator": "nvidia-tesla-t4", "team": "a"}), L4) == (
        "wants label cloud.google.com/gke-accelerator=nvidia-tesla-t4; nodes of pool l4 have cloud.google.com/gke-accelerator=nvidia-l4",
        "wants label team=a; nodes of pool l4 have no team",
    )


FAMILY, LEVEL = "cloud.google.com/machine-family", "cloud.google.com/gke-cpu-scaling-level"


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (term(FAMILY, "In", "g2", "a2"), True),
        (term(FAMILY, "In", "a2"), False),
        (term("absent", "In", "a2"), False),
        (term(FAMILY, "NotIn", "g2"), False),
        (term("absent", "NotIn", "g2"), True),
        (term(FAMILY, "Exists"), True),
        (term("absent", "Exists"), False),
        (term(FAMILY, "DoesNotExist"), False),
        (term("absent", "DoesNotExist"), True),
        (term(LEVEL, "Gt", "7"), True),
        (term(LEVEL, "Gt", "8"), False),
        (term(LEVEL, "Lt", "10"), True),
        (term(LEVEL, "Lt", "8"), False),
        (term(FAMILY, "Gt", "1"), False),
        (term("absent", "Lt", "9"), False),
        (term(FAMILY, "in", "g2"), False),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gke-1"]}]}, True),
        ({}, False),
    ],
)
def test_each_operator_of_affinity(wanted: dict[str, Any], fits: bool) -> None:
    """As Kubernetes has them: a label that is not there is in no list, numbers compare as numbers, an empty term holds nowhere."""
    assert (reasons(pod(GPU, affinity=affinity(wanted)), L4) == ()) is fits


def test_one_term_of_several_is_enough() -> None:
    """Terms are alternatives, what is in one of them is not."""
    g2, a2 = term(FAMILY, "In", "g2"), term(FAMILY, "In", "a2", "a3")
    both = {"matchExpressions": a2["matchExpressions"] + g2["matchExpressions"]}

    assert reasons(pod(GPU, affinity=affinity(a2, g2)), L4) == ()
    assert reasons(pod(GPU, affinity=affinity(both)), L4) == (f"wants label {FAMILY} in (a2, a3); nodes of pool l4 have {FAMILY}=g2",)
    assert reasons(pod(GPU, affinity=affinity(a2, term("team", "Exists"))), L4) == (
        f"wants label {FAMILY} in (a2, a3) or label team (any value); nodes of pool l4 have {FAMILY}=g2, no team",
    )


def test_affinity_without_a_term_holds_nowhere() -> None:
    """It is no wish for nothing."""
    assert reasons(pod(affinity=affinity()), SYSTEM) == ("wants a node by affinity without any term, which no node meets",)


def test_what_is_only_preferred_is_no_reason() -> None:
    """Affinity of the softer kind, and taints of the softer kind, keep no pod away."""
    soft = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term("team", "In", "a")}]}}

    assert reasons(pod(affinity=soft), made("a", "e2-standard-4", taints=[Taint("a", "", "PreferNoSchedule")])) == ()


def test_a_zone_that_nobody_knows_is_not_held_against_a_pod() -> None:
    """Where GKE picks the zone, any zone may be the one."""
    somewhere = node("pool system", machine_type="e2-standard-4", pool="system", region="us-central1")

    assert reasons(pod(nodeSelector={"topology.kubernetes.io/zone": ZONE}), somewhere) == ()
    assert reasons(pod(affinity=affinity(term("topology.kubernetes.io/zone", "DoesNotExist"))), somewhere) != ()


# Taints.


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "a", "operator": "Equal", "value": "b"}, True),
        ({"key": "a", "value": "b", "effect": "NoExecute"}, True),
        ({"key": "a", "value": "b", "tolerationSeconds": 60, "effect": "NoExecute"}, True),
        ({"key": "a", "value": "c"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Equal", "value": "b"}, False),
        ({"key": "b", "operator": "Exists"}, False),
        ({"key": "a", "operator": "exists"}, False),
    ],
)
def test_each_way_to_tolerate(toleration: dict[str, Any], fits: bool) -> None:
    """By key, by value, by effect; without a key only all."""
    tainted = made("a", "e2-standard-4", taints=[Taint("a", "b", "NoExecute")])
    found = reasons(pod(tolerations=[toleration]), tainted)

    assert found == (() if fits else ("does not tolerate the taint a=b:NoExecute of pool a",))


# What people have reported.


def test_a_pod_beside_a_gpu_is_kept_away() -> None:
    """A cache that asks for no GPU stays pending on a cluster of GPU nodes. Source: vllm-project/aibrix pull request 909."""
    assert reasons(pod(asks(cpu=1)), L4) == ("does not tolerate the taint nvidia.com/gpu=present:NoSchedule of pool l4",)


def test_pods_fill_a_gpu_node_without_its_taint() -> None:
    """Without the taint, pods that need no GPU stand on it. Source: terraform-google-kubernetes-engine issue 703."""
    bare = made("l4", "g2-standard-8")

    assert judge(pod(asks(cpu=1)), [bare]).holds == (bare,)


@pytest.mark.parametrize("where", ["containers", "initContainers"])
def test_who_asks_for_an_accelerator_tolerates_its_taint(where: str) -> None:
    """GKE adds the toleration, of GPUs and TPUs alike, whichever container asks. Source: kubernetes/kubernetes pull request 55839."""
    assert reasons(PodNeed.of({where: [GPU]}), L4) == ()
    assert reasons(PodNeed.of({where: [TPU]}), V5E) == ()
    assert reasons(PodNeed.of({where: [GPU]}), V5E)[0] == "does not tolerate the taint google.com/tpu=present:NoSchedule of pool v5e"
    assert reasons(PodNeed.of({where: [{"resources": {"limits": {"nvidia.com/gpu": 0}}}]}), L4) != ()


def test_a_toleration_by_value_holds() -> None:
    """Tolerations that tools write out are of the value that GKE's taint has. Source: kubeflow/kubeflow issue 5275."""
    written = [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}]

    assert reasons(pod(asks(cpu=1), tolerations=written), L4) == ()


def test_a_topology_that_no_pool_has() -> None:
    """A selector by hand that is no pool's label leaves the pod pending. Source: google/sam pull request 101."""
    hand = {"cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice", "cloud.google.com/gke-tpu-topology": "1x1"}

    assert reasons(pod(TPU, nodeSelector=hand), V5E) == (
        "wants label cloud.google.com/gke-tpu-topology=1x1; nodes of pool v5e have cloud.google.com/gke-tpu-topology=2x4",
    )


def test_pods_of_a_queue_of_gke_need_its_toleration() -> None:
    """A pod without it is kept from nodes of queued provisioning. Source: GoogleCloudPlatform/cluster-toolkit, its pages on consumption."""
    queued = made("a", "g2-standard-8", taints=[GPU_TAINT], provisioning="queued-provisioning")
    tolerates = [{"key": "cloud.google.com/gke-queued", "operator": "Exists", "effect": "NoSchedule"}]

    assert reasons(pod(GPU), queued) == ("does not tolerate the taint cloud.google.com/gke-queued=true:NoSchedule of pool a",)
    assert reasons(pod(GPU, tolerations=tolerates), queued) == ()


# All nodes together.


def test_the_nearest_node_comes_first() -> None:
    """Fewest reasons first, then the smallest shortage, then the name."""
    small, large = made("b-small", "g2-standard-4", taints=[GPU_TAINT]), made("a-large", "g2-standard-8", taints=[GPU_TAINT])
    need = pod({"resources": {"requests": {"cpu": 10}, "limits": {"nvidia.com/gpu": 1}}})
    found = judge(need, [SYSTEM, small, large])

    assert found.holds == ()
    assert [one.name for one, _ in found.near] == ["pool a-large", "pool b-small", "pool system"]
    assert found.near[0][1] == ("asks for 10 cpu; a node of pool a-large has 7.91",)


@settings(max_examples=25)
@given(st.decimals(0, 60, places=3), st.integers(0, 256 * 2**30), st.integers(0, 5))
def test_a_larger_node_holds_what_a_smaller_one_holds(cpu: Decimal, memory: int, gpus: int) -> None:
    """More of everything never speaks against a pod, and a reason is there exactly where something is short."""
    small, large = made("s", "g2-standard-24", taints=[GPU_TAINT]), made("l", "g2-standard-48", taints=[GPU_TAINT])
    need = pod({"resources": {"requests": {"cpu": str(cpu), "memory": memory}, "limits": {"nvidia.com/gpu": gpus}}}, tolerations=ANY)
    against = reasons(need, small)

    assert len(reasons(need, large)) <= len(against)
    assert len(against) == (cpu > small.cpu) + (memory > small.memory) + (gpus > 2)
