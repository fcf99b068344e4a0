"""Jobs in a cluster: what is refused, what a run is told, and how its pods are begun again."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest

from infra.apps import AppsSpec
from infra.catalog.manifests import faults
from infra.in_cluster import cluster_job, job_objects
from workloads.contract import TrainSettings

Refused = Callable[..., dict[str, str]]
Apps = Callable[..., AppsSpec]

IMAGE = f"us-central1-docker.pkg.dev/tw-shop-ml/i/train@sha256:{64 * '0'}"
REGION: dict[str, Any] = {
    "region": "us-central1",
    "clusters": {"main": {"mode": "standard", "addons": ["secret-manager"]}},
    "images": {"train": IMAGE},
    "node_pools": {
        "slice": {
            "cluster": "main",
            "accelerator_type": "v5litepod-16",
            "zones": ["us-central1-a"],
            "provisioning": "spot",
            "autoscale": {},
        },
        "single": {
            "cluster": "main",
            "accelerator_type": "v5litepod-4",
            "zones": ["us-central1-a"],
            "provisioning": "flex-start",
            "autoscale": {"max": 2},
            "max_run_minutes": 60,
        },
        "l4": {"cluster": "main", "machine_type": "g2-standard-24", "provisioning": "spot", "autoscale": {"max": 4}},
        "l4-sure": {"cluster": "main", "machine_type": "g2-standard-24", "provisioning": "on-demand", "autoscale": {"max": 2}},
        "parts": {
            "cluster": "main",
            "machine_type": "a2-highgpu-1g",
            "provisioning": "spot",
            "partition": "1g.5gb",
            "autoscale": {"max": 1},
        },
        "h100": {
            "cluster": "main",
            "machine_type": "a3-highgpu-8g",
            "zones": ["us-central1-a"],
            "provisioning": "queued-provisioning",
            "autoscale": {"max": 2},
        },
    },
}
HERE: dict[str, Any] = {
    "namespaces": {"training": {}, "others": {"pod_security": "restricted"}},
    "priorities": {"low": {"value": -1}},
    "queues": {
        "tpus": {"namespace": "training", "quotas": [{"node_pool": "slice", "accelerators": 16}]},
        "gpus": {
            "namespace": "training",
            "quotas": [{"node_pool": "l4-sure", "accelerators": 4}, {"node_pool": "l4", "accelerators": 2}],
        },
        "mixed": {"namespace": "training", "quotas": [{"node_pool": "single", "accelerators": 4}, {"node_pool": "l4", "accelerators": 1}]},
        "strangers": {"namespace": "others", "quotas": [{"node_pool": "l4", "accelerators": 1}]},
    },
}
SECRETS: dict[str, Any] = {"secrets": {"tokens": {"namespace": "training", "files": {"token": {"secret": "hub", "version": 1}}}}}
JOB = {"namespace": "training", "workload": "train_recommender", "args": ["--example"], "max_run_minutes": 60}
NIGHTLY = {"schedule": "0 2 * * *", "timezone": "Asia/Taipei"}
SOMEBODYS = {"namespace": "training", "image": IMAGE, "command": ["python3", "-m", "theirs"], "max_run_minutes": 60, "node_pool": "l4"}


def made(apps: Apps, job: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The object that a job becomes."""
    spec = apps(REGION, **HERE, jobs={"train": job}, **more)
    one = spec.jobs["train"]
    where = spec.where("try", {"accelform-stack": "try"}, one)
    return (job_objects.cron_job if one.schedule else job_objects.job_set)("train", one, where)


def run(made: dict[str, Any]) -> dict[str, Any]:
    """The Job within."""
    inner = made["spec"]["jobTemplate"] if made["kind"] == "CronJob" else made["spec"]["replicatedJobs"][0]["template"]
    found: dict[str, Any] = inner["spec"]
    return found


