"""
What a region holds, by its stack file: `stacks/Pulumi.<stack>.yaml` -> `StackSpec`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, StringConstraints, ValidationInfo, field_validator, model_validator

from infra import answering, environments, keys, names
from infra.answering import Answering
from infra.catalog import confirmed as by_name
from infra.catalog import places, services, zones
from infra.catalog.fits import Verdict, judge
from infra.catalog.tpu import TpuShape
from infra.components import alerts
from infra.components import registered as models_of_jobs
from infra.components.budget import EMAILS_MAX, BudgetSpec, Notified
from infra.components.cluster import EXISTING, NODES_MAX, ClusterSpec, system_pool
from infra.components.endpoint import ENDPOINT, EndpointSpec
from infra.components.gpu_vm import GpuVmSpec
from infra.components.images import RUNNER, Image
from infra.components.job import JobSpec
from infra.components.model import ModelSpec
from infra.components.monitoring import MonitoringSpec
from infra.components.network import NetworkSpec, shared
from infra.components.node_pool import NodePoolSpec
from infra.components.spend_cap import SpendCapSpec
from infra.components.storage import StorageSpec
from infra.components.tpu_slice import TpuSliceSpec
from infra.confirmed import ConfirmedSpec
from infra.errors import Problem, ProblemsError, SpecError, nearest
from infra.findings import Found
from infra.spec import Name, distinct
from infra.stack_file import FileSpec, check_beside, read_beside
from infra.yaml_file import YamlFile

if TYPE_CHECKING:
    from infra.foundation import FoundationSpec

SWEEP = "sweep"
"""What the sweep of a stack's jobs is called."""


def _taken(whose: str) -> tuple[str, str]:
    """Why a name cannot be had twice, and what would do."""
    return f"is the name of {whose}: nobody could tell their costs apart, nor what `usage` says of them", "a name of its own"


def _foundation(value: str, info: ValidationInfo) -> str:
    return check_beside(value, (info.context or {}).get("foundation"))


