"""A shop's nights in a sandbox in this process: a job's plan, machines whose hosts say how they ended, and a clock that only waiting moves."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import httpx

from infra.job_plan import JobPlan
from infra.operate.jobs.lease import Owner
from infra.operate.jobs.runner import Ended, Runner, Wish
from infra.operate.rollout import Event
from infra.provider.google import Google, Settings
from infra.provider.json_object import JsonObject
from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud
from infra.sandbox.services.aiplatform import custom_jobs
from tests.in_process import Mortal, answered

BASE = "http://sandbox.test"
PROJECT = "shop-prod"
REGION = "us-east5"
ZONES = ("us-east5-a", "us-east5-b")
BUCKET = "shop-prod-shop-models"
NAME = "shop-job-nightly"
COMPUTE = "compute.googleapis.com"
TPU = "tpu.googleapis.com"
VERTEX = "aiplatform.googleapis.com"
BEGAN = 1_800_000_000.0
RUN = "20270115T080000Z"
"""Id of a run that begins at `BEGAN`."""
MODELS = {"spot": "SPOT", "flex-start": "FLEX_START", "on-demand": "STANDARD", "reservation": "STANDARD"}


SEEN_SECONDS = 900
"""How much longer than it was billed a machine may be thought to have stood."""


def custom_job(way: str) -> dict[str, Any]:
    """What a custom job of the shop is made of."""
    machine = {"machineType": "a3-highgpu-8g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 8}
    container = {"imageUri": "us-docker.pkg.dev/p/r/i", "env": [{"name": "WL_CHIPS", "value": "0"}]}
    strategy = {"spot": "SPOT", "flex-start": "FLEX_START"}.get(way, "STANDARD")
    return {
        "labels": {"accelform-stack": "shop", "accelform-job": "nightly"},
        "jobSpec": {
            "workerPoolSpecs": [{"machineSpec": machine, "replicaCount": "1", "containerSpec": container}],
            "scheduling": {"strategy": strategy, "disableRetries": True},
        },
    }


class Night(Mortal):
    """
    The cloud, and the hosts of the job's machines.

    Args:
        ways: How the machine may be bought, in order.
        form: What it is made as.
        machine: What its template says of the machine, if it is no TPU's.
        more: Of the plan, what is otherwise.
    """

    def __init__(self, *ways: str, form: str = "instance", machine: Mapping[str, Any] | None = None, **more: Any) -> None:
        super().__init__()
        self.region = more.get("region", REGION)
        self.machine = machine or {"machineType": "ct6e-standard-1t" if form == "instance" else "ct6e-standard-4t"}
        self.cloud = Cloud(clock=Clock(start=BEGAN, real=lambda: 0.0))
        self.cloud.projects.make(PROJECT)
        self.events: list[Event] = []
        self.work_minutes = 10.0
        self.exits: Callable[[int], int | None] = lambda number: 0
        """Exit code of the hosts by number of the try; None: they say nothing."""
        self.most = 0
        self.ask("POST", "storage.googleapis.com/storage/v1/b", {"name": BUCKET, "location": "US"}, project=PROJECT)
        self.form = form
        self.ask("POST", f"{COMPUTE}/compute/v1/projects/{PROJECT}/global/networks", {"name": "net", "autoCreateSubnetworks": True})
        self.plan = self.planned(ways or ("spot",), form, **more)
        for way in (ways or ("spot",)) if form in ("instance", "group") else ():
            self._template(way)
        if form == "group":
            body = {"name": NAME, "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "4x4"}}
            self.ask("POST", f"{COMPUTE}/compute/v1/projects/{PROJECT}/regions/{self.region}/resourcePolicies", body)
        self.cloud.clock.advance(BEGAN + 3600 - self.now())

    def planned(self, ways: tuple[str, ...], form: str, **more: Any) -> JobPlan:
        parts: dict[str, Callable[[str], dict[str, Any]]] = {
            "instance": lambda way: {"template": self.template(way)},
            "group": lambda way: {
                "template": self.template(way),
                "workload_policy": f"projects/{PROJECT}/regions/{self.region}/resourcePolicies/{NAME}",
                "base_instance_name": f"{NAME}-host",
            },
            "node": lambda way: {
                "node": {
                    "acceleratorType": "v6e-1",
                    "runtimeVersion": "v2-alpha-tpuv6e",
                    "networkConfig": {"subnetwork": f"projects/{PROJECT}/regions/{self.region}/subnetworks/net"},
                    "schedulingConfig": {"spot": way == "spot"},
                    "metadata": {"startup-script": "#!/bin/bash"},
                }
            },
        }
        parts["custom-job"] = lambda way: {"custom_job": custom_job(way)}
        machines = [{"provisioning": way, "form": form, **parts[form](way)} for way in ways]
        plan: dict[str, Any] = {
            "project": PROJECT,
            "region": self.region,
            "stack": "shop",
            "job": "nightly",
            "workload": "train_recommender",
            "accelerator_type": "v6e-1",
            "hosts": 1,
            "chips": 1,
            "zones": [REGION] if form == "custom-job" else list(ZONES),
            "machines": machines,
            "machine_name": NAME,
            "max_run_minutes": 180,
            "wait_minutes": 60,
            "restarts": 2,
            "state": f"gs://{BUCKET}/.accelform/jobs/shop/nightly",
            "output": f"gs://{BUCKET}/jobs/nightly",
            "holds": f"gs://{BUCKET}/.accelform/holds/shop.json",
        }
        if form == "custom-job":
            plan |= {"machine_type": "a3-highgpu-8g", "accelerator_type": "nvidia-h100-80gb", "chips": 8}
        return JobPlan.model_validate(plan | more)

    # The wire

    def answer(self, request: httpx.Request) -> httpx.Response:
        return answered(self.cloud, request)

    def google(self, sender: Callable[[httpx.Request], httpx.Response] | None = None) -> Google:
        http = httpx.Client(transport=httpx.MockTransport(sender or self))
        return Google(Settings(BASE), lambda seconds: False, http=http, time=self.cloud.clock.now)

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> dict[str, Any]:
        answer = self.answer(httpx.Request(method, f"{BASE}/{path}", json=body, params=query))
        assert answer.is_success, answer.text
        return dict(answer.json()) if answer.content else {}

    # The runner

    def runner(self, owner: Owner | None = None, plan: JobPlan | None = None, **more: Any) -> Runner:
        return Runner(self.google(), self, plan or self.plan, owner or Owner.here({}), self.events.append, **more)

    def run(self, owner: Owner | None = None, wish: Wish | None = None) -> Ended:
        return self.runner(owner, wish=wish).run()

    def now(self) -> float:
        return self.cloud.clock.now()

    def wait(self, seconds: float) -> None:
        self.cloud.clock.advance(seconds)

    # The rest of the world

    def live(self) -> None:
        """Hosts whose time has come say how they ended. There is never more than one machine."""
        self.most = max(self.most, len(self.machines))
        for name, body in self.machines.items() if self.form == "custom-job" else ():
            container = body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
            code = self.exits(int(next((one["value"] for one in container["env"] if one["name"] == "WL_ATTEMPT"), "0")))
            began = dt.datetime.fromisoformat(body.get("startTime", "9999-01-01T00:00:00Z")).timestamp()
            if code is not None and body["state"] == custom_jobs.RUNNING and self.now() >= began + self.work_minutes * 60:
                custom_jobs.ended(self.cloud, {"name": name, "exit_code": code})
        for host, (items, since) in enumerate(self.hosts()):
            told = json.loads(items["accelform-run"]) if "accelform-run" in items else None
            code = self.exits(int(told["env"]["WL_ATTEMPT"])) if told else None
            if code is not None and self.now() >= since + self.work_minutes * 60:
                self.say(told["state"], code, host)

    def hosts(self) -> list[tuple[dict[str, str], float]]:
        """Metadata of each host that runs, and since when."""
        found = []
        for name, body in self.machines.items():
            if "/customJobs/" in name:
                continue
            if "/nodes/" in name:
                bodies = [({"status": "RUNNING"} if body["state"] == "READY" else {}) | body]
            elif "/instances/" in name:
                bodies = [body]
            else:
                prefix = name.replace(f"instanceGroupManagers/{NAME}", f"instances/{NAME}-host-")
                bodies = [one for _, _, one in self.cloud.store.every(COMPUTE, prefix)]
            for one in bodies:
                metadata = one.get("metadata", {})
                items = {item["key"]: item["value"] for item in metadata["items"]} if "items" in metadata else metadata
                since = dt.datetime.fromisoformat(one.get("lastStartTimestamp") or one["createTime"]).timestamp()
                if one.get("status") == "RUNNING":
                    found.append((items, since))
        return found

    def say(self, folder: str, code: int, host: int = 0) -> None:
        """What a host writes when its container has ended; once."""
        found = JsonObject(self.google(self.answer), f"{folder}/host-{host}.json")
        generation, _ = found.read()
        if not generation:
            found.write({"exit_code": code}, 0)

    def take(self, name: str) -> None:
        """A machine goes away by itself, with its disk."""
        self.cloud.store.delete(COMPUTE, name)
        self.cloud.store.delete(COMPUTE, name.replace("/instances/", "/disks/"))

    @property
    def machines(self) -> dict[str, dict[str, Any]]:
        """All that stands under the job's name, without a call."""
        found = {}
        for zone in self.plan.zones:
            at = f"projects/{PROJECT}/zones/{zone}"
            names = {COMPUTE: [f"{at}/instances/{NAME}", f"{at}/instanceGroupManagers/{NAME}"]}
            names[TPU] = [f"projects/{PROJECT}/locations/{zone}/nodes/{NAME}"]
            for service, those in names.items():
                found.update({name: body for name in those if (body := self.cloud.store.get(service, name)) is not None})
        return found | dict(self.cloud.store.of_kind(VERTEX, custom_jobs.WORD))

    def read(self, name: str) -> dict[str, Any]:
        return JsonObject(self.google(self.answer), f"{self.plan.state}/{name}").read()[1]

    @property
    def journal(self) -> dict[str, Any]:
        return self.read("job.json")

    def record(self) -> dict[str, Any]:
        """What the journal's run left."""
        return self.read(f"runs/{self.journal['id']}.json")

    def said(self, kind: str) -> list[str]:
        return [event.text for event in self.events if event.kind == kind]

    def template(self, way: str) -> str:
        return f"projects/{PROJECT}/regions/{self.region}/instanceTemplates/{NAME}-{way}"

    def _template(self, way: str) -> None:
        body = {
            "name": f"{NAME}-{way}",
            "properties": {
                **self.machine,
                "labels": {"env": "prod"},
                "disks": [
                    {
                        "boot": True,
                        "autoDelete": True,
                        "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12"},
                    }
                ],
                "networkInterfaces": [{"subnetwork": f"regions/{self.region}/subnetworks/net"}],
                "metadata": {"items": [{"key": "user-data", "value": "#cloud-config"}]},
                "scheduling": {
                    "provisioningModel": MODELS[way],
                    "automaticRestart": False,
                    "onHostMaintenance": "TERMINATE",
                    "instanceTerminationAction": "DELETE",
                    "maxRunDuration": {"seconds": "10800"},
                },
            },
        }
        self.ask("POST", f"{COMPUTE}/compute/v1/projects/{PROJECT}/regions/{self.region}/instanceTemplates", body)


def settled(night: Night, unseen: float = 0.0) -> None:
    """
    Nothing stands, there was one machine at most, the journal has come to its end, and the record tells what the sandbox would bill: never
    less, and more by what it takes to come, and to be seen gone: for *unseen* seconds nobody looked.
    """
    assert night.machines == {}
    assert night.most <= 1
    assert night.journal["phase"] == "ended"
    record = night.record()
    if record["usd"] == "unknown":
        return
    billed = sum(Decimal(one["usd"]) for one in night.cloud.machines.shown() if one["labels"].get("accelform-run") == record["run"].lower())
    came = [row for row in record["tries"] if row["began"]]
    spare = sum((Decimal(row["usd_per_hour"]) * Decimal(SEEN_SECONDS + unseen) / 3600 for row in came), Decimal("0.001"))
    assert billed - Decimal("0.001") <= Decimal(record["usd"]) <= billed + spare
