"""What an update would do, as a person reads it."""

from __future__ import annotations

from typing import Any

from infra.declared import Declared
from infra.gitops import changes
from infra.local.engine import events
from tests.gitops.conftest import POOL, begun, lines, summary

BUCKET = "gcp:storage/bucket:Bucket"
CLUSTER = "gcp:container/cluster:Cluster"
X = "urn:pulumi:try::accelform::accelform:x:X::x"


def urn(type_: str, name: str) -> str:
    return f"urn:pulumi:try::accelform::accelform:x:X${type_}::{name}"


def resource(type_: str, name: str, *, protect: bool = False, parent: str = X, **inputs: Any) -> Declared:
    return Declared(type_, name, inputs, urn(type_, name), parent, protect=protect)


GROUP = Declared("accelform:x:X", "main", {}, X)


def seen(after: list[Declared], before: list[Declared], *said: dict[str, Any]) -> list[changes.Changed]:
    outcome = events.Outcome()
    steps: list[events.Step] = []
    events.read(lines(*said, summary(create=1)), outcome, steps.append)
    return changes.changes(steps, outcome, after, before)


def test_what_is_lost_is_first_and_says_where_it_stands_and_why() -> None:
    """Accelerators before data, data before all else; what is protected by the state says so, whatever the file says now."""
    after = [GROUP, resource(POOL, "gpu", nodeLocations=["us-east5-a", "us-east5-b"]), resource("gcp:compute/network:Network", "net")]
    before = [GROUP, resource(BUCKET, "data", protect=True, location="US-EAST5")]
    found = seen(
        after,
        before,
        begun("create", "gcp:compute/network:Network", "net"),
        begun("delete", BUCKET, "data"),
        begun("replace", POOL, "gpu", detailedDiff={"nodeConfig.machineType": {"diffKind": "update-replace"}}),
        begun("delete-replaced", POOL, "gpu"),
        begun("create-replacement", POOL, "gpu"),
        begun("same", BUCKET, "models"),
        begun("create", "accelform:x:X", "main"),
    )
    assert [(one.op, one.shown, one.place, one.protected, one.lost and one.lost[0]) for one in found] == [
        ("replace", "NodePool gpu", "us-east5-a, -b", False, "accelerators"),
        ("delete", "Bucket data", "us-east5", True, "data"),
        ("create", "Network net", "global", False, None),
    ]
    assert found[0].change.causes == ("nodeConfig.machineType",)
    assert {one.part for one in found} == {"X main"}


def test_what_nobody_declared_is_told_and_not_placed() -> None:
    """A provider that takes a name of its own, or a state that was edited by hand."""
    (only,) = seen([], [], begun("delete", BUCKET, "astray"))
    assert (only.part, only.place) == ("Bucket astray", "unknown")


def test_a_hundred_resources_are_a_line_for_each_kind_of_part() -> None:
    groups = [Declared("accelform:y:Y", f"y{number}", {}, f"urn:pulumi:try::accelform::accelform:y:Y::y{number}") for number in range(3)]
    held = [resource(BUCKET, f"b{number}", parent=groups[number % 3].urn, location="us-east5") for number in range(99)]
    alone = resource("gcp:compute/network:Network", "network", parent="")
    found = changes.by_the_file([*groups, *held, alone])
    assert len(found) == 100
    assert [(part.shown, part.ops, part.places) for part in changes.parts(found)] == [
        ("Network", {"create": 1}, ("global",)),
        ("Y y0, y1, y2", {"create": 99}, ("us-east5",)),
    ]


def test_what_differs_in_the_same_is_told_together() -> None:
    label = {"detailedDiff": {"labels.owner": {"diffKind": "update"}}}
    found = seen([], [], begun("update", BUCKET, "a", **label), begun("update", BUCKET, "b", **label), begun("update", BUCKET, "c"))
    assert [(causes, [one.change.name for one in held]) for causes, held in changes.in_place(found)] == [
        ((), ["c"]),
        (("labels.owner",), ["a", "b"]),
    ]


def test_says_what_takes_long_and_of_which_accelerators_nobody_knows() -> None:
    """A deleted one is not waited for with a number that nobody has; a bucket is nothing to wait for."""
    said = [
        begun("create", CLUSTER, "main"),
        begun("create", "accelform:vertex:DeployedModels", "recommend"),
        begun("create", "gcp:tpu/v2Vm:V2Vm", "eval"),
        begun("delete", "gcp:tpu/v2Vm:V2Vm", "old"),
        begun("replace", POOL, "gpu"),
        begun("create", BUCKET, "data"),
    ]
    long, unknown = changes.waits(seen([], [], *said))
    assert [one.change.name for one in long] == ["recommend", "main", "gpu"]
    assert [one.change.name for one in unknown] == ["eval"]


def test_endpoints_have_numbers_once_they_stand() -> None:
    def state(id_: str | None) -> dict[str, Any]:
        one = {"type": changes.ENDPOINT, "urn": urn(changes.ENDPOINT, "recommend"), "id": id_}
        return {"deployment": {"resources": [one if id_ is not None else {key: one[key] for key in ("type", "urn")}]}}

    assert changes.endpoints(state("projects/p/locations/us-east5/endpoints/977")) == {"recommend": "977"}
    assert changes.endpoints(state(None)) == changes.endpoints(None) == changes.endpoints({"deployment": None}) == {}
