"""What a quota request may ask for."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from infra.components.quota_request import QuotaRequestSpec

SAID: dict[str, Any] = {
    "service": "compute.googleapis.com",
    "quota_id": "GPUS-PER-GPU-FAMILY-per-project-region",
    "dimensions": {"region": "us-central1", "gpu_family": "NVIDIA_H100"},
    "value": 8,
    "contact": "email:ml@shop.example",
    "justification": "One machine, every night",
}


@pytest.mark.parametrize(
    "dimensions", [{}, {"zone": "us-east5-a"}, {"zone": "us-central1-ai1a"}, {"region": "europe-west4", "tpu_family": "CT6E"}], ids=str
)
def test_takes_places_of_google_cloud(dimensions: dict[str, str]) -> None:
    """AI zones among them."""
    assert QuotaRequestSpec(**SAID | {"dimensions": dimensions}).dimensions == dimensions


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dimensions": {"region": "us-central9"}}, "names no region of Google Cloud: us-central9"),
        ({"dimensions": {"zone": "nowhere"}}, "names no zone of Google Cloud"),
        ({"dimensions": {"user": "me"}}, "may not name user"),
        ({"dimensions": {"Region": "us-central1"}}, "is not the name of a dimension"),
        ({"dimensions": {"region": 3}}, "dimension's value, as text"),
        ({"dimensions": {"gpu_family": ""}}, "is not a dimension's value"),
        ({"service": "compute"}, "is not the name of an API"),
        ({"quota_id": "a b"}, "is not the id of a quota"),
        ({"value": -1}, "greater than or equal to 0"),
        ({"value": 10**13}, "less than or equal to"),
        ({"value": float("nan")}, "valid integer"),
        ({"value": "8"}, "valid integer"),
        ({"contact": "ml@shop.example"}, "is not an e-mail channel"),
        ({"justification": "two\nlines"}, "is not a line of text"),
        ({"justification": ""}, "too_short"),
    ],
    ids=str,
)
def test_fails_on_what_nobody_could_grant(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        QuotaRequestSpec(**SAID | change)
