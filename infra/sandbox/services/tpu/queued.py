"""
Queued resources: a wish for nodes, and what becomes of it.

CREATING, then ACCEPTED, then PROVISIONING while its nodes are made, then ACTIVE; WAITING_FOR_RESOURCES where a fault says that the zone is
out of them (`stockout`, or `fail` on a node's path: RESOURCE_EXHAUSTED), FAILED where it fails with another status, or `validUntil` passes
first;
SUSPENDING, then SUSPENDED when its nodes are gone or preempted (`preempt`).
Source: the states in the discovery document; Google's page on managing queued resources.
"""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from infra.sandbox import operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused, invalid, rpc_error
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.tpu import nodes
from infra.sandbox.services.tpu.nodes import HOST

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

RESOURCE = "projects.locations.queuedResources"
WAITS, BUILDS, RETRIES = 60.0, 300.0, 60.0
"""Seconds until ACCEPTED ends, in PROVISIONING, and between two looks at a zone without capacity."""
SUSPENDS = 30.0
"""Seconds in SUSPENDING."""
TAKEN_AWAY = ("PREEMPTED", "TERMINATED")
DELETABLE = ("ACCEPTED", "FAILED", "SUSPENDED")
"""States in which no force is needed. Source: queuedResources.delete in the discovery document."""


def _fill(call: Call, body: Body) -> None:
    body |= {"name": call.target, "createTime": rfc3339(call.now)}
    body["next"] = max(call.now + WAITS, _moment(call, body, "validAfter"))


def _check(call: Call, body: Body, before: Body | None) -> None:
    specs = body.get("tpu", {}).get("nodeSpec", [])
    if not specs:
        raise invalid("A queued resource needs at least one node spec.", "queued_resource.tpu.node_spec")
    if body.get("spot") is not None and body.get("guaranteed") is not None:  # two tiers of one choice: Google's reference
        raise invalid("Only one of spot and guaranteed can be set.", "queued_resource.guaranteed")
    for spec in specs:
        if not spec.get("node") or not spec.get("parent"):  # "Required." in the discovery document
            raise invalid("A node spec needs a node and a parent.", "queued_resource.tpu.node_spec")
        multislice = spec.get("multisliceParams")
        if bool(spec.get("nodeId")) == bool(multislice) or (multislice and multislice.get("nodeCount", 0) < 2):
            said = "A node spec has either a node_id or multislice_params with a node_count of more than 1."
            raise invalid(said, "queued_resource.tpu.node_spec")
        nodes.shape_of(call, spec["node"], _provisioning(body))
    for name, _ in _wanted(body):
        if call.cloud.store.get(HOST, name) is not None:
            raise Refused(409, f"Resource '{name}' already exists")


def _provisioning(body: Body) -> str:
    if body.get("spot") is not None:
        return "spot"
    return "reservation" if body.get("reservationName") else "on-demand"


def _wanted(body: Body) -> Iterator[tuple[str, Body]]:
    """Names of the nodes that it asks for, and what each is to be. The names of several: MultisliceParams in the discovery document."""
    for spec in body["tpu"]["nodeSpec"]:
        parent = "/".join(body["name"].split("/")[:4])
        multislice = spec.get("multisliceParams")
        if not multislice:
            yield f"{parent}/nodes/{spec['nodeId']}", spec["node"]
            continue
        prefix = multislice.get("nodeIdPrefix") or body["name"].rpartition("/")[2]
        for index in range(multislice["nodeCount"]):
            yield f"{parent}/nodes/{prefix}-{index}", spec["node"] | {"multisliceNode": True}


