"""Discovery documents: every method is found by its path, and by no other's."""

from __future__ import annotations

import pytest

from infra.sandbox.discovery import Routes, document
from infra.sandbox.services import SERVICES


@pytest.mark.parametrize(
    ("api", "http", "path", "method", "owner", "collection"),
    [
        ("tpu.v2", "POST", "v2/projects/p/locations/z/nodes", "tpu.projects.locations.nodes.create", "projects/p/locations/z", "nodes"),
        ("compute.v1", "POST", "compute/v1/projects/p/global/networks", "compute.networks.insert", "projects/p", "global/networks"),
        (
            "compute.v1",
            "POST",
            "compute/v1/projects/p/zones/z/instances/i/setLabels",
            "compute.instances.setLabels",
            "projects/p/zones/z/instances/i",
            "setLabels",
        ),
        ("storage.v1", "POST", "storage/v1/b", "storage.buckets.insert", "", "b"),
        ("storage.v1", "GET", "storage/v1/b/shop/o/a%2Fb", "storage.objects.get", "b/shop/o/a/b", ""),
        (
            "aiplatform.v1beta1",
            "POST",
            "v1beta1/projects/p/locations/r/endpoints/5:setIamPolicy",
            "aiplatform.projects.locations.endpoints.setIamPolicy",
            "projects/p/locations/r/endpoints/5",
            "",
        ),
        (
            "aiplatform.v1",
            "GET",
            "v1/projects/p/locations/r/endpoints/5/operations/7",
            "aiplatform.projects.locations.endpoints.operations.get",
            "projects/p/locations/r/endpoints/5/operations/7",
            "",
        ),
        ("cloudresourcemanager.v1", "POST", "v1/projects/p:getIamPolicy", "cloudresourcemanager.projects.getIamPolicy", "projects/p", ""),
        ("serviceusage.v1", "GET", "v1/operations/x", "serviceusage.operations.get", "operations/x", ""),
    ],
)
def test_finds_the_method_and_what_it_names(api: str, http: str, path: str, method: str, owner: str, collection: str) -> None:
    match = Routes([document(api)]).find(http, path)
    assert match is not None
    assert (match.method.id, match.owner, match.collection) == (method, owner, collection)


@pytest.mark.parametrize(
    "path", ["v2/projects/p/locations/z/nodes/n/more/than/there/is", "v2/projects//locations/z/nodes", "v3/projects/p", ""]
)
def test_finds_nothing_where_there_is_nothing(path: str) -> None:
    assert Routes([document("tpu.v2")]).find("GET", path) is None


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.host)
def test_no_two_methods_of_a_service_collide(service: object) -> None:
    """Each method is found by a path made of its own template."""
    documents = [document(api) for api in service.apis]  # type: ignore[attr-defined]
    routes = Routes(documents)
    hidden = []
    for one in documents:
        for method in one.methods:
            path = "/".join("x1" if word.startswith("{") else word for word in method.template) + (
                f":{method.custom}" if method.custom else ""
            )
            match = routes.find(method.http, path)
            if match is None or match.method is not method:
                hidden.append(method.id)
    assert hidden == []
