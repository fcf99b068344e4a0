"""
When a cluster may be upgraded: a window that comes again, and times at which nothing is.

Sources: https://cloud.google.com/kubernetes-engine/docs/how-to/maintenance-window, read 2026-11 (one window for a cluster, 48 hours in
32 days, of which those count that are four or more in a row); discovery document container v1, `MaintenanceExclusionOptions.scope`.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from infra.components.budget import Day
from infra.errors import Problem, ProblemsError
from infra.spec import Spec, WholeNumber, distinct, pattern

WINDOW_HOURS = (4, 24)
"""A window is of four hours at least, one after the other."""
HOURS_IN_32_DAYS = 48
"""Windows of 32 days make so many hours at least; 32 days hold four whole weeks."""
WEEKS = 4
BEGINS = date(2026, 1, 1)
"""The day that windows are counted from. Any day in the past would do: another one would be a change of every cluster."""
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
Scope = Literal["no-upgrades", "no-minor-upgrades", "no-minor-or-node-upgrades"]
SCOPES = {one: one.upper().replace("-", "_") for one in ("no-upgrades", "no-minor-upgrades", "no-minor-or-node-upgrades")}


class WindowSpec(Spec):
    """Hours, on days of the week, in which Google may upgrade control plane and nodes by itself."""

    days: Annotated[list[Weekday], Field(min_length=1), AfterValidator(distinct)]
    """Days of the week on which a window begins."""
    start: Annotated[
        str,
        StringConstraints(strict=True),
        pattern(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]", "is no time of day in UTC", '"18:00"'),
    ]
    """When it begins, in UTC."""
    hours: Annotated[WholeNumber, Field(ge=WINDOW_HOURS[0], le=WINDOW_HOURS[1])]
    """How long it is."""

    @model_validator(mode="after")
    def _long_enough(self) -> Self:
        total = len(self.days) * self.hours * WEEKS
        if total < HOURS_IN_32_DAYS:
            allowed = f"{HOURS_IN_32_DAYS // WEEKS} hours or more in a week"
            message = f"makes {total} hours in 32 days, and GKE wants {HOURS_IN_32_DAYS}"
            raise ProblemsError([Problem("hours", message, allowed, "more days, or longer windows")])
        return self

    def declared(self) -> dict[str, str]:
        """As the provider takes it."""
        begin = datetime.combine(BEGINS, datetime.strptime(self.start, "%H:%M").time())  # noqa: DTZ007 - UTC, as its docstring says
        days = ",".join(one[:2].upper() for one in self.days)
        return {
            "start_time": f"{begin.isoformat()}Z",
            "end_time": f"{(begin + timedelta(hours=self.hours)).isoformat()}Z",
            "recurrence": f"FREQ=WEEKLY;BYDAY={days}",
        }


class ExclusionSpec(Spec):
    """Days on which Google upgrades nothing, or only small things. In UTC."""

    start: Annotated[Day, Field(alias="from")]
    """First day, such as 2026-12-20."""
    end: Annotated[Day, Field(alias="until")]
    """Last day."""
    scope: Scope = "no-upgrades"
    """What is held back: all, minor versions, or minor versions and everything on nodes."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.end < self.start:
            raise ProblemsError([Problem("until", f"{self.end} is before {self.start}", f"{self.start} or later")])
        return self

    def declared(self, name: str) -> dict[str, Any]:
        """As the provider takes it."""
        return {
            "exclusion_name": name,
            "start_time": f"{self.start}T00:00:00Z",
            "end_time": f"{self.end + timedelta(days=1)}T00:00:00Z",
            "exclusion_options": {"scope": SCOPES[self.scope]},
        }
