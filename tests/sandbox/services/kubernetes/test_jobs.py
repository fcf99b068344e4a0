"""Jobs, CronJobs, JobSets and the groups of LeaderWorkerSet."""

from __future__ import annotations

from typing import Any

import pytest
from k8s_calls import BATCH, CORE, K8s, conditions, job, phases

JOBS, CRONS, PODS = f"{BATCH}/namespaces/default/jobs", f"{BATCH}/namespaces/default/cronjobs", f"{CORE}/namespaces/default/pods"
SECONDS = "sandbox.accelform/seconds"


def lasting(body: dict[str, Any], seconds: int, code: int = 0) -> dict[str, Any]:
    body["metadata"]["annotations"] = {SECONDS: str(seconds), "sandbox.accelform/exit-code": str(code)}
    return body


def test_an_indexed_job_ends_after_the_seconds_that_it_says(k8s: K8s) -> None:
    k8s.make(JOBS, lasting(job(completionMode="Indexed", completions=3, parallelism=2), 100))
    k8s.after(11)
    found = k8s.get(f"{JOBS}/train")
    assert (found["status"]["active"], found["status"]["ready"]) == (2, 2)
    assert found["spec"]["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": found["metadata"]["uid"]}
    names = [pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in k8s.get(PODS)["items"]]
    assert sorted(names) == ["0", "1"]
    k8s.after(100)
    assert k8s.get(f"{JOBS}/train")["status"]["completedIndexes"] == "0-1"
    k8s.after(120)
    done = k8s.get(f"{JOBS}/train")
    assert conditions(done) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
    assert (done["status"]["succeeded"], done["status"]["completionTime"]) == (3, "2026-11-30T12:08:40Z")
    assert phases(k8s) == ["Succeeded"] * 3


def test_without_a_word_it_runs_until_it_is_told(k8s: K8s) -> None:
    k8s.make(JOBS, job())
    k8s.after(86400)
    (pod,) = k8s.get(PODS)["items"]
    assert pod["status"]["phase"] == "Running"
    k8s.patch(f"{PODS}/{pod['metadata']['name']}/status", {"status": {"phase": "Succeeded"}})
    assert "Complete" in conditions(k8s.get(f"{JOBS}/train"))


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_job_that_fails_too_often_has_failed(k8s: K8s, policy: str) -> None:
    body = lasting(job(backoffLimit=2), 10, 1)
    body["spec"]["template"]["spec"]["restartPolicy"] = policy
    k8s.make(JOBS, body)
    k8s.after(100)
    found = k8s.get(f"{JOBS}/train")
    assert conditions(found)["Failed"] == "BackoffLimitExceeded"
    assert found["status"].get("failed", 0) == (3 if policy == "Never" else 0)


def test_deadline_time_to_live_and_suspension(k8s: K8s) -> None:
    k8s.make(JOBS, job("late", activeDeadlineSeconds=50, ttlSecondsAfterFinished=100))
    k8s.make(JOBS, job("later", suspend=True))
    assert conditions(k8s.get(f"{JOBS}/later")) == {"Suspended": "JobSuspended"}
    k8s.after(51)
    assert conditions(k8s.get(f"{JOBS}/late"))["Failed"] == "DeadlineExceeded"
    k8s.patch(f"{JOBS}/later", {"spec": {"suspend": False}})
    k8s.after(11)
    assert k8s.get(f"{JOBS}/later")["status"]["active"] == 1
    k8s.after(100)
    assert k8s.ask("GET", f"{JOBS}/late").status == 404
    k8s.patch(f"{JOBS}/later", {"spec": {"suspend": True}})
    k8s.after(5)
    assert phases(k8s) == []


def test_a_cron_job_starts_jobs_and_keeps_few(k8s: K8s) -> None:
    body = {"metadata": {"name": "nightly"}, "spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": job()["spec"]}}}
    body["spec"]["jobTemplate"]["metadata"] = {"annotations": {SECONDS: "60"}}
    k8s.make(CRONS, body)
    k8s.after(3600)
    (found,) = k8s.get(JOBS)["items"]
    assert found["metadata"]["name"] == f"nightly-{(1_796_040_000 + 3600) // 60}"
    assert k8s.get(f"{CRONS}/nightly")["status"]["lastScheduleTime"] == "2026-11-30T13:00:00Z"
    k8s.after(5 * 3600)
    assert [conditions(one).get("Complete") for one in k8s.get(JOBS)["items"]] == ["CompletionsReached"] * 3
    k8s.patch(f"{CRONS}/nightly", {"spec": {"suspend": True}})
    before = k8s.get(JOBS)["items"]
    k8s.after(7200)
    assert k8s.get(JOBS)["items"] == before


SETS = "apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"


