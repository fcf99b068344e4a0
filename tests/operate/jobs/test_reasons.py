"""Google's answers in words: what is no capacity, what is a quota, and what would be refused anywhere."""

from __future__ import annotations

import pytest

from infra.operate.jobs.reasons import refusal


@pytest.mark.parametrize(
    ("code", "message", "kind", "says"),
    [
        ("ZONE_RESOURCE_POOL_EXHAUSTED", "The zone 'projects/p/zones/us-east5-a' does not have enough resources", "no capacity", "here"),
        ("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "A ct6e-standard-1t VM is currently unavailable", "no capacity", "here"),
        (8, 'There is no more capacity in the zone "us-central1-c"; you can try in another zone', "no capacity", "here"),
        (429, "Resource exhausted", "no capacity", "here"),
        ("QUOTA_EXCEEDED", "Quota 'PREEMPTIBLE_TPU_V6E' exceeded.  Limit: 0.0 in region us-east5.", "quota", "PREEMPTIBLE_TPU_V6E: that says nothing"),
        (429, "Quota limit 'TPUV6EPreemptiblePerProjectPerRegionForTPUAPI' has been exceeded. Limit: 0", "quota", "TPUV6EPreemptible"),
        (429, "Quota exceeded for quota metric 'CreateNode requests' and limit 'per minute'", "busy", "too many calls"),
        (403, "Required 'compute.instances.create' permission for 'projects/p'", "refused", "would anywhere"),
        (400, "Invalid value for field 'resource.machineType'", "refused", "would anywhere"),
        (3, "Accelerator type v6e-3 is not available", "refused", "would anywhere"),
        ("RESOURCE_NOT_FOUND", "The resource 'subnet' was not found", "refused", "would anywhere"),
        (503, "Backend error", "trouble", "Google's own trouble"),
        ("INTERNAL_ERROR", "Internal error", "trouble", "Google's own trouble"),
    ],
)  # fmt: skip
def test_each_answer_has_its_words(code: int | str, message: str, kind: str, says: str) -> None:
    """The kind decides what comes next, and Google's own words are kept."""
    found = refusal(code, message, "spot")
    assert found.kind == kind
    assert says in found.words
    assert message in found.words
    assert found.is_final == (kind == "refused")


def test_a_shortage_that_speaks_of_reservations_is_told_as_one() -> None:
    """On-demand v5p is refused with 'Insufficient reserved capacity' though nobody asked for a reservation."""
    found = refusal(8, "Insufficient reserved capacity. Contact customer support to increase your reservation.", "on-demand")
    assert found.kind == "no capacity"
    assert found.words.startswith(
        "no on-demand capacity here; it is not about your configuration; try spot, flex-start or a reservation (Insufficient"
    )


def test_quota_and_capacity_are_told_apart() -> None:
    """A quota that is there says nothing of capacity, nor the other way round."""
    quota = refusal("QUOTA_EXCEEDED", "Quota 'TPU_V6E' exceeded.", "on-demand")
    stock = refusal("ZONE_RESOURCE_POOL_EXHAUSTED", "does not have enough resources", "on-demand")
    assert "says nothing of capacity" in quota.words
    assert "quota" not in stock.words
