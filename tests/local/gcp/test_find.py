"""What a killed run's create left, asked of the sandbox: of the stand-in's resources and of the accelform provider's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infra.local.gcp import find
from infra.provider.resources.model import LABEL
from infra.sandbox import process

PLACE = "projects/shop-prod/locations/asia-east1"
MODEL = {"project": "shop-prod", "location": "asia-east1", "modelId": "m"}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[str]:
    yield process.start(tmp_path, ["shop-prod"]).base
    process.stop(tmp_path)


def test_a_model_is_found_from_the_moment_its_upload_begins(base: str) -> None:
    """It is not listed yet, and will be: a destroy must know of it. What neither provider has cannot be told."""
    ask = find.in_sandbox(base)
    assert ask("accelform:vertex:Model", MODEL) == ""
    body = {"modelId": "m", "model": {"displayName": "m", "labels": {LABEL: "x"}, "containerSpec": {"imageUri": "i"}}}
    answer = httpx.post(f"{base}/asia-east1-aiplatform.googleapis.com/v1/{PLACE}/models:upload", json=body, trust_env=False)
    assert answer.status_code == 200
    assert ask("accelform:vertex:Model", MODEL) == f"{PLACE}/models/m"
    assert ask("accelform:vertex:Novel", MODEL) is None
