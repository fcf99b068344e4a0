"""Addresses of pages: every form of a thing has one in Google's console, or says that it has none in the sandbox."""

from __future__ import annotations

import pytest

from infra.errors import SpecError
from infra.operate.console import APIS, PAGES, page
from infra.operate.things import Thing

AT = "projects/tw-shop-ml/locations/us-east5"
PLACES = {
    "instance": ("projects/tw-shop-ml/zones/us-east5-a/instances/m", "compute/instancesDetail/zones/us-east5-a/instances/m"),
    "group": ("projects/tw-shop-ml/zones/us-east5-a/instanceGroupManagers/g", "compute/instanceGroups/details/us-east5-a/g"),
    "node": ("projects/tw-shop-ml/locations/us-east5-a/nodes/n", "compute/tpus/details/us-east5-a/n"),
    "request": ("projects/tw-shop-ml/locations/us-east5-a/queuedResources/q", "compute/tpus"),
    "cluster": (f"{AT}/clusters/c", "kubernetes/clusters/details/us-east5/c/details"),
    "pool": (f"{AT}/clusters/c/nodePools/p", "kubernetes/nodepool/us-east5/c/p"),
    "endpoint": (f"{AT}/endpoints/123", "vertex-ai/online-prediction/locations/us-east5/endpoints/123"),
    "model": (f"{AT}/models/m", "vertex-ai/models/locations/us-east5/models/m"),
    "job": (f"{AT}/jobs/j", "run/jobs/details/us-east5/j/executions"),
    "bucket": ("projects/tw-shop-ml/buckets/b", "storage/browser/b"),
    "service": (f"{AT}/clusters/c/namespaces/ns/services/s", "kubernetes/deployment/us-east5/c/ns/s/overview"),
    "budget": ("projects/tw-shop-ml/budgets/shop monthly", "billing/budgets"),
    "quota": ("projects/tw-shop-ml/locations/global/quotaPreferences/q", "iam-admin/quotas"),
}


def test_every_form_is_tried() -> None:
    assert set(PLACES) == set(PAGES)


@pytest.mark.parametrize("form", PLACES)
def test_a_page_of_the_console(form: str) -> None:
    resource, below = PLACES[form]
    assert page(Thing("k", "n", form, resource, "shop")) == f"https://console.cloud.google.com/{below}?project=tw-shop-ml"


@pytest.mark.parametrize("form", PLACES)
def test_the_sandbox_answers_with_the_thing_or_says_that_it_has_none(form: str) -> None:
    thing = Thing("k", "n", form, PLACES[form][0], "shop")
    if form in APIS or form == "bucket":
        assert page(thing, "http://127.0.0.1:8085").startswith("http://127.0.0.1:8085/")
        return
    with pytest.raises(SpecError, match=r"the sandbox has no page of a (service|budget)\n  allowed: .*instance.*\n  fix: --cloud"):
        page(thing, "http://127.0.0.1:8085")


def test_odd_names_do_not_leave_the_page() -> None:
    thing = Thing("k", "n", "bucket", "projects/p q/buckets/a?b#c", "shop")
    assert page(thing) == "https://console.cloud.google.com/storage/browser/a%3Fb%23c?project=p%20q"