def pod(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = run(made)["template"]["spec"]
    return found


def environment(pod: dict[str, Any], known: dict[str, str]) -> dict[str, str]:
    """What a container sees: Kubernetes puts in what was said before, and takes one of two `$` away."""
    found: dict[str, str] = {}
    for one in pod["containers"][0]["env"]:
        if "valueFrom" in one:
            found[one["name"]] = known[one["valueFrom"]["fieldRef"]["fieldPath"]]
        else:
            found[one["name"]] = re.sub(r"\$\$|\$\((\w+)\)", lambda match: found.get(match[1], match[0]) if match[1] else "$", one["value"])
    return found


# What is refused.


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"node_pool": "l4", "namespace": "trainig"}, "namespace", "trainig is no key of namespaces | training"),
        ({"node_pool": "slice", "queue": "tpu"}, "queue", "tpu is no key of queues | tpus"),
        ({"node_pool": "l4", "priority": "high"}, "priority", "high is no key of priorities | low | write it under `priorities`"),
        ({"node_pool": "l5"}, "node_pool", "l5 is no pool of the cluster | h100, l4, l4-sure, parts, single, slice"),
        ({"compute_class": "l4"}, "compute_class", "l4 is no class of this file | there is none"),
        ({"node_pool": "l4", "compute_class": "l4"}, "compute_class", "is said besides node_pool"),
        ({"node_pool": "l4", "queue": "tpus"}, "queue", "tpus has no quota of l4 | slice"),
        ({"node_pool": "l4", "queue": "strangers"}, "queue", "strangers is for jobs in others, and this one is in training"),
        ({"queue": "mixed"}, "node_pool", "gives single and l4, which are not alike"),
        ({"queue": "gpus", "hosts": 3}, "hosts", "3 pods at once are more than l4-sure holds (2 nodes) | 2 at most"),
        ({"node_pool": "l4", "queue": "gpus", "hosts": 2}, "queue", "gpus gives 2 accelerators at most, and the job needs 4 at once"),
        ({"node_pool": "l4", "accelerators": 1, "hosts": 9}, "hosts", "9 pods at once are more than l4 holds (4 nodes) | 8 at most"),
        ({"node_pool": "slice", "hosts": 2}, "hosts", "2: slice is a slice of 4 hosts, and a job is one slice | 4"),
        ({"node_pool": "single", "hosts": 2}, "hosts", "2: single has slices of one host, and a job is one slice | 1"),
        ({"node_pool": "single", "accelerators": 1}, "accelerators", "1: a pod has all 4 chips of its host | 4"),
        ({"node_pool": "h100"}, "queue", "is missing: nodes of h100 come by a request for all of them"),
        ({}, "cpu", "is missing: without accelerators"),
        ({"cpu": 1, "memory_gib": 1, "accelerators": 1}, "accelerators", "stand on no node"),
        ({"cpu": 64, "memory_gib": 1}, "", "is a pod that no node of the cluster can hold"),
        ({"node_pool": "l4", "memory_gib": 500}, "", "asks for 500Gi memory"),
        ({"node_pool": "l4", "accelerators": 3}, "", "asks for 3 nvidia.com/gpu; a node of pool l4 has 2"),
        ({"node_pool": "l4", "workload": "train_tf", "data": {"clicks": "c/", "pictures": "p/"}}, "image", "runs in the image tf"),
        ({"node_pool": "l4", "workload": "serve_recommender"}, "workload", "serves until it is stopped"),
        ({"node_pool": "l4", "args": []}, "data", "lacks clicks and pictures"),
        ({"node_pool": "l4", "workload": None}, "workload", "is missing"),
        ({"node_pool": "l4", "env": {"WL_RUN_ID": "mine"}}, "env", "has what each run is told by itself"),
        ({"node_pool": "l4", "run": "Two"}, "run", "is not the name of a run"),
        ({"node_pool": "l4", "run": "2"} | NIGHTLY, "run", "does nothing"),
        ({"node_pool": "l4", "schedule": "0 2 * * *"}, "timezone", "is missing"),
        ({"node_pool": "l4", "schedule": "61 2 * * *", "timezone": "Asia/Taipei"}, "schedule", "'61' is no minute"),
        ({"node_pool": "l4", "schedule": "0 2 * * 5-7", "timezone": "Asia/Taipei"}, "schedule", "0 or SUN for Sunday"),
        ({"node_pool": "l4", "paused": True}, "paused", "there is no schedule"),
        ({"node_pool": "l4", "max_run_minutes": 10081}, "max_run_minutes", "10080"),
        ({"node_pool": "l4", "max_run_minutes": True}, "max_run_minutes", "number"),
        ({"node_pool": "l4", "retries": -1}, "retries", "0"),
        ({"node_pool": "l4", "cpu": float("nan")}, "cpu", "1024"),
        ({"node_pool": "l4", "provisioning": ["spot"]}, "provisioning", "is the pool's: say `node_pool`"),
        ({"node_pool": "l4", "registers": "model"}, "registers", "a job of the region's file registers"),
        ({"node_pool": "l4", "slices": 2}, "slices", "a job is one slice"),
    ],
)
def test_fails_with_what_no_run_could_be(change: dict[str, Any], path: str, words: str, refused: Refused) -> None:
    """Each at its key, with what would do."""
    job = {key: value for key, value in (JOB | change).items() if value is not None}
    found = refused(REGION, **HERE, jobs={"train": job})
    at = f"jobs.train.{path}".rstrip(".")
    assert at in found
    assert words in found[at]


