"""Claims and the volumes that they get."""

from __future__ import annotations

from typing import Any

from k8s_calls import CORE, K8s

SPACE = f"{CORE}/namespaces/default"
CLAIMS, VOLUMES = f"{SPACE}/persistentvolumeclaims", f"{CORE}/persistentvolumes"


def claim(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}} | spec}


def test_a_claim_is_bound_when_its_pod_has_a_node(k8s: K8s) -> None:
    k8s.make(CLAIMS, claim("at-once", storageClassName="standard"))
    k8s.make(CLAIMS, claim("later"))
    k8s.make(CLAIMS, claim("none", storageClassName="none"))
    phases = {one["metadata"]["name"]: one["status"]["phase"] for one in k8s.get(CLAIMS)["items"]}
    assert phases == {"at-once": "Bound", "later": "Pending", "none": "Pending"}
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("later", "gone")]
    pod = {"containers": [{"name": "main", "image": "m"}], "volumes": volumes}
    k8s.make(f"{SPACE}/pods", {"metadata": {"name": "a"}, "spec": pod})
    (why,) = k8s.get(f"{SPACE}/pods/a")["status"]["conditions"]
    assert why["message"] == 'persistentvolumeclaim "gone" not found'
    k8s.make(CLAIMS, claim("gone"))
    assert k8s.get(f"{CLAIMS}/later")["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}}
    volume = k8s.get(f"{VOLUMES}/{k8s.get(f'{CLAIMS}/later')['spec']['volumeName']}")
    assert (volume["status"]["phase"], volume["spec"]["claimRef"]["name"]) == ("Bound", "later")
    k8s.patch(f"{CLAIMS}/later", {"spec": {"resources": {"requests": {"storage": "20Gi"}}}})
    assert k8s.get(f"{CLAIMS}/later")["status"]["capacity"] == {"storage": "20Gi"}


def test_a_claim_stays_while_a_pod_uses_it_and_its_volume_goes_with_it(k8s: K8s) -> None:
    k8s.make(CLAIMS, claim("a"))
    pod = {"containers": [{"name": "main", "image": "m"}], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "a"}}]}
    k8s.make(f"{SPACE}/pods", {"metadata": {"name": "p"}, "spec": pod})
    assert k8s.ask("DELETE", f"{CLAIMS}/a").body["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert k8s.get(f"{CLAIMS}/a")["metadata"]["deletionTimestamp"]
    k8s.ask("DELETE", f"{SPACE}/pods/p", {"gracePeriodSeconds": 0})
    assert (k8s.get(CLAIMS)["items"], k8s.get(VOLUMES)["items"]) == ([], [])
