"""What a whole region has."""

from __future__ import annotations

import pytest

from infra.catalog.places import UnknownPlace
from infra.catalog.region import region


def test_a_region_has_what_its_zones_have() -> None:
    """v5e stands in every zone of asia-east1, v6e and v2 in one; what only a weak source has comes last."""
    tpus = [(one.accelerator, one.zone) for one in region("asia-east1").offers if one.accelerator.startswith("tpu")]
    assert tpus == [
        ("tpu-v2-8", "asia-east1-c"),
        ("tpu-v5e", "asia-east1-a"),
        ("tpu-v5e", "asia-east1-b"),
        ("tpu-v5e", "asia-east1-c"),
        ("tpu-v6e", "asia-east1-c"),
    ]
    assert [one.confirmed for one in region("us-east4").offers][-2:] == [False, False]


def test_vertex_ai_without_a_tpu_names_where_one_is() -> None:
    """In asia-east1 Vertex AI predicts on GPUs only, and trains on v2-8; Tokyo is the nearest that predicts on a TPU."""
    prediction, training = region("asia-east1").vertex_ai
    assert (prediction.use, training.use) == ("prediction", "training")
    assert prediction.accelerators == ("nvidia-l4", "nvidia-tesla-p100", "nvidia-tesla-t4", "nvidia-tesla-v100")
    assert not prediction.has_tpu
    assert prediction.tpu_elsewhere[0] == "asia-northeast1"
    assert prediction.tpu_elsewhere[-1] == "us-east1"  # by allowlist only
    assert "tpu-v2-8" in training.accelerators
    assert training.tpu_elsewhere == ()


def test_what_is_open_by_allowlist_only_is_told_apart() -> None:
    """v6e predicts in us-east1 for those only that Google let in."""
    prediction = region("us-east1").vertex_ai[0]
    assert prediction.by_allowlist == ("tpu-v6e",)
    assert prediction.accelerators[-1] == "tpu-v6e"
    assert prediction.has_tpu
    assert prediction.tpu_elsewhere == ()


@pytest.mark.parametrize(("name", "close"), [("asia-east1-a", ("asia-east1",)), ("", ())])
def test_fails_on_what_is_no_region(name: str, close: tuple[str, ...]) -> None:
    """A zone is answered with its region."""
    with pytest.raises(UnknownPlace) as refused:
        region(name)
    assert refused.value.nearest == close
