"""What a program declares, collected without an engine."""

from __future__ import annotations

import pulumi
import pytest

from infra import gcp
from infra.collect import collect
from infra.declared import NOT_ASKED, UNKNOWN, Declared, Secret


def by_name(resources: list[Declared]) -> dict[str, Declared]:
    return {resource.name: resource for resource in resources}


def test_what_is_computed_is_unknown() -> None:
    """An output of something that is not made yet is unknown wherever it is used, and what is given is known."""

    def program() -> None:
        network = gcp.compute.Network("one", name="one")
        gcp.compute.Subnetwork(
            "two", network=network.id, region="us-east5", ip_cidr_range=pulumi.Output.concat("10.", network.name, ".0/24")
        )

    found = by_name(collect(program, "try"))
    assert found["two"].inputs == {"network": UNKNOWN, "region": "us-east5", "ipCidrRange": "10.one.0/24"}


def test_secrets_parents_protection_and_reads_are_seen() -> None:
    """A secret stays one, a child has its parent's URN in its own, and what is only read says so."""

    class Group(pulumi.ComponentResource):
        def __init__(self) -> None:
            super().__init__("accelform:group:Group", "group")
            inside = pulumi.ResourceOptions(parent=self, protect=True)
            gcp.storage.Bucket("inside", location=pulumi.Output.secret("us-east5"), opts=inside)
            gcp.storage.Bucket.get("read", "others", location="us-east5", opts=pulumi.ResourceOptions(parent=self))

    found = by_name(collect(lambda: Group() and None, "try"))
    assert found["inside"].inputs == {"location": Secret("us-east5")}
    assert "us-east5" not in repr(found["inside"])
    assert found["inside"].urn == "urn:pulumi:try::accelform::accelform:group:Group$gcp:storage/bucket:Bucket::inside"
    assert found["inside"].parent == found["group"].urn
    assert (found["inside"].protect, found["inside"].existing) == (True, False)
    assert (found["read"].protect, found["read"].existing) == (False, True)


def test_a_look_up_is_unknown() -> None:
    """What only the cloud knows is unknown in a check, also inside another text."""

    def program() -> None:
        project = gcp.organizations.get_project_output(project_id="p")
        number = project.number.apply(lambda number: f"projects/{number}")
        gcp.storage.Bucket("b", location="us-east5", name=project.billing_account, project=number)

    found = by_name(collect(program, "try"))["b"]
    assert found.inputs == {"location": "us-east5", "name": UNKNOWN, "project": UNKNOWN}
    assert NOT_ASKED not in repr(found)


def test_a_program_that_refuses_says_so_and_leaves_nothing_behind() -> None:
    """A refusal comes through as it was raised, in an apply too, and the next program is not touched by it."""

    def refuse(value: str) -> str:
        raise pulumi.RunError(f"{value} will not do")

    def program() -> None:
        bucket = gcp.storage.Bucket("one", name="this", location="us-east5")
        gcp.storage.Bucket("two", name=bucket.name.apply(refuse), location="us-east5")

    with pytest.raises(pulumi.RunError, match="this will not do"):
        collect(program, "try")
    assert list(by_name(collect(lambda: gcp.compute.Network("next") and None, "try"))) == ["next"]


def test_the_order_does_not_depend_on_timing() -> None:
    """Two runs of one program give the same list."""

    def program() -> None:
        for number in range(20):
            gcp.compute.Network(f"net-{number}", description=f"{number}")

    assert collect(program, "try") == collect(program, "try")


def test_paths_reach_into_lists_secrets_and_the_unknown() -> None:
    """A dotted path steps through lists and secret objects, and stops at what is unknown."""
    resource = Declared("t", "x", {"a": [{"b": 1}], "s": Secret({"c": 2}), "u": UNKNOWN})
    assert [resource.get(path) for path in ("a.0.b", "s.c", "u.anything", "a.3.b", "none.at.all")] == [1, 2, UNKNOWN, None, None]
    assert list(resource.leaves()) == [("a[0].b", 1), ("s.c", Secret(2)), ("u", UNKNOWN)]


def test_the_unknown_is_neither_true_nor_false() -> None:
    """A rule that tests an unknown value as if it were known fails loudly."""
    with pytest.raises(TypeError):
        bool(UNKNOWN)