def settle(cloud: Cloud) -> None:
    """Moves every queued resource on to now, and takes nodes away where a fault says so."""
    every = {name: body for _, name, body in cloud.store.every(HOST, "projects/")}
    for name, body in every.items():
        if "/queuedResources/" in name:
            _advance(cloud.inside(cloud.services[HOST], f"tpu.{RESOURCE}.create", name, "v2"), body)
        elif body.get("state") == "DELETING" and body.get("queuedResource", name) not in every:
            cloud.remove(HOST, name)  # by the force of a delete that has ended
        elif body.get("state") == "READY" and _is_spot(body) and cloud.faults.preempts(f"{HOST}/{name}"):
            cloud.use.taken_away(name)
            cloud.store.put(HOST, name, body | {"state": "PREEMPTED"})


def _is_spot(node: Body) -> bool:
    scheduling = node.get("schedulingConfig", {})
    return bool(scheduling.get("spot") or scheduling.get("preemptible"))


def _advance(call: Call, body: Body) -> None:
    """One after the other, so that a moved clock finds what would have been."""
    if "was" in body and not call.cloud.store.pending(HOST, call.target):
        body = _undeleted(call, body)
    while (moment := body.get("next")) is not None and moment <= call.now:
        state = body["state"]["state"]
        if state == "CREATING":
            break
        if state in ("ACCEPTED", "WAITING_FOR_RESOURCES"):
            _provision(call, body, moment)
        elif state == "SUSPENDING":
            _set(body, "SUSPENDED", None)
        else:
            for name, _ in _wanted(body):
                node = call.cloud.store.get(HOST, name)
                if node is not None and node["state"] == "CREATING":
                    call.cloud.store.put(HOST, name, node | {"state": "READY"})
            _set(body, "ACTIVE", None)
        call.cloud.store.put(HOST, call.target, body)
    if body["state"]["state"] == "ACTIVE":
        _suspend(call, body)


def _suspend(call: Call, body: Body) -> None:
    """One whose nodes somebody deleted, or Google took away. `stateInitiator` says who, by the discovery document."""
    nodes = [node for name, _ in _wanted(body) if (node := call.cloud.store.get(HOST, name)) is not None]
    if not nodes:
        _set(body, "SUSPENDED", None, {"stateInitiator": "USER"})
        call.cloud.store.put(HOST, call.target, body)
    elif any(node["state"] in TAKEN_AWAY for node in nodes):
        _set(body, "SUSPENDING", call.now + SUSPENDS)
        call.cloud.store.put(HOST, call.target, body)


def _undeleted(call: Call, body: Body) -> Body:
    """A delete that failed leaves it and its nodes as they were."""
    was = body["was"]
    for name, state in was["nodes"].items():
        if (node := call.cloud.store.get(HOST, name)) is not None:
            call.cloud.store.put(HOST, name, node | {"state": state})
    body = {key: value for key, value in body.items() if key != "was"} | {"state": was["state"], "next": was["next"]}
    call.cloud.store.put(HOST, call.target, body)
    return body


def _provision(call: Call, body: Body, moment: float) -> None:
    until = _moment(call, body, "validUntil")
    if until and until < moment:
        error = {"code": 4, "message": "The queued resource was not fulfilled before it ceased to be valid."}  # 4: DEADLINE_EXCEEDED
        _set(body, "FAILED", None, {"failedData": {"error": error}})
        return
    wanted = list(_wanted(body))
    errors = (_lacking(replace(call, target=name), node, _provisioning(body)) for name, node in wanted)
    failed: Body | None = next((one for one in errors if one), None)
    if failed:
        if failed["status"] == "RESOURCE_EXHAUSTED":
            _set(body, "WAITING_FOR_RESOURCES", moment + RETRIES)
        else:  # "some late-discovered problem with the request itself"
            _set(body, "FAILED", None, {"failedData": {"error": {key: failed[key] for key in ("code", "message")}}})
        return
    for name, node in wanted:
        made = {**copy.deepcopy(node), "queuedResource": call.target}
        if _provisioning(body) == "spot":
            made["schedulingConfig"] = {**node.get("schedulingConfig", {}), "spot": True}
        nodes.fill(replace(call, target=name), made)
        call.cloud.store.put(HOST, name, {**made, "state": "CREATING"})
    _set(body, "PROVISIONING", moment + BUILDS)


