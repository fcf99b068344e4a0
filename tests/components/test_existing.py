"""What others own, in every part of the file: one form, and what may stand beside it. What is declared is in the inventories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest

from infra.components.budget import check_amount
from infra.components.node_pool import check_machine
from infra.cost.estimate import estimate
from infra.errors import SpecError
from infra.program import declare
from infra.spec import Money
from infra.stack import StackSpec
from tests.components.test_inventories import collect, keys

CLUSTER = "projects/tw-shop-ml/locations/us-east5/clusters/shop"
POOL = {"machine_type": "g2-standard-8", "provisioning": "spot", "nodes": 1, "zones": ["us-central1-a"]}
THERE = "projects/tw-shop-ml/zones/us-east5-a/instances/vm"


def refused(base: dict[str, Any], stack_file: Callable[..., Path], **said: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        StackSpec.load(stack_file(base | keys(said)))
    return {one.path: f"{one.message}; {one.allowed}; {one.fix}" for one in caught.value.problems}


@pytest.mark.parametrize(
    ("said", "path", "words"),
    [
        ({"gpu_vms": {"a": {"existing": "vm"}}}, "gpu_vms.a.existing", "is not the full name of a machine"),
        ({"gpu_vms": {"a": {"existing": 7}}}, "gpu_vms.a.existing", "is not the full name"),
        ({"gpu_vms": {"a": {"existing": THERE.replace("us-east5", "us-east4")}}}, "gpu_vms.a.existing", "a machine of us-east5"),
        ({"gpu_vms": {"a": {"existing": THERE, "zone": "us-east5-a"}}}, "gpu_vms.a.zone", "is for its owner to say"),
        ({"gpu_vms": {"a": {"existing": THERE, "colour": 1}}}, "gpu_vms.a.colour", "is not a key here"),
        ({"tpu_slices": {"a": {"existing": THERE, "queued": {}}}}, "tpu_slices.a.queued", "is for its owner to say"),
        ({"tpu_slices": {"a": {"existing": f"{THERE}\n"}}}, "tpu_slices.a.existing", "is not the full name"),
        ({"models": {"a": {"existing": "projects/tw-shop-ml/locations/us-east5/models/m@3"}}}, "models.a.existing", "full name of a model"),
        ({"endpoints": {"a": {"existing": "projects/tw-shop-ml/locations/us-east5/endpoints/7"}}}, "endpoints.a.callers", "is missing"),
        (
            {"endpoints": {"a": {"existing": "projects/other-shop/locations/us-east5/endpoints/7", "callers": []}}},
            "endpoints.a.existing",
            "an endpoint of tw-shop-ml",
        ),
        (
            {"endpoints": {"a": {"existing": "projects/tw-shop-ml/locations/us-east5/endpoints/7", "callers": [], "dedicated": False}}},
            "endpoints.a.dedicated",
            "is for its owner to say",
        ),
        ({"budgets": {"a": {"existing": "billingAccounts/0A1B2C-3D4E5F-6A7B8C/budgets/b"}}}, "budgets.a.amount", "is missing"),
        (
            {"budgets": {"a": {"existing": "billingAccounts/0A1B2C-3D4E5F-6A7B8C/budgets/b", "amount": "1 USD", "thresholds": [1.0]}}},
            "budgets.a.thresholds",
            "is for its owner to say",
        ),
        ({"notify": ["existing:630488975493490370"]}, "notify.0", "full name of an existing one"),
        ({"storage": {"images": {"existing": "", "keep_versions": 3}}}, "storage.images.existing", "full name of a repository"),
        ({"spend_caps": {"a": {"existing": "x"}}}, "spend_caps.a.existing", "is the stack's own"),
        ({"monitoring": {"existing": "x"}}, "monitoring.existing", "policies of others go on as they are"),
        ({"jobs": {"a": {"existing": "x"}}}, "jobs.a.existing", "a job is made for its runs"),
    ],
)
def test_fails_on_what_its_owner_says(
    base: dict[str, Any], stack_file: Callable[..., Path], said: dict[str, Any], path: str, words: str
) -> None:
    """Everywhere in the same words; a name must be whole, and of the region."""
    assert words in refused(base, stack_file, **said)[path]


def test_fails_on_all_of_it_at_once(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """A wrong name hides no key that is wrong beside it."""
    assert refused(base, stack_file, gpu_vms={"a": {"existing": "vm", "zone": "x", "machine_type": "y"}}).keys() == {
        "gpu_vms.a.existing",
        "gpu_vms.a.zone",
        "gpu_vms.a.machine_type",
    }


@pytest.mark.parametrize(
    ("clusters", "existing", "words"),
    [
        ({"main": {"mode": "standard"}}, f"{CLUSTER}/nodePools/l4", "a cluster that is existing too"),
        ({"main": {"existing": CLUSTER}}, f"{CLUSTER}-2/nodePools/l4", f"a pool of {CLUSTER}"),
    ],
)
def test_fails_on_a_pool_of_another_cluster(
    base: dict[str, Any], stack_file: Callable[..., Path], clusters: dict[str, Any], existing: str, words: str
) -> None:
    """A pool stands in the cluster that it says."""
    said = {key: {name: text.replace("us-east5", "us-central1") for name, text in one.items()} for key, one in clusters.items()}
    pools = {"l4": {"cluster": "main", "existing": existing.replace("us-east5", "us-central1"), **POOL}}
    found = refused(base, stack_file, region="us-central1", clusters=said, node_pools=pools)
    assert words.replace("us-east5", "us-central1") in found["node_pools.l4.existing"]


def test_what_others_own_costs_what_its_owner_pays_and_is_all_that_is_read(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """No account, no network and no grant is made for it; it needs no rule but that of its place."""
    spec = StackSpec.load(stack_file(base | keys({"gpu_vms": {"a": {"existing": THERE}}, "tpu_slices": {"b": {"existing": THERE}}})))
    declared = collect(lambda: declare(spec, "try"), "try")
    machines = [one for one in declared if one.type == "gcp:compute/instance:Instance"]
    assert [one.existing for one in machines] == [True, True]
    assert not [one for one in declared if one.type.startswith(("gcp:compute/network", "gcp:serviceaccount/"))]
    lines = [line for line in estimate(declared, spec.usage, region=spec.region).lines if line.resource in ("a", "b")]
    assert [(line.usd_month, line.status) for line in lines] == [(None, "others pay")] * 2
    assert {"compute.googleapis.com"} <= set(spec.services())


def test_facts_are_held_against_the_thing() -> None:
    """Another amount than the budget's, or other machines than the pool's, are refused where they are read."""

    class Found:
        machine_type = "g2-standard-4"
        units, nanos, currency_code = "350", 500_000_000, "USD"

        @property
        def specified_amount(self) -> Found:
            return self

    check_amount("budgets.a", Money.parse("350.5 USD"), Found())
    check_machine("l4", "g2-standard-4", Found())
    with pytest.raises(pulumi.RunError, match=r"budgets\.a\.amount: 350 USD is not what the budget says: 350.5 USD"):
        check_amount("budgets.a", Money.parse("350 USD"), Found())
    with pytest.raises(pulumi.RunError, match="its machines are g2-standard-4, and the file says g2-standard-8"):
        check_machine("l4", "g2-standard-8", Found())
