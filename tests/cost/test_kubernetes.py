"""What is billed of what lives in a cluster: nodes of a class, volumes, load balancers, and on Autopilot what pods ask for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from costing import assuming, month, of, usd

from infra.catalog.prices import price
from infra.cost.estimate import estimate
from infra.cost.line import LineItem
from infra.cost.usage import Usage
from infra.declared import UNKNOWN, Declared
from infra.in_cluster.compute_class import ComputeClassSpec, quota, spec_of

CENTRAL = "us-central1"
CLASS = "cloud.google.com/compute-class"
HOUR = Decimal(730)
CHIP, CHIP_SPOT, CHIP_FLEX = Decimal("2.7"), Decimal("1.27575"), Decimal("1.35")
"""USD an hour of a v6e chip in us-east5."""
L4 = Decimal("0.8536243")
"""USD an hour of a g2-standard-8 in us-central1."""


def an_object(api: str, kind: str, name: str, inputs: dict[str, Any], namespace: str = "serving") -> Declared:
    metadata = {"name": name, "namespace": namespace} | inputs.pop("metadata", {})
    return Declared(f"kubernetes:{api}:{kind}", f"{kind.lower()}-{name}", {"metadata": metadata} | inputs)


def a_class(region: str = "us-east5", **fields: Any) -> Declared:
    said = {"accelerator_type": "v6e-1", "provisioning": ["reservation", "flex-start", "spot"], "reservation": "nightly"}
    spec = ComputeClassSpec.model_validate(fields or said | {"reservation_zone": "us-east5-a"}, context={"region": region})
    made = spec_of(spec, region=region, region_stack="there", sure=()) | {"nodePoolConfig": {"ipType": "private"}}
    return Declared("kubernetes:cloud.google.com/v1:ComputeClass", "computeclass-answers", {"metadata": {"name": "answers"}, "spec": made})


def limit(nodes: int) -> Declared:
    return Declared("kubernetes:autoscaling.x-k8s.io/v1beta1:CapacityQuota", "capacityquota-answers", quota("answers", nodes, {}))


def a_pod(**requests: str) -> dict[str, Any]:
    return {"containers": [{"name": "a", "image": "i", "resources": {"requests": requests}}]}


def named(pod: dict[str, Any]) -> dict[str, Any]:
    return pod | {"nodeSelector": {CLASS: "answers"}}


def deployment(pod: dict[str, Any], name: str = "answers", **spec: Any) -> Declared:
    return an_object("apps/v1", "Deployment", name, {"spec": {"template": {"spec": pod}} | spec})


def lines(
    name: str, *resources: Declared, autopilot: bool = False, region: str = CENTRAL, usage: Usage | None = None
) -> dict[str, LineItem]:
    result = estimate(resources, usage or assuming(), region=region, autopilot=autopilot)
    assert result.problems == []
    return {line.what: line for line in result.lines if line.resource == name}


# Nodes of a class.


def test_a_class_costs_from_nothing_to_its_limit_at_the_dearest_rung() -> None:
    """Two nodes are expected, on the first rung; at most four, at the on-demand price that bounds Spot and the reservation."""
    said = assuming({"computeclass-answers": {"nodes": 2}})
    line = of("computeclass-answers", a_class(), limit(4), usage=said)["v6e-1 reservation, flex-start, spot"]
    assert month(line) == usd(Decimal(0), 2 * HOUR * CHIP, 4 * HOUR * CHIP)
    assert "0 to 4 nodes" in line.note
    assert "expected: as reservation" in line.note


def test_of_one_way_the_price_is_that_ways() -> None:
    spot = a_class(accelerator_type="v6e-1", provisioning=["spot"])
    line = of("computeclass-answers", spot, limit(1), usage=assuming({"computeclass-answers": {"nodes": 1}}))["v6e-1 spot"]
    assert month(line) == usd(Decimal(0), HOUR * CHIP_SPOT, HOUR * CHIP)
    flex = a_class(accelerator_type="v6e-1", provisioning=["flex-start"])
    assert month(of("computeclass-answers", flex, limit(1))["v6e-1 flex-start"]) == usd(Decimal(0), Decimal(0), HOUR * CHIP_FLEX)


def test_nodes_have_disks() -> None:
    l4 = a_class(CENTRAL, machine_type="g2-standard-8", provisioning=["on-demand"], disk_gib=200)
    found = lines("computeclass-answers", l4, limit(3), usage=assuming({"computeclass-answers": {"nodes": 1}}))
    assert month(found["g2-standard-8 on-demand"]) == usd(Decimal(0), HOUR * L4, 3 * HOUR * L4)
    gib = price("pd-balanced", CENTRAL).usd
    assert month(found["node disk pd-balanced"]) == usd(Decimal(0), 200 * gib, 600 * gib)


@pytest.mark.parametrize(
    ("pods", "most"),
    [
        ([deployment(named(a_pod()), replicas=3)], 3),
        ([deployment(named(a_pod())), deployment(a_pod(), "other", replicas=9)], 1),
        ([an_object("batch/v1", "Job", "train", {"spec": {"parallelism": 4, "template": {"spec": named(a_pod())}}})], 4),
        (
            [
                deployment(named(a_pod()), replicas=2),
                an_object(
                    "autoscaling/v2",
                    "HorizontalPodAutoscaler",
                    "answers",
                    {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "answers"}, "minReplicas": 1, "maxReplicas": 7}},
                ),
            ],
            7,
        ),
        (
            [
                an_object(
                    "leaderworkerset.x-k8s.io/v1",
                    "LeaderWorkerSet",
                    "large",
                    {"spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": {"spec": named(a_pod())}}}},
                )
            ],
            8,
        ),
        (
            [
                an_object(
                    "jobset.x-k8s.io/v1alpha2",
                    "JobSet",
                    "train",
                    {
                        "spec": {
                            "replicatedJobs": [
                                {"replicas": 2, "template": {"spec": {"parallelism": 4, "template": {"spec": named(a_pod())}}}}
                            ]
                        }
                    },
                )
            ],
            8,
        ),
        (
            [
                an_object(
                    "ray.io/v1",
                    "RayCluster",
                    "ray",
                    {
                        "spec": {
                            "headGroupSpec": {"template": {"spec": a_pod()}},
                            "workerGroupSpecs": [{"minReplicas": 0, "maxReplicas": 5, "template": {"spec": named(a_pod())}}],
                        }
                    },
                )
            ],
            5,
        ),
    ],
)
def test_without_a_limit_the_pods_that_name_the_class_bound_it(pods: list[Declared], most: int) -> None:
    """A pod takes one node at most: as many copies as its autoscaler, its set or its group may make."""
    flex = a_class(accelerator_type="v6e-1", provisioning=["flex-start"])
    line = of("computeclass-answers", flex, *pods)["v6e-1 flex-start"]
    assert month(line) == usd(Decimal(0), Decimal(0), most * HOUR * CHIP_FLEX)


def test_what_nothing_bounds_is_unknown_until_the_file_says_it() -> None:
    """Never 0: pods come from elsewhere, or how many there are is not known."""
    flex = a_class(accelerator_type="v6e-1", provisioning=["flex-start"])
    assert "usage.resources.computeclass-answers.nodes" in of("computeclass-answers", flex)["nodes"].note
    some = deployment(named(a_pod()), replicas=UNKNOWN)
    assert of("computeclass-answers", flex, some)["nodes"].status == "unknown"
    said = assuming({"computeclass-answers": {"nodes": {"low": 1, "expected": 2, "high": 3}}})
    found = of("computeclass-answers", flex, usage=said)["v6e-1 flex-start"]
    assert month(found) == usd(HOUR * CHIP_FLEX, 2 * HOUR * CHIP_FLEX, 3 * HOUR * CHIP_FLEX)


def test_more_nodes_than_the_limit_are_refused() -> None:
    usage = assuming({"computeclass-answers": {"nodes": 5}})
    [problem] = estimate([a_class(), limit(4)], usage, region="us-east5").problems
    assert problem.path == "usage.resources.computeclass-answers.nodes"


@pytest.mark.parametrize(
    "spec", [UNKNOWN, {"priorities": UNKNOWN}, {"priorities": [{"machineFamily": "n4"}]}, {"priorities": [{"spot": True}]}]
)
def test_a_class_that_says_not_what_it_makes_is_unknown(spec: Any) -> None:
    odd = Declared("kubernetes:cloud.google.com/v1:ComputeClass", "odd", {"metadata": {"name": "answers"}, "spec": spec})
    assert lines("odd", odd, limit(2))["nodes"].status == "unknown"


def test_a_class_of_pools_only_makes_nothing() -> None:
    spec = {"priorities": [{"nodepools": ["there-l4"]}]}
    pools = Declared("kubernetes:cloud.google.com/v1:ComputeClass", "c", {"metadata": {"name": "answers"}, "spec": spec})
    assert [line.status for line in lines("c", pools, limit(2)).values()] == ["free"]


# Volumes.


def a_claim(size: Any = "100Gi", **spec: Any) -> Declared:
    said = {"resources": {"requests": {"storage": size}}} | spec
    return an_object("core/v1", "PersistentVolumeClaim", "cache", {"spec": said})


def storage_class(**change: Any) -> Declared:
    inputs = {"provisioner": "pd.csi.storage.gke.io", "parameters": {"type": "pd-ssd"}} | change
    return Declared("kubernetes:storage.k8s.io/v1:StorageClass", "storageclass-try-cache", {"metadata": {"name": "try-cache"}} | inputs)


@pytest.mark.parametrize(
    ("name", "parameters", "item", "gib"),
    [
        ("try-cache", {"type": "pd-ssd"}, "pd-ssd", 100),
        ("try-cache", {"type": "pd-balanced", "replication-type": "regional-pd"}, "pd-balanced-regional", 100),
        ("premium-rwo", {}, "pd-ssd", 100),
        (None, {}, "pd-balanced", 100),
    ],
)
def test_a_claim_costs_the_disk_that_its_class_makes(name: str | None, parameters: dict[str, str], item: Any, gib: int) -> None:
    """A class of the stack's own, one that every cluster has, or the one that is taken where none is said."""
    said = {} if name is None else {"storageClassName": name}
    [line] = lines("persistentvolumeclaim-cache", a_claim(**said), storage_class(parameters=parameters)).values()
    assert month(line) == usd(gib * price(item, CENTRAL).usd)


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        (a_claim(storageClassName="mine"), "unknown"),
        (a_claim("lots"), "unknown"),
        (a_claim(UNKNOWN), "unknown"),
        (a_claim(storageClassName="", volumeName="models"), "others pay"),
        (a_claim(storageClassName="", volumeName=UNKNOWN), "unknown"),
    ],
)
def test_a_claim_that_is_of_others_or_not_known_is_no_0(claim: Declared, status: str) -> None:
    assert [line.status for line in lines("persistentvolumeclaim-cache", claim).values()] == [status]