def test_warns_of_what_would_end_in_vain(apps: Apps) -> None:
    """A GPU that no image of this project sees, and nodes that end before a run may."""
    spec = apps(REGION, **HERE, jobs={"gpu": JOB | {"queue": "gpus"}, "short": JOB | {"node_pool": "single", "max_run_minutes": 61}})
    found = {one.check: one.message for one in cluster_job.warnings(spec.jobs, spec.queues, spec.rooms, dt.date(2026, 12, 1))}
    assert list(found) == ["jobs.gpu.image", "jobs.short.max_run_minutes"]
    assert "nodes of single end after 60 minutes" in found["jobs.short.max_run_minutes"]


@pytest.mark.parametrize(
    ("schedule", "zone", "words"),
    [
        (
            "30 2 * * *",
            "Europe/Berlin",
            ["2027-03-28 02:30 never comes, and so does no run", "2027-10-31 02:30 comes twice, and so may the run"],
        ),
        ("0 2 * * *", "America/Chicago", ["2027-03-14 02:00 never comes, and so does no run"]),
        ("0 3 * * *", "America/Chicago", []),
        ("0 2 * * MON", "Europe/Berlin", []),
        ("*/30 * * * *", "Europe/Berlin", []),
        ("0 2 * * *", "Asia/Taipei", []),
    ],
)
def test_warns_of_nights_without_a_run_and_with_two(schedule: str, zone: str, words: list[str], apps: Apps) -> None:
    """Where the clock leaps over the hour, or shows it twice, within the next year."""
    spec = apps(REGION, **HERE, jobs={"train": JOB | {"node_pool": "slice", "schedule": schedule, "timezone": zone}})
    found = list(cluster_job.warnings(spec.jobs, spec.queues, spec.rooms, dt.date(2026, 12, 1)))
    assert [one.message.rpartition(": ")[0] for one in found] == words
    assert {one.check for one in found} <= {"jobs.train.schedule"}


# What a run is told.


@pytest.mark.parametrize("clock", [{}, NIGHTLY])
def test_a_slice_is_told_what_a_machine_of_a_job_is_told(clock: dict[str, str], apps: Apps) -> None:
    """The workloads' own contract reads it, whoever begins the run; tries of one run share its folders."""
    found = made(apps, JOB | {"node_pool": "slice", "data": {"shop-clicks": "clicks/"}, "env": {"PRICE": "$5 $(WL_RUN_ID) $$"}} | clock)
    job = "metadata.labels['batch.kubernetes.io/job-name']"
    seen = environment(pod(found), {job: "train-29412345"})
    told = TrainSettings.read({key: value for key, value in seen.items() if key.startswith("WL_")})
    run_id = "train-29412345" if clock else "train-1"
    folder = f"gs://tw-shop-ml-there-models/jobs/try/train/{run_id}"
    assert (told.run_id, told.output, told.checkpoints) == (run_id, folder, f"{folder}/checkpoints")
    assert (told.accelerator_type, told.chips, told.hosts, told.coordinator) == ("v5litepod-16", 16, 4, "")
    assert told.data == {"shop_clicks": "gs://tw-shop-ml-there-data/clicks"}
    assert seen["PRICE"] == "$5 $(WL_RUN_ID) $$"


