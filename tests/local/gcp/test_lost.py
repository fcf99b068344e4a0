"""Creates whose answer does not come, over the sandbox: nothing is made twice, and nothing is lost."""

from __future__ import annotations

import echo
import pytest
from region import REGION, Region

from infra.provider.values import Decoded
from infra.sandbox.faults import Fault

MADE = [
    token for token, _ in REGION if "IAMMember" not in token and "IamMember" not in token and token != "gcp:compute/routerNat:RouterNat"
]


@pytest.mark.parametrize("token", MADE)
def test_a_create_whose_answer_is_lost_is_not_lost(token: str, region: Region, driver: echo.Driver) -> None:
    """The state keeps what was made; the next run finds it as it should be, and makes no second one."""
    inputs = region.bring_up(token)
    region.cloud.faults.add(Fault(do="lost", at=1, method="POST"))
    with pytest.raises(echo.AbortedError, match="it was made all the same") as error:
        driver.create(token, inputs)
    kept = error.value.detail
    assert Decoded(kept.inputs).values == inputs
    updated = driver.update(token, kept.id, Decoded(kept.properties).values, inputs, inputs)
    read = driver.read(token, kept.id, Decoded(updated.properties).values, inputs)
    assert Decoded(read.inputs).values == inputs
    assert Decoded(read.properties).values == Decoded(updated.properties).values


@pytest.mark.parametrize("token", MADE)
@pytest.mark.parametrize("fault", [Fault(do="drop", at=1, method="POST"), Fault(do="error", at=1, method="POST")])
def test_a_create_that_did_not_arrive_is_sent_again(token: str, fault: Fault, region: Region, driver: echo.Driver) -> None:
    """After a cut connection, or a 503, the thing is looked for, and made when it is not there."""
    inputs = region.bring_up(token)
    region.cloud.faults.add(fault)
    made = driver.create(token, inputs)
    assert Decoded(driver.read(token, made.id, Decoded(made.properties).values, inputs).inputs).values == inputs
    assert region.cloud.faults.shown()[0]["done"] == 1


def test_what_was_there_before_is_not_taken_for_ours(region: Region, driver: echo.Driver) -> None:
    """A lost answer, and a network of that name with another MTU: it stays somebody else's."""
    token, declared = REGION[0]
    driver.create(token, driver.checked(token, declared | {"mtu": 1500}))
    region.cloud.faults.add(Fault(do="drop", at=1, method="POST"))
    with pytest.raises(echo.AbortedError, match=r"^Error creating Network: googleapi: Error 409: .*already exists") as error:
        driver.create(token, driver.checked(token, declared))
    assert error.value.detail is None
