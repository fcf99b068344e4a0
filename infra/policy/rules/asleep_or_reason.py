"""`asleep-or-reason`: an accelerator that is never given back is one that somebody wants so, and said why."""

from __future__ import annotations

from collections.abc import Iterator

from infra.declared import Declared
from infra.policy.held import of
from infra.policy.rule import Broken, Rule


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Accelerators that stand around the clock, Spot or not, in every environment: a month of one costs the same in dev as in prod."""
    for one in of(resource):
        if one.stands:
            words = f"{one.what} stands around the clock, and {one.at}.because does not say why"
            yield Broken(one.stands_path, words, reason_at=one.at)
        elif one.stands is None:
            yield Broken(one.stands_path, f"whether {one.what} stands around the clock must be known at preview", reason_at=one.at)


RULE = Rule(
    name="asleep-or-reason",
    description="Accelerators go when nobody needs them; of those that stand around the clock the stack file says why.",
    remediation='set an end (`max_run_minutes`), a minimum of 0, or make it a job; or write `because: "..."` beside it',
    severity="medium",
    find=find,
)
