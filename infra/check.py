"""
A stack, looked at before it exists: what it declares, which rules hold, what it costs. No engine and no cloud.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from infra.declared import UNKNOWN, Declared
from infra.errors import Problem, SpecError, nearest

if TYPE_CHECKING:
    from infra.apps import AppsSpec
    from infra.components.budget import BudgetSpec
    from infra.components.job import JobSpec
    from infra.confirmed import ConfirmedSpec
    from infra.cost.estimate import Estimate
    from infra.cost.headroom import Headroom
    from infra.findings import Found
    from infra.policy.rule import Finding
    from infra.stack import StackSpec
    from infra.stack_file import FileSpec

RESOURCES = "usage.resources"
LOCATION = re.compile(r"projects/[^/]+/locations/([^/]+)/")
FILE = re.compile(r"Pulumi\.([A-Za-z0-9._-]+)\.yaml")


@dataclass(frozen=True, slots=True)
class StackFile:
    """A stack by the name that the engine knows it by, and its file."""

    stack: str
    path: Path


@dataclass(frozen=True)
class Checked:
    """What is known of a stack before it exists."""

    file: StackFile
    spec: FileSpec
    resources: list[Declared]

    @property
    def apps(self) -> AppsSpec | None:
        """The spec, where the stack holds what lives in a cluster. Its modules are imported for no other."""
        if self.spec.kind != "apps":
            return None
        from infra.apps import AppsSpec

        assert isinstance(self.spec, AppsSpec)
        return self.spec

    @property
    def region(self) -> StackSpec | None:
        """The spec, where the stack holds a region."""
        from infra.stack import StackSpec

        return self.spec if isinstance(self.spec, StackSpec) else None

    @cached_property
    def headroom(self) -> list[Headroom]:
        """
        The month beside each budget that counts it: a region's own beside what it costs itself, those of a foundation beside what all
        stacks of the project cost.
        """
        from infra.cost.headroom import headroom

        own = self.region.budgets if self.region else {}
        above: dict[str, BudgetSpec] = {}
        if self.spec.kind == "foundation":
            above = dict(getattr(self.spec, "budgets", {}))
        elif self.region and self.region.of_foundation:
            above = {f"{self.region.foundation}/{name}": one for name, one in self.region.of_foundation.budgets.items()}
        if not above:
            return headroom(self.estimate, own)
        from infra.whole_project import estimate

        return headroom(estimate(self), above) + headroom(self.estimate, own)

    @property
    def jobs(self) -> Mapping[str, JobSpec]:
        """Jobs that a runner of the stack runs."""
        return self.region.jobs if self.region else {}

    @property
    def confirmed(self) -> Sequence[ConfirmedSpec]:
        return getattr(self.spec, "confirmed", ())

    @property
    def findings(self) -> list[Finding]:
        """Where a rule does not hold."""
        return self._parted[0]

    @property
    def excepted(self) -> list[Finding]:
        """Where one does not hold, and need not until a day."""
        return self._parted[1]

    @property
    def reasons(self) -> dict[str, str]:
        """Why accelerators are dear, or stand around the clock: words by what they are about, such as `tpu_slices.try`."""
        return {at: words for at, words in self._reasons.items() if at in self._parted[2]}

    @cached_property
    def _reasons(self) -> dict[str, str]:
        from infra.policy.said import SECTIONS, reasons

        return reasons({key: getattr(self.spec, key, {}) for key in SECTIONS})

    @cached_property
    def _parted(self) -> tuple[list[Finding], list[Finding], set[str]]:
        from infra.cost import within_budget
        from infra.policy.rule import check, parted
        from infra.policy.said import Said

        found = check(self.resources, self.spec.region, Said(tuple(one.confirmation for one in self.confirmed)))
        found += within_budget.findings(self.headroom)
        needed = {one.reason_at for one in found if one.reason_at}
        left = [one for one in found if one.reason_at not in self._reasons]
        standing, excepted = parted(left, [one.exception for one in self.spec.exceptions])
        return standing, excepted, needed

    @cached_property
    def warnings(self) -> list[Found]:
        """What is allowed, and may be meant otherwise."""
        from infra.components import job, pool_checks, registered

        if apps := self.apps:
            from infra.in_cluster import cluster_job, compute_class, controllers
            from infra.policy.excepted import this_day

            return [
                *self._exceptions(),
                *compute_class.warnings(apps.compute_classes, apps.region, apps.confirmations),
                *cluster_job.warnings(apps.jobs, apps.queues, apps.rooms, this_day()),
                *controllers.warnings(apps.controllers, apps.system_nodes),
            ]
        if (spec := self.region) is None:
            return self._exceptions()
        from infra.cost import within_budget

        hosts = {name: one.bounds()[1] if one.several_hosts else 1 for name, one in spec.node_pools.items()}
        pools = {name: within_budget.Pool(one.bounds()[1], hosts[name]) for name, one in spec.node_pools.items()}
        return [
            *self._exceptions(),
            *spec.unheard(),
            *job.warnings(spec.jobs),
            *registered.warnings(spec.endpoints, spec.models, spec.jobs),
            *pool_checks.warnings(spec.node_pools, spec.allow_replace),
            *within_budget.warnings(self.headroom, self.estimate, pools),
        ]

    def _exceptions(self) -> list[Found]:
        """Exceptions that have ended, and those of what breaks no rule; reasons that nothing needs."""
        from infra.findings import Found
        from infra.policy.excepted import this_day

        today, broken = this_day(), {(one.rule, one.resource) for one in self.excepted}
        found = []
        for one in self.spec.exceptions:
            if one.until < today:
                words = f"the exception of {one.rule} for {one.resource} ended on {one.until}"
                found.append(Found("exceptions", "warning", words, "mend what it was for, and remove it; or give it another day"))
            elif (one.rule, one.resource) not in broken:
                words = f"{one.resource} does not break {one.rule}: the exception is of no use"
                found.append(Found("exceptions", "warning", words, "remove it"))
        for at in sorted(self._reasons.keys() - self.reasons.keys()):
            words = "is of no use: its accelerators are neither got on demand nor do they stand around the clock"
            found.append(Found(f"{at}.because", "warning", words, "remove it"))
        return found

    @cached_property
    def estimate(self) -> Estimate:
        """What it costs a month."""
        from infra.cost.estimate import estimate

        autopilot = bool(self.apps and not self.apps.cluster_spec.own_nodes)
        return estimate(self.resources, self.spec.usage, region=self.spec.region, autopilot=autopilot)


def stack_files(names: Sequence[str], folder: Path) -> list[StackFile]:
    """
    The stack files that *names* mean: a stack's name, or a path; all of *folder* where none is named.

    Raises:
        SpecError: A name has no file, a path is not named like a stack file, or the folder holds none.
    """
    paths = sorted(folder.glob("Pulumi.*.yaml")) if _is(folder.is_dir) else []
    known = {match[1]: path for path in paths if (match := FILE.fullmatch(path.name))}
    if not names:
        if not known:
            raise SpecError(str(folder), [Problem("", "holds no stack file", "Pulumi.<stack>.yaml", "write one: accelform init")])
        return [StackFile(stack, path) for stack, path in known.items()]
    found, problems = [], []
    for name in dict.fromkeys(names):
        path = Path(name)
        match = FILE.fullmatch(path.name)
        if name in known:
            found.append(StackFile(name, known[name]))
        elif match and _is(path.is_file):
            found.append(StackFile(match[1], path))
        elif _is(path.is_dir):
            problems.append(Problem(name, "is a folder", fix=f"accelform check --stacks {name}"))
        elif _is(path.is_file):
            problems.append(Problem(name, "is not named like a stack file", "Pulumi.<stack>.yaml", "rename it"))
        else:
            close = nearest(name, known)
            problems.append(Problem(name, "there is no such stack", ", ".join(close or known), "write it: accelform init"))
    if problems:
        raise SpecError(str(folder), problems)
    return found


def _is(look: Callable[[], bool]) -> bool:
    """A name that no file system takes (too long, say) is no file and no folder."""
    try:
        return look()
    except (OSError, ValueError):
        return False


def check(file: StackFile, shown: str | None = None) -> Checked:
    """
    Everything that can be known of one stack without an engine.

    Args:
        shown: What errors call the file. (default: its path)

    Raises:
        SpecError: With every problem of the file.
    """
    from infra import stack_kinds, twice
    from infra.collect import collect

    spec = stack_kinds.load(file.path, shown)
    checked = Checked(file, spec, collect(lambda: stack_kinds.declare(spec, file.stack), file.stack))
    if found := list(twice.problems(checked.resources)):
        raise SpecError(shown or str(file.path), found)
    if spec.usage.resources and (problems := checked.estimate.problems):
        raise SpecError(shown or str(file.path), _with_lines(problems, spec.usage.resources, file.path))
    return checked


def _with_lines(problems: Sequence[Problem], names: Iterable[str], path: Path) -> list[Problem]:
    """Problems of `usage.resources`, each with its line in the file. The name of a resource may hold dots."""
    from infra.yaml_file import read

    file = read(path)
    found = []
    for one in problems:
        rest = one.path.removeprefix(f"{RESOURCES}.")
        name = max((name for name in names if f"{rest}.".startswith(f"{name}.")), key=len)
        field = [rest[len(name) + 1 :]] if rest != name else []
        found.append(replace(one, line=file.line_of(("config", "accelform:usage", "resources", name, *field))))
    return sorted(found, key=lambda one: one.line or 0)


def place(resource: Declared) -> str:
    """Where a resource stands: its zones, zone, region or location as declared; what is in a cluster there; else `global`."""
    zones = resource.get("nodeLocations")
    if isinstance(zones, list) and zones and all(isinstance(one, str) for one in zones):
        first, *others = zones  # of one region: the letter tells
        return ", ".join([first.lower(), *(f"-{one.lower().rpartition('-')[2]}" for one in others)])
    for key in ("zone", "region", "location"):
        value = resource.get(key)
        if value is UNKNOWN:
            return "unknown"
        if value:
            return str(value).lower()
    if match := LOCATION.match(str(resource.get("keyRing") or "")):
        return match[1]
    return "cluster" if resource.type.startswith("kubernetes:") else "global"


def shown_name(resource: Declared) -> str:
    """The physical name where the resource has one."""
    for key in ("accountId", "repositoryId", "displayName", "name"):
        physical = resource.inputs.get(key)
        if isinstance(physical, str):
            return physical
    return resource.name
