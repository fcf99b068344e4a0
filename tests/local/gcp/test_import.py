"""Imports, over the sandbox: every form of an id that the official provider takes finds the thing, and a program that says it changes nothing."""

from __future__ import annotations

import echo
import pytest
from pulumi.runtime.proto import provider_pb2
from region import ACCOUNT, REGION, Region

from infra.local.gcp import types
from infra.provider.values import Decoded, encode

FORMS = {
    "gcp:compute/network:Network": ("{p}/net", "net"),
    "gcp:compute/subnetwork:Subnetwork": ("{p}/us-east5/subnet", "us-east5/subnet", "subnet"),
    "gcp:compute/router:Router": ("{p}/us-east5/router", "us-east5/router", "router"),
    "gcp:compute/routerNat:RouterNat": (
        "projects/{p}/regions/us-east5/routers/router/nat",
        "{p}/us-east5/router/nat",
        "us-east5/router/nat",
        "router/nat",
    ),
    "gcp:compute/firewall:Firewall": ("{p}/iap-ssh", "iap-ssh"),
    "gcp:serviceaccount/account:Account": (f"projects/{{p}}/serviceAccounts/{ACCOUNT}",),
    "gcp:storage/bucket:Bucket": ("{p}/{p}-data", "{p}-data"),
    "gcp:artifactregistry/repository:Repository": ("{p}/us-east5/images", "us-east5/images"),
    "gcp:cloudrunv2/job:Job": ("{p}/us-east5/nightly", "us-east5/nightly"),
    "gcp:cloudscheduler/job:Job": ("{p}/us-east5/nightly", "us-east5/nightly", "nightly"),
    "gcp:vertex/aiEndpoint:AiEndpoint": ("{p}/us-east5/77", "us-east5/77"),
    "gcp:compute/instance:Instance": ("{p}/us-east5-a/vm", "vm"),
    "gcp:tpu/v2Vm:V2Vm": ("{p}/us-east5-a/node", "us-east5-a/node", "node"),
}
"""Besides the id itself. Source: the import sections in the SDK's docstrings (pulumi-gcp 10.2.0), which a bucket and an account lack."""

THE_PROVIDERS_OWN = {"forceDestroy", "deletionProtection"}
"""Google does not know it: after an import the program's value is a change of the state alone."""


@pytest.mark.parametrize("token", [token for token, _ in REGION])
def test_is_found_by_every_form_of_its_id(token: str, region: Region) -> None:
    """The id is the canonical one; what was found passes Check as it is; the program's own inputs are no change."""
    inputs = region.bring_up(token)
    driver = region.driver(region="us-east5", zone="us-east5-a")
    made = driver.create(token, inputs)
    ids = [made.id, *(form.format(p=echo.PROJECT) for form in FORMS.get(token, ()))]
    if policy := types.TABLE[token].policy:
        ids.append(" ".join([Decoded(made.properties).values[policy.parent], inputs["role"], inputs["member"]]))
    for id in ids:
        found = driver.read(token, id)
        assert (id, found.id) == (id, made.id)
        assert driver.checked(token, Decoded(found.inputs).values) == Decoded(found.inputs).values
        request = provider_pb2.DiffRequest(urn=driver.urn(token), olds=found.properties, old_inputs=found.inputs, news=encode(inputs))
        assert set(driver.provider.Diff(request, echo.Context()).diffs) <= THE_PROVIDERS_OWN
