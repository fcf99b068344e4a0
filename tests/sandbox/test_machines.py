"""What machines cost, by the sandbox's clock and the catalogue's prices."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud, Request
from infra.sandbox.faults import Fault
from infra.sandbox.machines import usd_hour
from infra.sandbox.store import Store
from tests.sandbox.services.compute.conftest import Compute, machine

COMPUTE = "compute.googleapis.com"
TPU = "tpu.googleapis.com"
ZONE = "zones/us-east5-a"
NODES = "v2/projects/{project}/locations/us-east5-a/nodes"
SPOT = {"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE"}
V6E_HOUR = Decimal("2.7")
"""USD of a v6e chip in us-east5 on demand. Source: the catalogue, prices.csv."""


@pytest.fixture
def compute(cloud: Cloud, ask: Any) -> Compute:
    compute = Compute(cloud, ask)
    compute.make("global/networks", {"name": "net", "autoCreateSubnetworks": False})
    compute.make("regions/us-east5/subnetworks", {"name": "sub", "network": "global/networks/net", "ipCidrRange": "10.0.0.0/20"})
    return compute


def ledger(cloud: Cloud) -> list[dict[str, Any]]:
    cloud.catch_up()
    return cloud.machines.shown()


def test_machine_is_billed_by_the_second(cloud: Cloud, compute: Compute) -> None:
    """From RUNNING to TERMINATED: 600 s until it is stopped, and 30 s of stopping. Four chips."""
    compute.make(f"{ZONE}/instances", machine(labels={"job": "nightly"}))
    cloud.clock.advance(600)
    compute.do("POST", f"{ZONE}/instances/vm/stop")

    (one,) = ledger(cloud)

    assert (one["kind"], one["machine_type"], one["zone"], one["provisioning"]) == (
        "instance",
        "ct6e-standard-4t",
        "us-east5-a",
        "on-demand",
    )
    assert (one["labels"], one["state"], one["billed_seconds"]) == ({"job": "nightly"}, "TERMINATED", 630)
    assert (one["began"], one["ended"]) == ("2026-11-30T12:01:00.000000Z", "2026-11-30T12:11:30.000000Z")
    assert one["usd_hour"] == str(V6E_HOUR * 4)
    assert one["usd"] == "1.890000"  # 2.7 x 4 x 630 / 3600


def test_least_is_a_minute_of_a_machine_and_nothing_of_a_node(cloud: Cloud, compute: Compute, ask: Any, done: Any) -> None:
    compute.make(f"{ZONE}/instances", machine())
    compute.do("DELETE", f"{ZONE}/instances/vm")
    done(TPU, "v2", ask("POST", TPU, NODES, {"acceleratorType": "v6e-1", "runtimeVersion": "x"}, nodeId="n"))
    cloud.clock.advance(10)
    ask("DELETE", TPU, f"{NODES}/n")

    vm, node = ledger(cloud)

    assert (vm["billed_seconds"], vm["usd"]) == (60, "0.180000")  # it ran for 20 s, while it was deleted
    assert (node["kind"], node["accelerator_type"], node["billed_seconds"], node["usd"]) == ("node", "v6e-1", 10, "0.007500")


def test_hosts_that_only_gke_has_are_priced_by_chip() -> None:
    """A v4 host is none of Compute Engine's machine types. 3.22 USD a chip: the catalogue, prices.csv."""
    entry = {"kind": "instance", "zone": "us-central2-b", "provisioning": "on-demand", "machine_type": "ct4p-hightpu-4t", "gpus": {}}
    assert usd_hour(entry) == Decimal("3.22") * 4


def test_what_never_ran_costs_nothing(cloud: Cloud, compute: Compute, ask: Any, done: Any) -> None:
    cloud.faults.add(Fault(do="stockout"))
    compute.do("POST", f"{ZONE}/instances", machine())
    done(TPU, "v2", ask("POST", TPU, NODES, {"acceleratorType": "v6e-1", "runtimeVersion": "x"}, nodeId="n"))

    assert ledger(cloud) == []


def test_preempted_machine_ends_when_it_is_gone_and_its_name_begins_anew(cloud: Cloud, compute: Compute) -> None:
    """The clock may have gone on meanwhile: what counts is when it was gone."""
    compute.make(f"{ZONE}/instances", machine(scheduling=SPOT))
    cloud.clock.advance(70)
    cloud.faults.add(Fault(do="preempt", path="instances/vm", times=1))
    compute.get(f"{ZONE}/instances/vm")
    cloud.clock.advance(3600)
    compute.make(f"{ZONE}/instances", machine())

    first, second = ledger(cloud)

    assert (first["provisioning"], first["state"], first["billed_seconds"]) == ("spot", "gone", 100)
    assert (second["provisioning"], second["state"], second["ended"]) == ("on-demand", "RUNNING", None)


def test_run_limit_ends_the_bill_at_its_second(cloud: Cloud, compute: Compute) -> None:
    limit = {"maxRunDuration": {"seconds": "600"}, "instanceTerminationAction": "DELETE"}
    compute.make(f"{ZONE}/instances", machine(scheduling=limit))
    cloud.clock.advance(86400)

    (one,) = ledger(cloud)

    assert (one["billed_seconds"], one["state"]) == (600, "gone")


def test_price_that_nobody_knows_is_unknown(cloud: Cloud, compute: Compute) -> None:
    """Not nothing."""
    compute.make(f"{ZONE}/instances", machine(machineType="zones/us-east5-a/machineTypes/z3-highmem-88"))

    (one,) = ledger(cloud)

    assert (one["usd_hour"], one["usd"]) == ("unknown", "unknown")


def test_machines_of_a_group_are_billed_each(cloud: Cloud, compute: Compute) -> None:
    properties = machine(machineType="ct6e-standard-4t", scheduling=SPOT)
    del properties["name"]
    compute.make("global/instanceTemplates", {"name": "tpl", "properties": properties})
    body = {"name": "mig", "targetSize": 2, "baseInstanceName": "host", "instanceTemplate": "global/instanceTemplates/tpl"}
    compute.make(f"{ZONE}/instanceGroupManagers", body)
    cloud.clock.advance(110)
    compute.do("DELETE", f"{ZONE}/instanceGroupManagers/mig")

    found = ledger(cloud)

    assert [one["billed_seconds"] for one in found] == [120, 120]
    assert len({one["name"] for one in found}) == 2


def test_refused_call_is_no_event_and_the_ledger_outlives_the_server(tmp_path: Path) -> None:
    noon = 1_796_040_000.0
    store = Store(tmp_path / "cloud.sqlite")
    cloud = Cloud(store, Clock(start=noon, real=lambda: noon))
    cloud.projects.make("shop-prod")
    path = "v2/projects/shop-prod/locations/us-east5-a/nodes"
    body = b'{"acceleratorType": "v6e-1", "runtimeVersion": "x"}'
    cloud.handle(Request("POST", TPU, path, {"nodeId": "n"}, body))
    cloud.clock.advance(300)
    assert cloud.handle(Request("POST", TPU, path, {"nodeId": "n"}, body)).status == 409
    before = ledger(cloud)
    store.close()

    later = Cloud(Store(tmp_path / "cloud.sqlite"), Clock(start=noon + 300, real=lambda: noon))

    assert later.machines.shown() == before
    assert len(before) == 1
    assert all(one["service"] != "machines" for one in later.resources())
    later.store.close()