@pytest.mark.parametrize(("clock", "first"), [({}, "train-run-0-0.train:8476"), (NIGHTLY, "train-29412345-0.train:8476")])
def test_hosts_that_no_slice_connects_are_told_where_they_meet(clock: dict[str, str], first: str, apps: Apps) -> None:
    """Each pod its own number, and all of them the name of the first one."""
    found = made(apps, SOMEBODYS | {"hosts": 2} | clock)
    known = {
        "metadata.labels['batch.kubernetes.io/job-name']": "train-29412345",
        "metadata.annotations['batch.kubernetes.io/job-completion-index']": "1",
    }
    told = TrainSettings.read({key: value for key, value in environment(pod(found), known).items() if key.startswith("WL_")})
    assert (told.coordinator, told.process_id, told.hosts, told.chips) == (first, 1, 2, 4)
    assert pod(found).get("subdomain") == ("train" if clock else None)


def test_a_part_of_a_gpu_is_one_of_what_a_node_has(apps: Apps) -> None:
    """Seven parts are seven pods, and each run gets one."""
    found = pod(made(apps, SOMEBODYS | {"node_pool": "parts"}))
    assert found["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert environment(found, {})["WL_CHIPS"] == "1"


def test_programs_of_this_project_are_told_where_the_driver_is(apps: Apps) -> None:
    """On GPUs alone, and unless the file says so itself; others know what their image needs."""
    own = {"env": {"LD_LIBRARY_PATH": "/mine"}}
    said = [JOB | {"node_pool": "l4"}, JOB | {"node_pool": "l4"} | own, JOB | {"node_pool": "single"}, SOMEBODYS]
    seen = [environment(pod(made(apps, one)), {}).get("LD_LIBRARY_PATH") for one in said]
    assert seen == ["/usr/local/nvidia/lib64", "/mine", None, None]


def test_whoever_is_not_ours_may_be_root_but_where_nobody_may(apps: Apps) -> None:
    """This project's images name a user of their own; others go as far as their namespace lets them."""
    ours, theirs = pod(made(apps, JOB | {"node_pool": "l4"})), pod(made(apps, SOMEBODYS))
    inside = pod(made(apps, SOMEBODYS | {"namespace": "others"}))
    assert [one["securityContext"].get("runAsNonRoot") for one in (ours, theirs, inside)] == [True, None, True]
    assert [one["containers"][0]["securityContext"]["allowPrivilegeEscalation"] for one in (ours, theirs, inside)] == [False] * 3


# How it waits, and is begun again.


def test_a_run_in_a_queue_is_begun_by_kueue_and_by_nobody_else(apps: Apps) -> None:
    """A night's Job waits from the start; of a JobSet it is not said, or an update would stop what runs."""
    once, nightly = made(apps, JOB | {"queue": "tpus", "priority": "low"}), made(apps, JOB | {"queue": "tpus"} | NIGHTLY)
    assert "suspend" not in once["spec"]
    assert run(nightly)["suspend"] is True
    labels = once["metadata"]["labels"]
    assert (labels["kueue.x-k8s.io/queue-name"], labels["kueue.x-k8s.io/priority-class"]) == ("tpus", "low")
    assert nightly["spec"]["jobTemplate"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "tpus"
    assert "kueue.x-k8s.io/queue-name" not in nightly["metadata"]["labels"]
    alone = made(apps, JOB | {"node_pool": "slice"} | NIGHTLY)
    assert "suspend" not in run(alone)
    assert "labels" in alone["spec"]["jobTemplate"]["metadata"]


def test_of_where_a_run_goes_a_queue_says_all_but_the_pool_that_is_meant(apps: Apps) -> None:
    """What Kueue would change in a JobSet is not in it: a refresh would find it changed, and an update begin the run again."""
    asked, named, alone = (
        pod(made(apps, JOB | one)) for one in ({"queue": "gpus"}, {"queue": "gpus", "node_pool": "l4"}, {"node_pool": "l4"})
    )
    pool = {"cloud.google.com/gke-nodepool": "there-l4"}
    assert [one.get("nodeSelector") for one in (asked, named, alone)] == [None, pool, pool]
    assert ["tolerations" in one for one in (asked, named, alone)] == [False, False, True]


@pytest.mark.parametrize(("where", "hosts", "again"), [({"node_pool": "slice"}, 4, [134, 143]), ({"node_pool": "single"}, 1, [143])])
def test_what_was_taken_away_is_begun_again_and_what_would_fail_again_is_not(
    where: dict[str, str], hosts: int, again: list[int], apps: Apps
) -> None:
    """143 does not count, nor 134 beside other hosts; 2, 65 and 78 end the run; others may fail `retries` times, all hosts together."""
    found = run(made(apps, JOB | where | {"retries": 2}))
    final, taken, asked = found["podFailurePolicy"]["rules"]
    assert (final["action"], final["onExitCodes"]["values"]) == ("FailJob", [2, 65, 78])
    assert taken == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    assert (asked["action"], asked["onExitCodes"]["values"]) == ("Ignore", again)
    assert (found["backoffLimit"], found["completions"], found["activeDeadlineSeconds"]) == (2 * hosts, hosts, 3600)


def test_every_object_is_as_a_cluster_takes_it(apps: Apps) -> None:
    """Against the schemas of Kubernetes and of its controllers, strictly: no field that they do not know."""
    jobs = {
        "a": JOB | {"node_pool": "slice", "queue": "tpus", "priority": "low"} | NIGHTLY,
        "b": SOMEBODYS | {"hosts": 2, "cpu": 0.5, "memory_gib": 1.5, "scratch_gib": 10} | NIGHTLY,
        "c": JOB | {"cpu": 1, "memory_gib": 1, "secrets": {"tokens": "/etc/tokens"}},
    }
    spec = apps(REGION, **HERE | SECRETS, jobs=jobs)
    made = []
    for name, one in spec.jobs.items():
        where = spec.where("try", {}, one)
        made += [job_objects.cron_job(name, one, where), job_objects.service(name, one, where)] if one.schedule else []
        made += [] if one.schedule else [job_objects.job_set(name, one, where)]
    assert [one["kind"] for one in made] == ["CronJob", "Service", "CronJob", "Service", "JobSet"]
    assert [fault for one in made for fault in faults(one)] == []
    assert pod(made[-1])["containers"][0]["volumeMounts"] == [{"name": "secret-tokens", "mountPath": "/etc/tokens", "readOnly": True}]


def test_fails_with_what_a_pod_may_not_mount(refused: Refused) -> None:
    """A secret is one of the file; several pods share no disk that is written."""
    job = JOB | {"node_pool": "slice", "volumes": {"disk": "/data"}, "secrets": {"tokens": "/etc/tokens", "toke": "/t"}}
    disk = {"namespace": "training", "storage": "pd-balanced", "size_gib": 10}
    found = refused(REGION, **HERE | SECRETS, volumes={"disk": disk}, jobs={"train": job})
    assert "jobs.train.secrets.tokens" not in found  # whoever mounts it may read it
    assert "toke is no key of secrets | tokens" in found["jobs.train.secrets.toke"]
    assert "there may be 4 pods" in found["jobs.train.volumes.disk"]


def test_a_name_by_which_leaders_are_found_is_taken(refused: Refused) -> None:
    """A group's leaders answer at `NAME-leaders`: a job of that name would make the same, by its JobSet even unseen."""
    served = {"namespace": "training", "image": IMAGE, "port": 80, "health_route": "/", "cpu": 1, "memory_gib": 1}
    job = {"namespace": "training", "image": IMAGE, "command": ["x"], "cpu": 1, "memory_gib": 1, "max_run_minutes": 9}
    jobs = {"chat-leaders": job, "fleet-leaders": job, "others-leaders": job}
    services = {"chat": served, "others": served | {"namespace": "others"}}
    found = refused(REGION, namespaces=HERE["namespaces"], services=services, jobs=jobs)
    assert found.keys() == {"jobs.chat-leaders"}
