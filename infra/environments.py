"""
What an environment decides: one table. Whatever asks for an environment's name asks here.

What it does not decide, its stack file says: sizes, places, budgets. Nor is it a part of names: a stack's name is, and each environment has
a project of its own, whose id is in the names that are one in all of Google Cloud.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

EnvironmentName = Literal["dev", "staging", "prod"]
NAMES: tuple[str, ...] = get_args(EnvironmentName)
"""In the order in which a change passes through them."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What holds in one environment, where the stack file does not say otherwise."""

    name: str
    """Value of the label `environment`, too."""
    protects_data: bool
    """Whether what holds data or capacity outlives a destroy."""
    deletion_protection: bool
    """Whether the provider refuses to delete a cluster, too, by default."""
    least_replicas: int
    """Replicas that must always stand of whatever answers."""
    spot_alone: bool
    """Whether all of what answers may stand on Spot."""
    names_somebody: bool
    """Whether it is told where nobody gets the mail."""


EVERY: dict[str, Environment] = {
    one.name: one
    for one in (
        Environment("dev", False, False, 0, True, False),
        Environment("staging", True, False, 0, True, False),
        Environment("prod", True, True, 1, False, True),
    )
}


def of(name: str) -> Environment:
    """The environment of a stack file, which has been checked."""
    return EVERY[name]


def protects(label: object) -> bool:
    """Whether data with that label `environment` outlives a destroy: one that is missing, or that nobody knows, is held to be prod's."""
    return EVERY[label].protects_data if isinstance(label, str) and label in EVERY else True


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that an environment decides, as people read it."""

    what: str
    by: dict[str, str]
    """What holds, by environment."""
    because: str


def _row(what: str, says: dict[bool, str], of_each: dict[str, bool], because: str) -> Row:
    return Row(what, {name: says[of_each[name]] for name in NAMES}, because)


def rows() -> list[Row]:
    """The table, for documents and `accelform explain environment`."""
    every = EVERY
    return [
        Row(
            "label `environment`",
            {name: name for name in NAMES},
            "so that a bill, a budget and a clean-up can ask",
        ),
        Row("project", dict.fromkeys(NAMES, "its own"), "quota, budgets and rights are a project's: `check` refuses two in one"),
        _row(
            "a destroy",
            {True: "stops before data and capacity", False: "takes all"},
            {name: one.protects_data for name, one in every.items()},
            "buckets, images, volumes, clusters and node pools have the engine's `protect`; a volume's disk stays when its claim goes",
        ),
        _row(
            "`clusters.<name>.deletion_protection`",
            {True: "true", False: "false"},
            {name: one.deletion_protection for name, one in every.items()},
            "a second lock, which `pulumi state unprotect` does not open. Machines have none: Spot and run limits end them",
        ),
        Row(
            "replicas of what answers",
            {name: f"{one.least_replicas} or more, 1 if not said" for name, one in every.items()},
            "a shopper waits for no node; elsewhere nobody pays for what nobody asks. `may_be_down` names what may",
        ),
        _row(
            "Spot alone for what answers",
            {True: "yes", False: "no"},
            {name: one.spot_alone for name, one in every.items()},
            "Google may take all of it at once. `may_be_down` names what may",
        ),
        _row(
            "nobody in `notify`",
            {True: "is told", False: "is fine"},
            {name: one.names_somebody for name, one in every.items()},
            "else the billing account's administrators alone hear of a budget, and nobody of an alert",
        ),
        Row(
            "versions of objects",
            dict.fromkeys(NAMES, "kept"),
            "what was overwritten by mistake is had again, in dev too; how long, `storage` says",
        ),
    ]
