"""The import file, from what was seen; and the state after it."""

from __future__ import annotations

from infra.local.adopt import import_file
from infra.local.adopt.informed import Seen
from infra.local.adopt.lookup import Answer
from infra.local.adopt.taking import settled

STACK = "urn:pulumi:try::accelform::"
GROUP = Seen(f"{STACK}accelform:budget:Budgets::budgets", "accelform:budget:Budgets", "budgets", "", "", "", False)
PROVIDER = Seen(
    f"{GROUP.urn[: -len('::budgets')]}$pulumi:providers:gcp::b",
    "pulumi:providers:gcp",
    "b",
    GROUP.urn,
    "",
    "10.2.0",
    True,
    {"project": "p"},
)
BUDGET = Seen(
    f"{STACK}x::monthly", "gcp:billing/budget:Budget", "monthly", GROUP.urn, PROVIDER.urn, "10.2.0", True, {}, False, Answer("billing/1")
)
BUCKET = Seen(
    f"{STACK}gcp:storage/bucket:Bucket::monthly",
    "gcp:storage/bucket:Bucket",
    "monthly",
    "",
    "",
    "10.2.0",
    True,
    {"forceDestroy": True, "location": "x"},
    False,
    Answer("shop-data"),
)
GONE = Seen(f"{STACK}y::gone", "gcp:storage/bucket:Bucket", "gone", "", "", "10.2.0", True)
UNDER = Seen(
    f"{STACK}y$z::under", "gcp:storage/bucketIAMMember:BucketIAMMember", "under", GONE.urn, "", "", True, {}, False, Answer("a b c")
)


def test_holds_what_stands_and_nothing_else() -> None:
    """What does not stand is left out, with what is under it; two of one name are told apart; the provider's own inputs are said."""
    assert import_file.content([GROUP, PROVIDER, BUDGET, BUCKET, GONE, UNDER])["resources"] == [
        {"type": "accelform:budget:Budgets", "name": "budgets", "component": True},
        {"type": "pulumi:providers:gcp", "name": "b", "parent": "budgets", "version": "10.2.0", "inputs": {"project": "p"}},
        {
            "type": "gcp:billing/budget:Budget",
            "name": "monthly",
            "parent": "budgets",
            "version": "10.2.0",
            "id": "billing/1",
            "provider": "b",
        },
        {
            "type": "gcp:storage/bucket:Bucket",
            "name": "Bucket-monthly",
            "logicalName": "monthly",
            "version": "10.2.0",
            "id": "shop-data",
            "inputs": {"forceDestroy": True},
        },
    ]


def test_groups_that_hold_a_provider_come_before() -> None:
    """Only where there is one, and not where all in it is gone."""
    first = import_file.before([GROUP, PROVIDER, BUDGET])
    assert first == {"resources": [{"type": "accelform:budget:Budgets", "name": "budgets", "component": True}]}
    assert import_file.before([BUCKET]) is None
    assert import_file.content([GROUP, PROVIDER])["resources"] == []


def test_what_a_program_says_of_what_no_cloud_keeps_is_so_in_the_state() -> None:
    """Of the resource that is meant, and of no other; what the accelform provider read stays as it is."""
    bucket = {"type": "gcp:storage/bucket:Bucket", "id": "shop-data", "inputs": {}, "outputs": {"forceDestroy": False}}
    other = {"type": "gcp:storage/bucket:Bucket", "id": "other", "inputs": {}, "outputs": {}}
    said = import_file.content([BUCKET])["resources"]
    state = {"version": 3, "deployment": {"resources": [bucket, other]}}
    [made, left] = settled(state, said)["deployment"]["resources"]
    assert (made["inputs"], made["outputs"], left) == ({"forceDestroy": True}, {"forceDestroy": True}, other)
    assert bucket["inputs"] == {}