def _lacking(call: Call, node: Body, way: str) -> Body | None:
    """Error of a node's create: no quota is no refusal here, since the wish was taken long ago."""
    try:
        return call.cloud.faults.operation(call, "create") or nodes.lacks(call, node, way)
    except Refused as refused:
        return rpc_error("FAILED_PRECONDITION", refused.message)


def _set(body: Body, state: str, moment: float | None, more: Body | None = None) -> None:
    body["state"] = {"state": state, "stateInitiator": "SERVICE"} | (more or {})
    body["next"] = moment


def _moment(call: Call, body: Body, word: str) -> float:
    """`validAfter...` or `validUntil...` of the policy in seconds since 1970; 0 where it says nothing."""
    policy = body.get("queueingPolicy", {})
    interval = policy.get("validInterval", {}).get("startTime" if word == "validAfter" else "endTime")
    moment = policy.get(f"{word}Time") or interval
    if moment:
        return dt.datetime.fromisoformat(moment).timestamp()
    duration = policy.get(f"{word}Duration")
    begun = dt.datetime.fromisoformat(body["createTime"]).timestamp()
    return begun + float(duration.removesuffix("s")) if duration else 0.0


def _show(call: Call, body: Body) -> Body:
    return {key: value for key, value in body.items() if key not in ("next", "was")}


def get(call: Call) -> Any:
    """Who asks after one waits for it: the clock moves to its next state, so that the next call finds that."""
    answer = verbs.get(call)
    moments = [operation["ends"] for operation in call.cloud.store.pending(HOST, call.target)]
    if not moments and (moment := verbs.stored(call).get("next")) is not None:
        moments = [moment]
    if moments and not call.cloud.clock.manual:
        call.cloud.clock.advance(min(moments) - call.now)
    return answer


def delete(call: Call) -> Any:
    """With `force`, its nodes go first. Without it, what it left stays: a preempted node is no running one."""
    body = verbs.opened(call)
    stored = {name: call.cloud.store.get(HOST, name) or {} for name, _ in _wanted(body)}
    own = {name: node for name, node in stored.items() if node.get("queuedResource") == call.target}
    force, state = call.query.get("force") == "true", body["state"]["state"]
    if own and state not in DELETABLE and not force:
        said = f"Queued resource {call.target} is {state} and has nodes; delete them first, or delete it with force."
        raise Refused(400, said, status="FAILED_PRECONDITION")
    body["was"] = {"state": body["state"], "next": body["next"], "nodes": {}}
    if force:
        body["was"]["nodes"] = {name: node["state"] for name, node in own.items()}
        for name, node in own.items():
            call.cloud.store.put(HOST, name, node | {"state": "DELETING"})
    _set(body, "DELETING", None, {"stateInitiator": "USER"})
    call.cloud.store.put(HOST, call.target, body)
    return operations.start(call, "delete", None, 60, empty=True)


def reset(call: Call) -> Any:
    """`:reset`: one that is suspended or has failed waits anew."""
    body = verbs.opened(call)
    state = body["state"]["state"]
    if state not in ("SUSPENDED", "FAILED"):
        raise Refused(
            400, f"Queued resource {call.target} is {state}; only a SUSPENDED or FAILED one is reset.", status="FAILED_PRECONDITION"
        )
    body = body | {"state": {"state": "ACCEPTED", "stateInitiator": "USER"}, "next": call.now + WAITS}
    return verbs.changed(call, body, "reset")


QUEUED = Kind(
    RESOURCE,
    id_from="query:queuedResourceId",
    seconds={"create": 10, "reset": 10},
    during={"create": {"state": {"state": "CREATING", "stateInitiator": "USER"}}},
    ready={"state": {"state": "ACCEPTED", "stateInitiator": "USER"}},
    fill=_fill,
    check=_check,
    show=_show,
)
HANDLERS = {f"{RESOURCE}.get": get, f"{RESOURCE}.delete": delete, f"{RESOURCE}.reset": reset}