class StackSpec(FileSpec):
    """What a region holds: one stack file."""

    later: ClassVar[dict[str, str]] = {
        "never_stop": "what budget actions must leave alone",
    }

    kind: Literal["region"] = "region"
    """What kind of stack it is: `foundation` holds what a project has once; `region` holds everything in one region; `apps` holds what
    lives in a cluster of a region."""
    foundation: Annotated[str, StringConstraints(strict=True), AfterValidator(_foundation)] | None = None
    """Stack that holds what the project has once: its budget, and who gets the mail. Its file stands beside this one. (default: none)"""
    notify: Annotated[list[Notified], Field(max_length=EMAILS_MAX), AfterValidator(distinct)] = []
    """Who gets the mail of budgets, as `email:` addresses, or as `existing:` and the full name of a channel that others own; the billing
    account's administrators get it besides, and those whom the foundation names."""
    network: NetworkSpec = NetworkSpec()
    storage: StorageSpec = StorageSpec()
    tpu_slices: dict[Name, TpuSliceSpec] = {}
    """Standing TPU slices, by name."""
    gpu_vms: dict[Name, GpuVmSpec] = {}
    """Standing machines with GPUs, by name."""
    clusters: dict[Name, ClusterSpec] = {}
    """GKE clusters, by name."""
    node_pools: dict[Name, NodePoolSpec] = {}
    """Nodes with accelerators in the clusters, by name."""
    allow_replace: Annotated[list[Name], AfterValidator(distinct)] = []
    """Node pools that the next update may make anew, which takes their capacity away for a while. Take the name out after it."""
    images: dict[Name, Image] = {}
    """Images of the stack's containers, by name: `runner` runs the jobs, `train`, `serve` and `tf` are those of the workloads. Each by its
    digest."""
    jobs: dict[Name, JobSpec] = {}
    """Jobs on machines that are made for a run and deleted after it, by name."""
    models: dict[Name, ModelSpec] = {}
    """Models in Vertex AI's registry, by name."""
    endpoints: dict[Name, EndpointSpec] = {}
    """Vertex AI endpoints, by name."""
    budgets: dict[Name, BudgetSpec] = {}
    """Budgets, by name. At least one of them counts the whole project; where a foundation is named it does, and these count the stack."""
    may_be_down: Annotated[list[Name], AfterValidator(distinct)] = []
    """Endpoints that may be down in prod: with no replica that always stands, or all on Spot. Elsewhere any may."""
    spend_caps: dict[Name, SpendCapSpec] = {}
    """Caps on what the project's month of one service may cost, by name."""
    monitoring: MonitoringSpec | None = None
    """Alerts and a dashboard; `{}` for all with their defaults. Mail goes to `notify`. What they cost no source says, so that the month's
    total is then incomplete. (default: none)"""
    confirmed: list[ConfirmedSpec] = []
    """What a place has although no good source says so, each with the reason."""
    _foundation: FoundationSpec | None = PrivateAttr(None)

    @field_validator("budgets")
    @classmethod
    def _one_at_least(cls, value: dict[str, BudgetSpec], info: ValidationInfo) -> dict[str, BudgetSpec]:
        if not value and info.data.get("foundation", "") is None:  # a wrong one has a reason of its own
            fix = "write one; or name the stack that holds the project's in `foundation`"
            raise ProblemsError([Problem("", "is missing", keys.description(cls, "budgets"), fix)])
        return value

    @model_validator(mode="after")
    def _project_wide(self, info: ValidationInfo) -> Self:
        found = (info.context or {}).get("foundation")
        if found is not None and not isinstance(found, SpecError):
            self._foundation = found
        problems = [*self._of_foundation(), *self._budgets()]
        problems += [*self._of_others(), *self._jobs(), *self._node_pools(), *self._monitoring()]
        problems += answering.problems(self.environment, self._answering(), self.may_be_down)
        for name in self.gpu_vms.keys() & self.tpu_slices.keys():
            problems.append(Problem(f"gpu_vms.{name}", *_taken("a slice"), "rename one of the two"))
        problems += self._shared()
        told = self.clusters and self.network.proxy_cidr  # of a cluster of others, what routes into it must know
        if not self.needs_network and "network" in self.model_fields_set and not told:
            problems.append(Problem("network", "does nothing: the stack has no machine", fix="remove it"))
        verdicts = list(self.verdicts())
        for number, entry in enumerate(self.confirmed):
            if not any(by_name.covers([entry.confirmation], verdict) for verdict in verdicts):
                message = f"is used by nothing: no machine of this file needs {entry.what} confirmed there"
                problems.append(Problem(f"confirmed.{number}", message, fix="remove it"))
        for name, endpoint in self.endpoints.items():
            for path, key in endpoint.references().items():
                if key not in self.models:
                    allowed = ", ".join(nearest(key, self.models) or self.models) or "a model's full name, or a key of `models:`"
                    problems.append(Problem(f"endpoints.{name}.{path}", f"{key} is no key of models", allowed))
        if problems:
            raise ProblemsError(problems)
        return self

    def _of_foundation(self) -> Iterator[Problem]:
        """What must be as the foundation's file has it."""
        if self._foundation is None:
            return
        if self.project != self._foundation.project:
            words = f"{self.project} is not that of stack {self.foundation}, its foundation"
            yield Problem("project", words, self._foundation.project, "name the foundation of this project")
        for number, address in enumerate(self.notify):
            if address in self._foundation.notify:
                yield Problem(f"notify.{number}", f"has the mail already, from stack {self.foundation}", fix="remove it")
        if len(every := {*self.notify, *self._foundation.notify}) > EMAILS_MAX:
            yield Problem("notify", f"{len(every)} with those of stack {self.foundation}: a budget takes {EMAILS_MAX}", fix="remove some")

    def _of_others(self) -> Iterator[Problem]:
        """What others own, and cannot do here."""
        for name, endpoint in self.endpoints.items():
            owner = ENDPOINT.parts(endpoint.existing)["project"] if endpoint.existing else self.project
            if owner != self.project:
                words = f"is one of project {owner}: what is deployed on it would be there"
                yield Problem(f"endpoints.{name}.existing", words, f"an endpoint of {self.project}")
        for name, pool in self.node_pools.items():
            cluster = self.clusters.get(pool.cluster)
            if pool.existing and cluster and f"{cluster.existing}/nodePools" != pool.existing.rpartition("/")[0]:
                allowed = f"a pool of {cluster.existing}" if cluster.existing else "a cluster that is existing too"
                yield Problem(f"node_pools.{name}.existing", f"is no pool of clusters.{pool.cluster}", allowed)
        for name, job in self.jobs.items():
            model = self.models.get(job.registers or "")
            if model and model.existing:
                words = f"{job.registers} is existing: its owner registers its versions"
                yield Problem(f"jobs.{name}.registers", words, "a model of this file")

    def _budgets(self) -> Iterator[Problem]:
        """One budget counts the whole project, every month: a label does not see what carries none, and a period ends."""
        if self.foundation:
            for name, budget in self.budgets.items():
                if budget.scope == "project":
                    words = f"counts the project, which is what stack {self.foundation} does"
                    yield Problem(
                        f"budgets.{name}.scope", words, "stack", f"write `scope: stack`, or move it to Pulumi.{self.foundation}.yaml"
                    )
        elif not any(budget.scope == "project" and not budget.period for budget in self.budgets.values()):
            fix = "add one with `scope: project` and without `period`: a label does not see what carries none, and a period ends"
            yield Problem("budgets", "none counts the whole project, every month", fix=fix)

    @property
    def of_foundation(self) -> FoundationSpec | None:
        """The foundation's file; None where none is named."""
        return self._foundation

    @property
    def refers_to(self) -> tuple[str, ...]:
        return (self.foundation,) if self.foundation else ()

    @property
    def hears(self) -> bool:
        """Whether anybody gets mail who is named here or in the foundation."""
        return bool(self.notify or (self._foundation and self._foundation.notify))

    def unheard(self) -> Iterator[Found]:
        """That nobody named here would hear of an environment that wants somebody to."""
        if environments.of(self.environment).names_somebody and not self.hears:
            words = f"nobody is named: of {self.environment}'s budgets the billing account's administrators alone hear, of alerts nobody"
            yield Found("notify", "warning", words, "write `accelform:notify`, or name a foundation that has it")

    def _jobs(self) -> Iterator[Problem]:
        """What is wrong with the jobs beside the rest of the file: images that are not said, models that are not there."""
        if self.jobs and RUNNER not in self.images:
            yield Problem(f"images.{RUNNER}", "is missing: it runs the jobs", fix=f"build it: accelform image build {RUNNER}")
        if self.jobs and (lacks := services.missing(self.region)):
            words = " and ".join(f"{services.NAMES[one]} ({row.source})" for one in lacks if (row := services.row(one, self.region)))
            yield Problem(
                "jobs",
                f"cannot stand in {self.region}: what runs and starts a job stands in its region, and {self.region} has no {words}",
                f"a region with both, such as {', '.join(_able(self.region)[:5])}",
                "write a standing slice under `tpu_slices`, which needs neither; or a job of another generation in another region's file",
            )
        registered: dict[str, str] = {}
        for name, job in self.jobs.items():
            owners = {"a slice": name in self.tpu_slices, "a machine with GPUs": name in self.gpu_vms}
            if whose := next((one for one, has in (owners | {"what looks after all jobs": name == SWEEP}).items() if has), ""):
                yield Problem(f"jobs.{name}", *_taken(whose), "rename the job")
            image = job.program.image if job.program else ""
            if job.image is None and image and image not in self.images:
                fix = f"build it: accelform image build {image}; or write the job's own `image`"
                yield Problem(f"jobs.{name}.image", f"is missing: {job.workload} runs in the image {image}, and images has none", fix=fix)
            model = job.registers
            if model is None:
                continue
            if model not in self.models:
                allowed = ", ".join(nearest(model, self.models) or self.models) or "a key of `models:`"
                yield Problem(f"jobs.{name}.registers", f"{model} is no key of models", allowed)
            elif model in registered:
                words = f"{model} is registered by {registered[model]} already"
                yield Problem(f"jobs.{name}.registers", words, "a model of one job", "give each job a model of its own")
            registered.setdefault(model, name)
        yield from models_of_jobs.problems(self.models, self.images, registered)
        yield from models_of_jobs.rollout_problems(self.endpoints, self.models, self.jobs)

    def _node_pools(self) -> Iterator[Problem]:
        """What is wrong with the node pools beside the rest of the file: their cluster, and names that others have."""
        systems = {system_pool(name) for name, one in self.clusters.items() if one.mode == "standard"}
        for name, pool in self.node_pools.items():
            cluster = self.clusters.get(pool.cluster)
            if cluster is None:
                allowed = ", ".join(nearest(pool.cluster, self.clusters) or self.clusters) or "a key of `clusters:`"
                yield Problem(f"node_pools.{name}.cluster", f"{pool.cluster} is no key of clusters", allowed)
            elif not cluster.own_nodes:
                words = f"{pool.cluster} is Autopilot, which makes its nodes itself: pods ask for accelerators"
                yield Problem(f"node_pools.{name}.cluster", words, "a Standard cluster", "remove the pool, or set `mode: standard`")
            elif pool.image_cache and not cluster.image_streaming:
                words = f"does nothing: nodes of {pool.cluster} do not stream images, and GKE reads the cache as it streams"
                yield Problem(f"node_pools.{name}.image_cache", words, fix=f"remove it, or clusters.{pool.cluster}.image_streaming")
            if name in systems or any(name in others for others in (self.tpu_slices, self.gpu_vms, self.jobs, self.clusters)):
                words = "is the name of another part: nobody could tell their costs apart, nor what `usage` says of them"
                yield Problem(f"node_pools.{name}", words, "a name of its own", "rename the pool")
        for key, cluster in self.clusters.items():
            if cluster.mode == "standard" and not cluster.secondary_ranges:
                most = cluster.system_pool.max_nodes + sum(one.bounds()[1] for one in self.node_pools.values() if one.cluster == key)
                if most > NODES_MAX:
                    words = f"its pools may have {most} nodes together, and its range for pods is enough for {NODES_MAX}"
                    fix = "name a larger range under `secondary_ranges`, or part it into two clusters"
                    yield Problem(f"clusters.{key}", words, f"{NODES_MAX} or less", fix)
        for number, name in enumerate(self.allow_replace):
            if name not in self.node_pools:
                allowed = ", ".join(nearest(name, self.node_pools) or self.node_pools) or "a key of `node_pools:`"
                yield Problem(f"allow_replace.{number}", f"{name} is no key of node_pools", allowed)

    def _monitoring(self) -> Iterator[Problem]:
        """What is wrong with the monitoring beside the rest of the file: nothing to watch, or nobody who hears of it."""
        if self.monitoring is None:
            if "monitoring" in self.model_fields_set:
                yield Problem("monitoring", "says nothing", "a mapping", "write `{}` for all alerts, or remove it")
            return
        watched = self.watched("")
        if not watched.is_something:
            words = "does nothing: the stack has no accelerator and no endpoint that can be watched"
            yield Problem("monitoring", words, fix="remove it")
            return
        there = {alert.name for alert in alerts.alerts(watched, self.monitoring)}
        for number, name in enumerate(self.monitoring.off):
            if name not in there:
                words = f"does nothing: {name} is of what the stack does not have"
                yield Problem(f"monitoring.off.{number}", words, ", ".join(sorted(there)), "remove it")
        if there - set(self.monitoring.off) and not self.hears:
            yield Problem("monitoring", "its alerts would reach nobody", fix="name somebody in `notify`, or switch all of them `off`")

    def _shared(self) -> Iterator[Problem]:
        """What a subnet of another project asks for: a Shared VPC's."""
        if not shared(self.network, self.project):
            if self.network.existing and self.network.grants:
                words = f"does nothing: the subnet is of {self.project}, whose roles reach it"
                yield Problem("network.grants", words, fix="remove it")
            return
        host = str(self.network.existing).split("/")[1]
        for name, one in self.clusters.items():
            if not one.existing and one.secondary_ranges is None:
                words = f"is missing: GKE makes no ranges in a subnet of another project, {host}"
                fix = "have its owner make two, and name them: accelform doctor --cloud says what the subnet has"
                yield Problem(f"clusters.{name}.secondary_ranges", words, "{ pods: NAME, services: NAME }", fix)

    def _answering(self) -> Iterator[Answering]:
        """Endpoints that serve something. Of several models on one, those that get traffic by themselves must stand, each."""
        for name, one in self.endpoints.items():
            for key, served in one.served.items():
                within = f"endpoints.{name}" if one.model else f"endpoints.{name}.deployed_models.{key}"
                goes = served.spot or served.flex_start is not None
                if served.traffic != 0:
                    yield Answering(name, within, served.min_replicas, "min_replicas", goes, "spot" if served.spot else "flex_start")

    def watched(self, stack: str) -> alerts.Watched:
        """What of the stack of that name its alerts look at."""
        ways = [
            *(one.chosen_way for one in self.own_slices.values()),
            *(one.chosen_way for one in self.jobs.values() if not one.gpus),
        ]
        gpus = [(one.machine_type, [one.provisioning]) for one in self.own_vms.values()]
        gpus += [(one.machine_type or "", one.provisioning) for one in self.jobs.values() if one.gpus and not one.on_vertex]
        clusters: dict[bool, set[str]] = {True: set(), False: set()}
        slices, shared = set(), set()
        for name, pool in self.node_pools.items():
            if (cluster := self.clusters.get(pool.cluster)) is None:
                continue  # refused with a reason of its own
            known = EXISTING.parts(cluster.existing) if cluster.existing else None
            if known and known["project"] != self.project:
                continue  # its metrics are in its own project
            is_tpu = isinstance(pool.host, TpuShape)
            there = known["name"] if known else names.cluster(stack, pool.cluster)
            clusters[is_tpu].add(there)
            if pool.sharing and not pool.partition:
                shared.add(there)
            if pool.several_hosts and not pool.autoscale:
                slices.add(pool.physical(stack, name))
        return alerts.Watched(
            stack,
            self.region,
            tpu_machines="compute-engine" in ways,
            tpu_nodes="tpu-api" in ways,
            gpu_machines=bool(gpus),
            gpus_reported=any(machine.startswith(alerts.REPORTED) and set(sold) != {"spot"} for machine, sold in gpus),
            tpu_clusters=tuple(sorted(clusters[True])),
            gpu_clusters=tuple(sorted(clusters[False])),
            shared_clusters=tuple(sorted(shared)),
            slice_pools=tuple(sorted(slices)),
            endpoints={name: self._endpoint(name, stack, one) for name, one in self.endpoints.items() if one.served},
        )

    def _endpoint(self, name: str, stack: str, spec: EndpointSpec) -> alerts.Endpoint:
        guards = spec.rollout.guards if spec.rollout else None
        bounds = [(one.min_replicas, one.max_replicas or one.min_replicas) for one in spec.served.values()]
        return alerts.Endpoint(
            spec.id_of(self.project, stack, name),
            guards.p95_ms if guards else None,
            guards.error_rate if guards else None,
            sum(most for _, most in bounds) if any(least < most for least, most in bounds) else None,
        )

    @property
    def own_slices(self) -> dict[str, TpuSliceSpec]:
        """Slices that are made; of those that others own nobody here knows what they are."""
        return {name: one for name, one in self.tpu_slices.items() if not one.existing}

    @property
    def own_vms(self) -> dict[str, GpuVmSpec]:
        """Machines with GPUs that are made."""
        return {name: one for name, one in self.gpu_vms.items() if not one.existing}

    @property
    def own_clusters(self) -> bool:
        """Whether a cluster is made."""
        return any(not one.existing for one in self.clusters.values())

    @property
    def grouped(self) -> tuple[str, ...]:
        """What is made by a managed group, and so by Google's agent for it: several hosts, flex-start, and nodes of clusters."""
        slices = {name: one for name, one in self.own_slices.items() if one.chosen_way == "compute-engine"}
        several = [name for name, one in slices.items() if one.hosts > 1 or one.provisioning == "flex-start"]
        jobs = [name for name, one in self.jobs.items() if one.chosen_way == "compute-engine" and one.hosts > 1]
        return (*several, *jobs, *(name for name, one in self.clusters.items() if not one.existing))

    @property
    def needs_network(self) -> bool:
        """Whether a machine of the stack's own may stand: a job on Vertex AI has none."""
        made = self.own_slices or self.own_vms or self.own_clusters
        return bool(made) or not all(job.on_vertex for job in self.jobs.values())

    @property
    def registered(self) -> dict[str, str]:
        """The job that registers a model's versions, by model."""
        return {job.registers: name for name, job in self.jobs.items() if job.registers}

    def image_of(self, job: JobSpec) -> str:
        """The image that a job's container is of."""
        return job.image or self.images[job.program.image if job.program else ""]

    def verdicts(self) -> Iterator[Verdict]:
        """What the catalogue says to every accelerator of the file."""
        yield from (judge(one.wish) for one in self.own_slices.values())
        yield from (judge(one.wish) for one in self.own_vms.values())
        yield from (judge(wish) for job in self.jobs.values() for wish in job.wishes)
        yield from (verdict for pool in self.node_pools.values() for verdict in pool.verdicts(self.region))

    @property
    def confirmations(self) -> tuple[by_name.Confirmation, ...]:
        """What the file confirms by name."""
        return tuple(entry.confirmation for entry in self.confirmed)

    def services(self) -> tuple[str, ...]:
        """APIs that the stack's project must have enabled."""
        ways: set[str] = {one.chosen_way for one in self.own_slices.values()}
        ways |= {"tpu-api" if "/nodes/" in one.existing else "compute-engine" for one in self.tpu_slices.values() if one.existing}
        ways |= {one.chosen_way for one in self.jobs.values()}
        ways |= {"compute-engine"} if self.gpu_vms else set()
        needed = {
            "aiplatform.googleapis.com": bool(self.endpoints or self.models) or "vertex" in ways,
            "artifactregistry.googleapis.com": True,
            "billingbudgets.googleapis.com": True,
            "cloudbilling.googleapis.com": True,
            "cloudbuild.googleapis.com": bool(self.images),
            "cloudresourcemanager.googleapis.com": True,
            "cloudscheduler.googleapis.com": bool(self.jobs),
            "compute.googleapis.com": self.needs_network or "compute-engine" in ways,
            "container.googleapis.com": bool(self.clusters),
            "containeranalysis.googleapis.com": bool(self.images),  # keeps what a build proves of itself
            "file.googleapis.com": any("filestore" in one.addons for one in self.clusters.values()),
            "iam.googleapis.com": bool(ways or self.clusters),
            "logging.googleapis.com": bool(self.jobs),
            "monitoring.googleapis.com": bool(self.hears or self.monitoring),
            "run.googleapis.com": bool(self.jobs),
            "secretmanager.googleapis.com": any("secret-manager" in one.addons for one in self.clusters.values()),
            "serviceusage.googleapis.com": True,
            "storage.googleapis.com": True,
            "tpu.googleapis.com": "tpu-api" in ways,
        }
        return tuple(name for name, is_needed in needed.items() if is_needed)

    @classmethod
    def context(cls, fields: Mapping[str, Any], file: YamlFile, folder: Path | None) -> dict[str, Any]:
        from infra.foundation import FoundationSpec

        found = read_beside(FoundationSpec, fields.get("foundation"), folder, beside=False)
        hears = fields.get("notify") or (found.notify if isinstance(found, FoundationSpec) else None)
        said = {"notify": hears, "confirmed": by_name.read(fields.get("confirmed")), "foundation": found}
        return super().context(fields, file, folder) | said


def _able(region: str) -> list[str]:
    """Regions that have all that a job needs, a TPU included: those of the same continent first."""
    able = {places.region_of(one.zone) for one in zones.every() if one.trust != "low"}
    able = {one for one in able if all(services.judge(service, one) == "works" for service in services.JOBS)}
    return sorted(able, key=lambda one: (places.continent_of(one) != places.continent_of(region), one))
