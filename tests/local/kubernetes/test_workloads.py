"""What the sandbox's controllers make of workloads, as the provider waits for it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import talk
from cluster import Cluster
from talk import manifest

from infra.provider.values import Decoded


def test_a_deployment_is_rolled_out_and_changed(cluster: Cluster) -> None:
    """Its state has the pods that are ready; a new image is another revision, waited for as well; a delete takes the pods along."""
    engine = cluster.engine()
    made = engine.create(talk.DEPLOYMENT, engine.checked(talk.DEPLOYMENT, talk.deployment(replicas=2)))
    state = Decoded(made.properties).values
    assert (state["status"]["readyReplicas"], state["metadata"]["annotations"]) == (2, {"deployment.kubernetes.io/revision": "1"})
    assert engine.said[0] == ("0 of 2 pods ready", False)

    second = engine.checked(talk.DEPLOYMENT, talk.deployment(replicas=2, image="other:2"))
    state = Decoded(engine.update(talk.DEPLOYMENT, made, second).properties).values
    assert state["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "2"}
    assert (state["status"]["updatedReplicas"], state["status"]["readyReplicas"]) == (2, 2)
    found = cluster.get("api/v1/namespaces/default/pods")
    assert found is not None
    assert {pod["spec"]["containers"][0]["image"] for pod in found["items"] if "deletionTimestamp" not in pod["metadata"]} == {"other:2"}

    engine.delete(talk.DEPLOYMENT, made)
    assert (cluster.get("api/v1/namespaces/default/pods") or {})["items"] == []


def test_what_no_node_holds_is_told_in_the_schedulers_words(cluster: Cluster) -> None:
    """The wait ends with them, and the object is kept; a refresh says it again; with room for it the next update ends well."""
    engine = cluster.engine()
    wants = talk.deployment(nodeSelector={"cloud.google.com/gke-accelerator": "nvidia-l4"})
    checked = engine.checked(talk.DEPLOYMENT, wants)
    with pytest.raises(talk.AbortedError, match="timed out waiting to be Ready") as failed:
        engine.create(talk.DEPLOYMENT, checked, timeout=60)
    assert any(reason.startswith("0/1 nodes are available: ") for reason in failed.value.detail.reasons)
    assert any(text.startswith("0 of 1 pods ready: 0/1 nodes are available: ") for text, _ in engine.said)
    kept = failed.value.detail
    with pytest.raises(talk.AbortedError, match="was created but failed to initialize"):
        engine.read(talk.DEPLOYMENT, kept.id, kept.properties, checked)
    fits = copy.deepcopy(wants)
    del fits["spec"]["template"]["spec"]["nodeSelector"]
    changed = engine.update(talk.DEPLOYMENT, kept, engine.checked(talk.DEPLOYMENT, fits))
    assert Decoded(changed.properties).values["status"]["readyReplicas"] == 1


@pytest.mark.parametrize(("code", "ends"), [("0", "Complete"), ("1", "Failed")])
def test_a_job_is_waited_for(code: str, ends: str, cluster: Cluster) -> None:
    """Until it is complete; one that failed says why, and is kept."""
    engine = cluster.engine()
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    says = {"annotations": {"sandbox.accelform/seconds": "20", "sandbox.accelform/exit-code": code}}
    job = manifest("Job", "once", "batch/v1", metadata=says, spec={"backoffLimit": 0, "template": {"spec": pod}})
    checked = engine.checked(talk.JOB, job)
    if ends == "Complete":
        state = Decoded(engine.create(talk.JOB, checked).properties).values
    else:
        with pytest.raises(talk.AbortedError, match="failed to initialize") as failed:
            engine.create(talk.JOB, checked)
        assert "[BackoffLimitExceeded]" in list(failed.value.detail.reasons)[1]
        state = failed.value.state
    anew = manifest("Job", "once", "batch/v1", metadata={"annotations": says["annotations"] | {"pulumi.com/replaceUnready": "true"}})
    answer = engine.diff(talk.JOB, state, job | {"metadata": anew["metadata"]})
    assert list(answer.replaces) == ([] if ends == "Complete" else ['metadata.annotations["pulumi.com/replaceUnready"]'])
    assert ends in {one["type"] for one in state["status"]["conditions"] if one["status"] == "True"}


def test_a_service_waits_for_its_pods_and_its_address(cluster: Cluster) -> None:
    """A load balancer's address is in the state."""
    engine = cluster.engine()
    engine.create(talk.DEPLOYMENT, engine.checked(talk.DEPLOYMENT, talk.deployment()))
    service: dict[str, Any] = manifest("Service", "web", spec={"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]})
    made = engine.create("kubernetes:core/v1:Service", engine.checked("kubernetes:core/v1:Service", service))
    (ingress,) = Decoded(made.properties).values["status"]["loadBalancer"]["ingress"]
    assert ingress["ip"]


def test_a_claim_of_the_usual_class_waits_for_its_first_pod(cluster: Cluster) -> None:
    """It is there, and not bound: nobody waits for that."""
    engine = cluster.engine()
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
    token = "kubernetes:core/v1:PersistentVolumeClaim"
    made = engine.create(token, engine.checked(token, manifest("PersistentVolumeClaim", "a", spec=spec)))
    assert Decoded(made.properties).values["status"]["phase"] == "Pending"