def test_a_stateful_set_makes_disks_for_each_copy() -> None:
    spec = {
        "replicas": 3,
        "template": {"spec": a_pod()},
        "volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "10Gi"}}}}],
    }
    found = lines("statefulset-db", an_object("apps/v1", "StatefulSet", "db", {"spec": spec}))
    assert month(found["volume pd-balanced"]) == usd(30 * price("pd-balanced", CENTRAL).usd)


# Load balancers.


def test_a_service_has_a_load_balancer_only_where_it_says_so() -> None:
    free = an_object("core/v1", "Service", "s", {"spec": {"type": "ClusterIP"}})
    assert [line.status for line in lines("service-s", free).values()] == ["free"]
    lb = an_object("core/v1", "Service", "s", {"spec": {"type": "LoadBalancer"}})
    found = lines("service-s", lb, usage=assuming({"service-s": {"traffic_gib": 10}}))
    rules = price("lb-rule-set", CENTRAL)
    assert month(found["forwarding rules"]) == usd(*(HOUR * one for one in (rules.usd_low, rules.usd, rules.usd_high)))
    assert month(found["balanced data"]) == usd(10 * price("lb-data-in", CENTRAL).usd)


def test_a_gateway_has_a_rule_for_each_port_and_data_once() -> None:
    """Of an internal one no source tells what its data costs."""
    spec = {"gatewayClassName": "gke-l7-regional-external-managed", "listeners": [{"port": 80}, {"port": 443}]}
    two = an_object("gateway.networking.k8s.io/v1", "Gateway", "g", {"spec": spec})
    found = estimate([two], assuming(), region=CENTRAL).lines
    assert [line.what for line in found if line.resource == "gateway-g"] == ["forwarding rules", "balanced data", "ForwardingRule"]
    inner = an_object("gateway.networking.k8s.io/v1", "Gateway", "g", {"spec": spec | {"gatewayClassName": "gke-l7-rilb"}})
    assert lines("gateway-g", inner)["balanced data"].status == "unknown"
    odd = an_object("gateway.networking.k8s.io/v1", "Gateway", "g", {"spec": {"gatewayClassName": UNKNOWN, "listeners": []}})
    assert lines("gateway-g", odd)["Gateway"].status == "unknown"


