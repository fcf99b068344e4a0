"""What a stack file excepts from a rule, by name and until a day."""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, StringConstraints

from infra.errors import nearest
from infra.policy.excepted import Excepted
from infra.spec import Because, Spec, problem

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def _rule(value: str) -> str:
    from infra.policy.stack_rules import every

    names = [rule.name for rule in every()]
    if value not in names:
        raise problem("is no rule", allowed=nearest(value, names) or names)
    return value


def _day(value: object) -> object:
    """Refuses what only the parser takes for a day, such as seconds since 1970: the rules in the engine read the file's own words."""
    if (isinstance(value, str) and DAY.fullmatch(value)) or type(value) is dt.date:
        return value
    raise problem("is not a date, such as 2026-12-01")


class ExceptionSpec(Spec):
    """One rule that need not hold of one resource, until a day."""

    rule: Annotated[str, StringConstraints(strict=True), AfterValidator(_rule)]
    """Name of the rule, as `accelform check` prints it."""
    resource: Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200)]
    """Name of the resource, as the finding has it; of a budget its key."""
    until: Annotated[dt.date, BeforeValidator(_day)]
    """The last day of it, in UTC. From the next on the rule holds again."""
    because: Because
    """Why: a sentence for whoever reads the file next."""

    @property
    def exception(self) -> Excepted:
        return Excepted(self.rule, self.resource, self.until)
