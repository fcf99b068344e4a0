"""Server-side apply: whose field is whose."""

from __future__ import annotations

from typing import Any

from k8s_calls import APPS, CORE, K8s, config, deployment, said

CONFIGS, DEPLOYMENTS = f"{CORE}/namespaces/default/configmaps", f"{APPS}/namespaces/default/deployments"


def owned(body: dict[str, Any]) -> dict[str, Any]:
    """Manager and operation -> the fields of `data`."""
    found = body["metadata"]["managedFields"]
    return {f"{one['manager']} {one['operation']}": sorted(one["fieldsV1"].get("f:data", {})) for one in found}


def test_what_is_applied_no_more_goes(k8s: K8s) -> None:
    first = k8s.apply(f"{CONFIGS}/a", config(x="1", y="2"))
    assert (first.status, owned(first.body)) == (201, {"pulumi Apply": ["f:x", "f:y"]})
    k8s.patch(f"{CONFIGS}/a", {"data": {"z": "3"}})
    second = k8s.apply(f"{CONFIGS}/a", config(y="2")).body
    assert second["data"] == {"y": "2", "z": "3"}
    assert owned(second) == {"pulumi Apply": ["f:y"], "kubectl Update": ["f:z"]}


def test_fails_where_another_manages_it_but_not_where_it_is_the_same(k8s: K8s) -> None:
    k8s.apply(f"{CONFIGS}/a", config(x="1", y="1"))
    same = k8s.apply(f"{CONFIGS}/a", config(x="1"), "argo").body
    assert owned(same) == {"argo Apply": ["f:x"], "pulumi Apply": ["f:x", "f:y"]}
    answer = k8s.apply(f"{CONFIGS}/a", config(x="2"), "argo")
    assert said(answer) == (409, "Conflict", 'Apply failed with 1 conflict: conflict with "pulumi": .data.x')
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "pulumi"', "field": ".data.x"}
    assert answer.body["details"]["causes"] == [cause]
    both = k8s.apply(f"{CONFIGS}/a", config(x="2", y="2"), "argo")
    assert said(both)[2] == 'Apply failed with 2 conflicts: conflicts with "pulumi":\n- .data.x\n- .data.y'
    forced = k8s.apply(f"{CONFIGS}/a", config(x="2"), "argo", force="true").body
    assert owned(forced) == {"argo Apply": ["f:x"], "pulumi Apply": ["f:y"]}
    kept = k8s.apply(f"{CONFIGS}/a", config(y="1")).body  # what another one manages by now stays
    assert kept["data"] == {"x": "2", "y": "1"}


def test_an_update_takes_fields_over(k8s: K8s) -> None:
    k8s.apply(f"{CONFIGS}/a", config(x="1"))
    k8s.patch(f"{CONFIGS}/a", {"data": {"x": "2"}})
    answer = k8s.apply(f"{CONFIGS}/a", config(x="1"))
    assert said(answer)[2] == 'Apply failed with 1 conflict: conflict with "kubectl" using v1 at 2026-11-30T12:05:00Z: .data.x'


def test_items_of_lists_are_told_apart_by_their_keys(k8s: K8s) -> None:
    k8s.apply(f"{DEPLOYMENTS}/web", deployment())
    side = deployment()
    side["spec"]["template"]["spec"] = {"containers": [{"name": "side", "image": "side:1"}]}
    both = k8s.apply(f"{DEPLOYMENTS}/web", side, "injector").body["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in both] == ["main", "side"]
    changed = deployment()
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:1.28"
    after = k8s.apply(f"{DEPLOYMENTS}/web", changed).body["spec"]["template"]["spec"]["containers"]
    assert [one["image"] for one in after] == ["nginx:1.28", "side:1"]
    words = said(
        k8s.apply(
            f"{DEPLOYMENTS}/web",
            changed
            | {
                "spec": {
                    **changed["spec"],
                    "template": {**changed["spec"]["template"], "spec": {"containers": [{"name": "side", "image": "side:2"}]}},
                }
            },
        )
    )[2]
    assert words == 'Apply failed with 1 conflict: conflict with "injector": .spec.template.spec.containers[name="side"].image'
    side["spec"]["template"]["spec"] = {"containers": []}
    alone = k8s.apply(f"{DEPLOYMENTS}/web", side, "injector").body["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in alone] == ["main"]


def test_replicas_that_an_autoscaler_sets_are_left_to_it(k8s: K8s) -> None:
    k8s.apply(f"{DEPLOYMENTS}/web", deployment())
    k8s.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 5}})
    assert k8s.apply(f"{DEPLOYMENTS}/web", deployment()).body["spec"]["replicas"] == 5
    answer = k8s.apply(f"{DEPLOYMENTS}/web", deployment(replicas=2))
    assert 'conflict with "kubectl" with subresource "scale" using apps/v1' in said(answer)[2]


def test_fails_without_a_manager_or_with_what_no_client_sets(k8s: K8s) -> None:
    assert said(k8s.ask("PATCH", f"{CONFIGS}/a", config(), "application/apply-patch+yaml"))[:2] == (422, "Invalid")
    wrong = config() | {"metadata": {"name": "a", "managedFields": [{}]}}
    assert said(k8s.apply(f"{CONFIGS}/a", wrong)) == (400, "BadRequest", "metadata.managedFields must be nil")
    assert said(k8s.apply(f"{CONFIGS}/a", {"metadata": {"name": "a"}}))[:2] == (400, "BadRequest")
    assert said(k8s.ask("PATCH", f"{CONFIGS}/a", {}, "application/merge-patch+json", force="true"))[:2] == (422, "Invalid")


def test_yaml_is_applied_too(k8s: K8s) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n"
    made = k8s.ask("PATCH", f"{CONFIGS}/a", text, "application/apply-patch+yaml", fieldManager="pulumi")
    assert (made.status, made.body["data"]) == (201, {"x": "1"})
    assert said(k8s.ask("PATCH", f"{CONFIGS}/a", b"a: [", "application/apply-patch+yaml", fieldManager="pulumi"))[:2] == (400, "BadRequest")
