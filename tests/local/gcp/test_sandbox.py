"""The provider against the sandbox itself, without a process between them: what a region declares comes, stays and goes."""

from __future__ import annotations

from concurrent import futures
from typing import get_args

import echo
import pytest
from pulumi.runtime.proto import provider_pb2
from region import REGION, Region

from infra import gcp
from infra.provider.values import Decoded, encode


def test_a_region_comes_stays_and_goes(driver: echo.Driver) -> None:
    """No refresh finds drift, an import finds what was written, and nothing is left in the end."""
    made = []
    for token, declared in REGION:
        inputs = driver.checked(token, declared)
        answer = driver.create(token, inputs)
        made.append((token, answer.id, Decoded(answer.properties).values))
        read = driver.read(token, answer.id, Decoded(answer.properties).values, inputs)
        assert (token, Decoded(read.inputs).values) == (token, inputs)
        imported = driver.read(token, answer.id)
        request = provider_pb2.DiffRequest(urn=driver.urn(token), olds=imported.properties, old_inputs=imported.inputs, news=encode(inputs))
        found = driver.provider.Diff(request, echo.Context())
        assert (token, set(found.diffs) - {"forceDestroy", "deletionProtection"}) == (token, set())  # Google does not know these
    for token, id, state in reversed(made):
        driver.delete(token, id, state)
        assert (token, driver.read(token, id, state).id) == (token, "")


def test_a_range_for_load_balancers_comes_and_stays(driver: echo.Driver) -> None:
    """A subnet of another purpose: what it was told is what is read."""
    token = "gcp:compute/subnetwork:Subnetwork"
    driver.create("gcp:compute/network:Network", {"name": "net", "autoCreateSubnetworks": False})
    proxies = {
        "name": "proxies",
        "region": "us-east5",
        "ipCidrRange": "10.0.16.0/23",
        "purpose": "REGIONAL_MANAGED_PROXY",
        "role": "ACTIVE",
    }
    inputs = driver.checked(token, dict(REGION)[token] | proxies | {"privateIpGoogleAccess": None})
    answer = driver.create(token, inputs)
    read = driver.read(token, answer.id, Decoded(answer.properties).values, inputs)
    assert Decoded(read.inputs).values == inputs


def test_waits_are_short(driver: echo.Driver) -> None:
    """The sandbox moves its own clock when it is asked: nobody waits for the hours that it plays."""
    driver.create("gcp:compute/network:Network", {"name": "net"})
    assert sum(driver.waits) < 1


@pytest.mark.parametrize("of", ["gcp:storage/bucketIAMMember:BucketIAMMember", "gcp:projects/iAMMember:IAMMember"])
def test_two_providers_write_one_policy(of: str, region: Region) -> None:
    """As when two stacks come up at once: no member is lost, and none of the other's is taken away."""
    drivers = [region.driver(), region.driver()]
    bucket = dict(REGION)["gcp:storage/bucket:Bucket"]
    drivers[0].create("gcp:storage/bucket:Bucket", drivers[0].checked("gcp:storage/bucket:Bucket", bucket))
    grants = [dict(REGION)[of] | {"member": f"user:{number}@shop.example"} for number in range(24)]
    with futures.ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(lambda number: drivers[number % 2].create(of, grants[number]).id, range(24)))
        assert [drivers[0].read(of, id, grant).id for id, grant in zip(ids, grants, strict=True)] == ids
        list(pool.map(lambda number: drivers[number % 2].delete(of, ids[number], grants[number]), range(0, 24, 2)))
    assert [drivers[0].read(of, id, grant).id for id, grant in zip(ids, grants, strict=True)] == [
        id if number % 2 else "" for number, id in enumerate(ids)
    ]


def test_programs_get_what_the_sdk_promises(driver: echo.Driver) -> None:
    """Every output is of the type that the SDK's class says it is: an id is a number here and a string there."""
    for token, declared in REGION:
        state = Decoded(driver.create(token, driver.checked(token, declared)).properties).values
        wrong = {name for name, wanted in promised(token).items() if type(state.get(name)) not in (wanted, type(None))}
        assert (token, wrong) == (token, set())


def promised(token: str) -> dict[str, type]:
    """The plain outputs that the SDK's class of a type has, and their types."""
    _, module, name = token.split(":")
    found = {}
    for attribute in vars(getattr(getattr(gcp, module.partition("/")[0]), name)).values():
        if isinstance(attribute, property) and attribute.fget:
            (type_,) = get_args(attribute.fget.__annotations__["return"])
            for plain in (str, int, bool):
                if type_ in (plain, plain | None):
                    found[attribute.fget._pulumi_name] = plain
    return found
