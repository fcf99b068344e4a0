"""`spot-or-reason`: the dearest way to an accelerator is one that somebody chose, and said why."""

from __future__ import annotations

from collections.abc import Iterator

from infra.declared import Declared
from infra.policy.held import ON_DEMAND, of
from infra.policy.rule import Broken, Rule


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """
    Accelerators on demand. A job and a class of nodes may have it behind a cheaper way, for when that has no room. A reservation is paid
    whether it is used or not, so that to use it is no choice.
    """
    for one in of(resource):
        if one.way == ON_DEMAND:
            yield Broken(one.way_path, f"{one.what} is got on demand, and {one.at}.because does not say why", reason_at=one.at)
        elif one.way is None:
            yield Broken(one.way_path, f"how {one.what} is got must be known at preview", reason_at=one.at)


RULE = Rule(
    name="spot-or-reason",
    description="Accelerators are got as Spot, by flex-start or from a reservation; else the stack file says why.",
    remediation='set `provisioning: spot`, of an endpoint `spot: true`; or write `because: "..."` beside it',
    severity="medium",
    find=find,
)
