"""Components of resources and of lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.check import Checked
from infra.cost.estimate import estimate
from infra.cost.usage import Usage
from infra.declared import Declared
from infra.report.groups import WHOLE, by_component, lines_by_component

STORAGE = Declared("accelform:storage:Storage", "storage", {}, "urn:storage")
SLICE = Declared("accelform:tpu_slice:TpuSlice", "models", {}, "urn:slice")
DISK = {"initializeParams": {"size": 10, "type": "pd-balanced"}}
MACHINE = {"machineType": "ct6e-standard-1t", "zone": "us-east5-a", "bootDisk": DISK}


def test_lines_of_one_name_go_to_the_component_of_each() -> None:
    """A bucket and a machine may both be called models."""
    resources = [
        STORAGE,
        Declared("gcp:storage/bucket:Bucket", "models", {"location": "us-east5"}, "urn:b", "urn:storage"),
        SLICE,
        Declared("gcp:serviceaccount/account:Account", "models", {"accountId": "m"}, "urn:a", "urn:slice"),
        Declared("gcp:projects/iAMMember:IAMMember", "models", {}, "urn:i", "urn:a"),
        Declared("gcp:compute/instance:Instance", "models", MACHINE, "urn:m", "urn:slice"),
    ]
    groups = lines_by_component(estimate(resources, Usage(), region="us-east5").lines, resources)
    assert {title: [line.what for line in lines] for title, lines in groups.items()} == {
        "storage": ["models bucket"],
        "TPU slice models": ["Account", "IAMMember", "v6e-1 on-demand", "boot disk pd-balanced"],
        WHOLE: ["bucket writes", "bucket reads", "internet egress", "logs"],
    }


def test_every_line_and_every_resource_is_somewhere(checked: Callable[..., Checked], a_slice: dict[str, Any]) -> None:
    """None is lost, none stands twice, and only what nothing declared belongs to the whole stack."""
    one = checked({"accelform:tpu_slices": {"data": a_slice, "images": a_slice}, "accelform:endpoints": {"models": {"callers": []}}})
    lines = lines_by_component(one.estimate.lines, one.resources)
    assert [id(line) for group in lines.values() for line in group] == [id(line) for line in one.estimate.lines]
    assert {line.resource for line in lines[WHOLE]} == {""}
    assert [line.what for line in lines["storage"]] == ["images", "data bucket", "models bucket"]
    assert [line.what for line in lines["TPU slice images"]] == ["v6e-1 spot", "boot disk hyperdisk-balanced"]
    assert WHOLE not in by_component(one.resources)
