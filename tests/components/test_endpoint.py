"""Where an endpoint is reached: what its part of a stack file may say of that, what is refused, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest

from infra.collect import collect
from infra.errors import SpecError
from infra.program import declare
from infra.stack import StackSpec

IMAGE = f"us-east5-docker.pkg.dev/tw-shop-ml/try-images/serve@sha256:{64 * '0'}"
MODEL = {"image": IMAGE, "port": 8080, "predict_route": "/predict", "health_route": "/health"}
SERVED = {"model": "recommender", "machine_type": "n1-standard-2"}
PRIVATE = {"private_service_connect": {"projects": ["tw-shop-web"]}}

Load = Callable[[dict[str, Any]], StackSpec]


@pytest.fixture
def load(base: dict[str, Any], stack_file: Callable[..., Path]) -> Load:
    """A stack file with these endpoints."""

    def load(endpoints: dict[str, Any]) -> StackSpec:
        every = {name: {"callers": []} | one for name, one in endpoints.items()}
        return StackSpec.load(stack_file(base | {"accelform:models": {"recommender": MODEL}, "accelform:endpoints": every}))

    return load


@pytest.mark.parametrize("endpoint", [PRIVATE, PRIVATE | {"dedicated": False}, PRIVATE | SERVED, {"dedicated": True}])
def test_what_is_well(load: Load, endpoint: dict[str, Any]) -> None:
    spec = load({"recommend": endpoint}).endpoints["recommend"]
    assert spec.has_dns is ("private_service_connect" not in endpoint)


def projects(*names: Any) -> dict[str, Any]:
    return {"private_service_connect": {"projects": list(names)}}


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        (PRIVATE | {"dedicated": True}, ("dedicated: does not go together with private_service_connect", "one of the two")),
        (projects(), ("private_service_connect.projects: [] is too little", "at least 1")),
        (projects("tw-shop-web", "tw-shop-web"), ("names somebody twice: tw-shop-web",)),
        (projects("123456789012"), ('projects.0: "123456789012" is no project id', "tw-shop-web")),
        (projects("Tw-Shop-Web"), ('projects.0: "Tw-Shop-Web" is no project id',)),
        (projects("tw-shop-web "), ("projects.0:", "is no project id")),
        (projects("projects/tw-shop-web"), ("projects.0:", "is no project id")),
        (projects("商店-web"), ("projects.0:", "is no project id")),
        (projects(""), ('projects.0: "" is no project id',)),
        (projects(float("nan")), ("projects.0:", "is no project id", "as text")),
        (projects(None), ("projects.0: null is no project id", "as text")),
        ({"private_service_connect": {}}, ("private_service_connect.projects: is missing",)),
        ({"private_service_connect": True}, ("private_service_connect: true is not a mapping of keys", "projects")),
        ({"private_service_connect": {"projects": "tw-shop-web"}}, ("is not a list",)),
        (
            {"private_service_connect": {"projects": ["tw-shop-web"], "network": "n"}},
            ("private_service_connect.network: is not a key here",),
        ),
        ({"private_service_conect": {}}, ("did you mean `private_service_connect`?",)),
        (SERVED | {"pool": "cheap"}, ("pool: is not possible: Google shares no machines among custom containers", "remove it")),
        (SERVED | {"shared": True}, ("shared: is not possible: Google shares no machines among custom containers",)),
        ({"deployed_models": {"a": SERVED | {"resource_pool": "p"}}}, ("deployed_models.a.resource_pool: is not possible",)),
    ],
)
def test_what_is_refused(load: Load, endpoint: dict[str, Any], said: tuple[str, ...]) -> None:
    """By place, in words, with what is allowed or what to do."""
    with pytest.raises(SpecError) as error:
        load({"recommend": endpoint})
    assert all(words in str(error.value) for words in said), str(error.value)


def test_all_is_refused_at_once(load: Load) -> None:
    with pytest.raises(SpecError) as error:
        load({"recommend": PRIVATE | {"dedicated": True, "machine_type": "n1-standard-2"}})
    assert [one.path for one in error.value.problems] == ["endpoints.recommend.dedicated", "endpoints.recommend.machine_type"]


def test_each_way_has_its_own_outputs(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of its own where there is one, attachments where there are some: what is reached neither way is in neither."""
    spec = load({"open": {}, "shared-host": {"dedicated": False}, "idle": PRIVATE, "inside": PRIVATE | SERVED})
    exported: dict[str, Any] = {}
    monkeypatch.setattr(pulumi, "export", exported.__setitem__)
    collect(lambda: declare(spec, "try"), "try")
    assert sorted(exported["endpoints"]) == ["idle", "inside", "open", "shared-host"]
    assert list(exported["endpoint_dns"]) == ["open"]
    assert sorted(exported["endpoint_attachments"]) == ["idle", "inside"]
    assert exported["endpoint_attachments"]["idle"] == {}
    assert isinstance(exported["endpoint_attachments"]["inside"], pulumi.Output)