def job_set(**spec: Any) -> dict[str, Any]:
    one = {
        "name": "worker",
        "replicas": 2,
        "template": {"spec": {"completions": 2, "parallelism": 2, "template": job()["spec"]["template"]}},
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train"},
        "spec": {"replicatedJobs": [one]} | spec,
    }


def test_a_job_set_is_its_jobs(k8s: K8s) -> None:
    k8s.release("jobset")
    k8s.make(SETS, lasting(job_set(), 100))
    assert [one["metadata"]["name"] for one in k8s.get(JOBS)["items"]] == ["train-worker-0", "train-worker-1"]
    k8s.after(11)
    found = k8s.get(f"{SETS}/train")["status"]["replicatedJobsStatus"]
    assert found == [{"name": "worker", "ready": 2, "succeeded": 0, "failed": 0, "active": 2, "suspended": 0}]
    pod = k8s.get(PODS)["items"][0]
    assert (pod["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"], pod["spec"]["subdomain"]) == ("0", "train")
    assert k8s.get(f"{CORE}/namespaces/default/services/train")["spec"]["clusterIP"] == "None"
    k8s.after(110)
    assert conditions(k8s.get(f"{SETS}/train")) == {"Completed": "AllJobsCompleted"}
    assert k8s.get(f"{SETS}/train")["status"]["terminalState"] == "Completed"
    k8s.ask("DELETE", f"{SETS}/train")
    assert (k8s.get(JOBS)["items"], k8s.get(PODS)["items"]) == ([], [])


def test_a_job_set_begins_again_as_often_as_it_may(k8s: K8s) -> None:
    k8s.release("jobset")
    failing = lasting(job_set(failurePolicy={"maxRestarts": 1}), 10, 1)
    failing["spec"]["replicatedJobs"][0]["template"]["spec"] |= {"backoffLimit": 0}
    k8s.make(SETS, failing)
    k8s.after(25)
    assert k8s.get(f"{SETS}/train")["status"]["restarts"] == 1
    k8s.after(60)
    assert conditions(k8s.get(f"{SETS}/train")) == {"Failed": "ReachedMaxRestarts"}


def test_a_suspended_job_set_waits_and_its_spec_stays(k8s: K8s) -> None:
    k8s.release("jobset")
    k8s.make(SETS, job_set(suspend=True))
    assert all(one["spec"]["suspend"] for one in k8s.get(JOBS)["items"])
    more = {"spec": {"replicatedJobs": [{**job_set()["spec"]["replicatedJobs"][0], "replicas": 3}]}}
    answer = k8s.ask("PATCH", f"{SETS}/train", more, "application/merge-patch+json")
    assert answer.status == 403
    assert 'admission webhook "vjobset.kb.io" denied the request: spec.replicatedJobs' in answer.body["message"]
    k8s.patch(f"{SETS}/train", {"spec": {"suspend": False}})
    k8s.after(11)
    assert phases(k8s) == ["Running*"] * 4


def test_groups_of_a_leader_and_workers(k8s: K8s) -> None:
    k8s.release("lws")
    path = "apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets"
    template = {"spec": {"containers": [{"name": "main", "image": "serve:1"}]}}
    k8s.make(path, {"metadata": {"name": "llm"}, "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}}})
    k8s.after(11)
    assert [pod["metadata"]["name"] for pod in k8s.get(PODS)["items"]] == ["llm-0", "llm-0-1", "llm-1", "llm-1-1"]
    found = k8s.get(f"{path}/llm")
    assert (found["status"]["readyReplicas"], conditions(found)) == (2, {"Available": "AllGroupsReady"})
    worker = k8s.get(f"{PODS}/llm-1-1")
    assert {"name": "LWS_LEADER_ADDRESS", "value": "llm-1.llm.default"} in worker["spec"]["containers"][0]["env"]
    k8s.patch(f"{PODS}/llm-1-1/status", {"status": {"phase": "Failed"}})
    k8s.after(3)
    assert k8s.get(f"{PODS}/llm-1")["status"]["phase"] == "Pending"  # the whole group begins again
    assert k8s.get(f"{path}/llm")["status"]["readyReplicas"] == 1
    k8s.after(11)
    assert k8s.get(f"{path}/llm")["status"]["readyReplicas"] == 2
    template["spec"]["containers"][0]["image"] = "serve:2"
    k8s.patch(f"{path}/llm", {"spec": {"leaderWorkerTemplate": {"workerTemplate": template}}})
    k8s.after(60)
    assert {pod["spec"]["containers"][0]["image"] for pod in k8s.get(PODS)["items"]} == {"serve:2"}
    k8s.patch(f"{path}/llm/scale", {"spec": {"replicas": 1}})
    k8s.after(5)
    assert len(k8s.get(PODS)["items"]) == 2