# Autopilot.


def test_on_autopilot_pods_are_billed_by_what_they_ask_for() -> None:
    """Two copies of half a vCPU and 2 GiB each; on Standard they are on nodes that are billed already."""
    two = deployment(a_pod(cpu="500m", memory="2Gi"), replicas=2)
    found = lines("deployment-answers", two, autopilot=True)
    assert month(found["pods' vCPUs"]) == usd(HOUR * price("autopilot-vcpu", CENTRAL).usd)
    assert month(found["pods' memory"]) == usd(4 * HOUR * price("autopilot-memory", CENTRAL).usd)
    assert [line.status for line in lines("deployment-answers", two).values()] == ["free"]


@pytest.mark.parametrize(
    ("one", "region"),
    [
        (deployment(a_pod(cpu="1", memory="1Gi")), "europe-west4"),  # no price of that region
        (deployment(a_pod(cpu="1")), CENTRAL),
        (deployment(a_pod(cpu="1", memory="1Gi"), replicas=UNKNOWN), CENTRAL),
        (deployment(a_pod(cpu="?", memory="1Gi")), CENTRAL),
        (deployment(a_pod(**{"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"})), CENTRAL),
        (an_object("apps/v1", "DaemonSet", "answers", {"spec": {"template": {"spec": a_pod(cpu="1", memory="1Gi")}}}), CENTRAL),
        (an_object("batch/v1", "Job", "answers", {"spec": {"template": {"spec": a_pod(cpu="1", memory="1Gi")}}}), CENTRAL),
    ],
)
def test_on_autopilot_what_is_not_known_is_no_0(one: Declared, region: str) -> None:
    found = lines(one.name, one, autopilot=True, region=region)
    assert "unknown" in [line.status for line in found.values()]


def test_on_autopilot_a_job_is_billed_for_the_hours_that_are_said() -> None:
    job = an_object("batch/v1", "Job", "train", {"spec": {"template": {"spec": a_pod(cpu="2", memory="1Gi")}}})
    found = lines("job-train", job, autopilot=True, usage=assuming({"job-train": {"hours_month": 10}}))
    assert month(found["pods' vCPUs"]) == usd(20 * price("autopilot-vcpu", CENTRAL).usd)


def test_on_autopilot_pods_of_a_class_are_billed_with_its_nodes() -> None:
    """And what Autopilot adds to such nodes no source says."""
    flex = a_class(accelerator_type="v6e-1", provisioning=["flex-start"])
    pods = deployment(named(a_pod(cpu="1", memory="1Gi")))
    result = estimate([flex, pods], assuming(), region="us-east5", autopilot=True)
    assert [line.status for line in result.lines if line.resource == "deployment-answers"] == ["free"]
    assert [line.what for line in result.unknown] == ["premium of Autopilot"]
