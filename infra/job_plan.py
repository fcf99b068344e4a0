"""
What a job's runner needs to know, in one object: the program writes it, and the runner in its Cloud Run job reads it.

It is text in the environment of that Cloud Run job, so that what `pulumi preview` shows is what runs.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

VARIABLE = "ACCELFORM_JOB"
"""Environment variable of the runner that holds the plan as JSON."""
PLANS_VARIABLE = "ACCELFORM_JOBS"
"""Environment variable of the sweep that holds the plans of all jobs of the stack, as a JSON list."""

Provisioning = Literal["reservation", "flex-start", "on-demand", "spot"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MachinePlan(_Part):
    """One way of getting the machine. It is asked for in each zone, before the next way is tried anywhere."""

    provisioning: Provisioning
    form: Literal["instance", "group", "node", "custom-job"]
    """`instance`: one host of Compute Engine; `group`: several hosts of it, as a managed instance group in bulk mode; `node`: a node of
    the Cloud TPU API; `custom-job`: one of Vertex AI, which makes the machine itself."""
    template: str = ""
    """Instance template that an instance or a group is made of: `projects/P/global/instanceTemplates/T`."""
    workload_policy: str = ""
    """Resource policy that connects the hosts of a group."""
    base_instance_name: str = ""
    """What the names of a group's machines begin with."""
    node: dict[str, Any] = {}
    """Body of a `Node` of the Cloud TPU API, all but what is of one try."""
    custom_job: dict[str, Any] = {}
    """Body of a `CustomJob` of Vertex AI, the same."""

    @property
    def machine_of_vertex(self) -> tuple[str, str]:
        """Machine type and accelerator of a custom job's machine; a TPU has no accelerator, and another form neither."""
        pools = self.custom_job.get("jobSpec", {}).get("workerPoolSpecs", [])
        machine = pools[0].get("machineSpec", {}) if pools else {}
        return str(machine.get("machineType", "")), str(machine.get("acceleratorType", ""))

    @model_validator(mode="after")
    def _has_its_parts(self) -> Self:
        needs = {
            "instance": ("template",),
            "group": ("template", "workload_policy", "base_instance_name"),
            "node": ("node",),
            "custom-job": ("custom_job",),
        }
        if missing := [part for part in needs[self.form] if not getattr(self, part)]:
            raise ValueError(f"a plan of form {self.form} needs {' and '.join(missing)}")
        return self


class RolloutPlan(_Part):
    """An endpoint that serves the model, and how a new version gets its traffic."""

    name: str
    """Key under `endpoints:`."""
    endpoint: str
    """`projects/P/locations/R/endpoints/E`."""
    journal: str
    """Object in which a rollout there keeps how far it is: `gs://BUCKET/NAME`."""
    alias: str
    """Alias that the endpoint serves, such as `champion`."""
    deployed: dict[str, Any]
    """What is deployed, as one of the `deployedModels` of `accelform:vertex:DeployedModels`, for the first version of all."""
    deployed_name: str
    """Its name there."""
    rollout: dict[str, Any] | None = None
    """The endpoint's `rollout`, as in the stack file. Without one, an accepted version gets the alias, and the next update deploys it."""


class RegisterPlan(_Part):
    """What becomes of what the job trained."""

    model: str
    """`projects/P/locations/R/models/M`."""
    display_name: str
    description: str = ""
    labels: dict[str, str] = {}
    container: dict[str, Any]
    """`ModelContainerSpec` of Vertex AI."""
    alias: str = "candidate"
    """Alias of each new version."""
    accepted_alias: str = "champion"
    """Alias that an accepted version gets."""
    accept_if: str = ""
    """Condition on its metrics; empty: every version that the job ends well with is accepted."""
    timezone: str = ""
    """Time zone of the job's schedule, in which a rollout's `begin` is meant; empty where it has none."""
    keep_versions: Annotated[int, Field(ge=1)] | None = None
    """How many versions stay; older ones that are neither deployed nor have an alias are deleted. None: all stay."""
    rollouts: tuple[RolloutPlan, ...] = ()


class JobPlan(_Part):
    """One job of a stack."""

    version: Literal[1] = 1
    project: str
    region: str
    stack: str
    job: str
    """Key under `jobs:`."""
    sandbox: str = ""
    """Address of the local cloud; empty for Google's."""
    workload: str
    """Name of the program, such as `train_recommender`; `command` where it is none of this project's."""
    machine_type: str = ""
    """Machine type with GPUs, such as `g2-standard-8`; empty for a TPU, whose accelerator type tells."""
    accelerator_type: str
    hosts: Annotated[int, Field(ge=1)]
    chips: Annotated[int, Field(ge=1)]
    """Chips of all hosts together, or GPUs of the machine."""
    zones: Annotated[tuple[str, ...], Field(min_length=1)]
    """Zones of the region, in the order in which they are tried. Of custom jobs the region alone: Vertex AI chooses the zone."""
    machines: Annotated[tuple[MachinePlan, ...], Field(min_length=1)]
    """Ways of getting the machine, in the order in which they are tried."""
    machine_name: str
    """Name of the machine, group or node: one, so that no run can have two of them in a zone without being refused. Custom jobs are
    called so too, though any number of them may be."""
    max_run_minutes: Annotated[int, Field(ge=1)]
    """Minutes of machine that one run may use, over all its tries."""
    wait_minutes: Annotated[int, Field(ge=0)]
    """Minutes that capacity is looked for, round after round."""
    restarts: Annotated[int, Field(ge=0)]
    """How often the job is begun again after its machine was taken away or it asked for it (exit code 143)."""
    state: str
    """Folder of the job's state: `gs://BUCKET/.accelform/jobs/STACK/JOB`. `job.json` is the journal of the run that is open or was last,
    `runs/RUN.json` is each run that has ended, `runs/RUN/try-N/host-K.json` is what a host says when its container has ended."""
    output: str
    """Folder that each run has its own folder in, for what it makes: `gs://BUCKET/jobs/JOB`."""
    holds: str
    """Object in which controllers say what they hold of the stack."""
    registers: RegisterPlan | None = None

    @property
    def uses_vertex(self) -> bool:
        """Whether its runner asks Vertex AI for anything."""
        return self.registers is not None or any(one.form == "custom-job" for one in self.machines)

    @property
    def gpus(self) -> int | None:
        """GPUs of its machine; None for a TPU."""
        return self.chips if self.machine_type else None
