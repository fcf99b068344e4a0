"""
Cloud Build: builds of a region. Nothing is built: the digest of an image is computed from its name and the source's content, so that the
same source has the same digest, and each build says so in `statusDetail`.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from infra.sandbox import lists, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused, invalid, rpc_error
from infra.sandbox.service import Body, Call, Kind, Service

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

HOST = "cloudbuild.googleapis.com"
REGISTRY = "artifactregistry.googleapis.com"
STORAGE = "storage.googleapis.com"
BUILDS = "projects.locations.builds"
BUILD_SECONDS = 240.0
"""Virtual seconds that a build takes."""
IMAGE = re.compile(r"([a-z0-9-]+)-docker\.pkg\.dev/([^/]+)/([^/]+)/([^:@]+)(:[^@]+)?")
SAYS = "The sandbox built nothing: digests are computed from the source."


def _prepare(call: Call) -> None:
    """Worker pools, triggers and builds of no region are not here: kept as they were sent, they would be none."""
    if call.method.resource not in (BUILDS, "projects.locations.operations"):
        raise Refused(501, f"The sandbox does not have {call.method.id} yet.", status="UNIMPLEMENTED")


def _create(call: Call) -> Any:
    """POST of a build: it is queued, and ends by itself."""
    body = dict(call.body)
    if not body.get("steps"):
        raise invalid("build must contain at least one step", "steps")  # Build.steps is required by the discovery document
    source = body.get("source", {}).get("storageSource", {})
    now = rfc3339(call.now)
    number = call.cloud.uuid(call.cloud.store.next("ids"))
    seconds = BUILD_SECONDS * call.cloud.faults.slowness
    body |= {
        "name": f"{call.owner}/builds/{number}",
        "id": number,
        "projectId": call.project,
        "status": "QUEUED",
        "createTime": now,
        "timeout": body.get("timeout", "3600s"),
        "logUrl": f"https://console.cloud.google.com/cloud-build/builds;region={call.word('locations')}/{number}?project={call.number}",
    }
    call.target = body["name"]
    call.cloud.store.put(HOST, call.target, body, call.inside)
    # A record that no method deletes: it is not left over where a stack is gone.
    call.cloud.mark_own(HOST, call.target)
    ended: Body = {"startTime": now, "finishTime": rfc3339(call.now + seconds)}
    kept = call.cloud.store.get(STORAGE, f"b/{source.get('bucket')}/o/{quote(str(source.get('object')), safe='')}") if source else {}
    failed = _failed(call, body, kept)
    if failed is not None:
        ended |= {"status": "FAILURE", "failureInfo": failed, "statusDetail": failed["detail"]}
        error = rpc_error("FAILED_PRECONDITION", "Build failed; check build logs for details")
        return operations.start(call, "build", body, BUILD_SECONDS, error=error, back=ended)
    images = [_built(name, kept or {}) for name in body.get("images", [])]
    done = ended | {"status": "SUCCESS", "statusDetail": SAYS, "results": {"images": images, "buildStepImages": [""] * len(body["steps"])}}
    if kept:
        done["sourceProvenance"] = {"resolvedStorageSource": {**source, "generation": kept["generation"]}}
    return operations.start(call, "build", body, BUILD_SECONDS, sets=done)


def _failed(call: Call, body: Body, kept: Body | None) -> Body | None:
    """Why a build cannot end well. Source: FailureInfo.type in the discovery document."""
    if kept is None:
        return {"type": "FETCH_SOURCE_FAILED", "detail": "the source object is not there"}
    for image in body.get("images", []):
        parts = IMAGE.fullmatch(image)
        repository = parts and f"projects/{parts[2]}/locations/{parts[1]}/repositories/{parts[3]}"
        if not repository or call.cloud.store.get(REGISTRY, repository) is None:
            return {"type": "PUSH_FAILED", "detail": f"the repository of {image} is not there"}
    return None


def _built(name: str, source: Body) -> Body:
    """What stands in the results of one image."""
    digest = hashlib.sha256(f"{name.partition(':')[0]} {source.get('md5Hash', '')}".encode()).hexdigest()
    return {"name": name, "digest": f"sha256:{digest}"}


def _cancel(call: Call) -> Any:
    """POST on a build, `:cancel`."""
    body = verbs.stored(call)
    if body["status"] in ("QUEUED", "WORKING"):
        body |= {"status": "CANCELLED", "finishTime": rfc3339(call.now)}
        for operation in call.cloud.store.pending(HOST, call.owner):
            operation |= {"ends": call.now, "error": rpc_error("CANCELLED", "Build cancelled"), "back": body}
            call.cloud.store.put_operation(operation["name"], HOST, call.owner, call.now, operation, done=False)
        call.cloud.settle(call.now)
    return verbs.stored(call)


def _list(call: Call) -> Any:
    """Builds of a region, the last one first."""
    if call.query.get("filter"):
        raise Refused(501, f"The sandbox does not read the filter of {call.method.id} yet.", status="UNIMPLEMENTED")
    bodies = [body for _, body in call.cloud.store.items(HOST, call.inside)]
    picked, more = lists.page(call, sorted(bodies, key=lambda body: body["createTime"], reverse=True), 100)
    return ({"builds": picked} if picked else {}) | more


def _metadata(cloud: Cloud, operation: Body) -> Body:
    build = cloud.store.get(HOST, operation["target"]) or {}
    return {"@type": "type.googleapis.com/google.devtools.cloudbuild.v1.BuildOperationMetadata", "build": build}


SERVICE = Service(
    host=HOST,
    apis=("cloudbuild.v1",),
    operations=LongRunning(metadata=_metadata, kind="google.devtools.cloudbuild.v1.Build"),
    kinds=(Kind(BUILDS),),
    handlers={f"{BUILDS}.create": _create, f"{BUILDS}.cancel": _cancel, f"{BUILDS}.list": _list},
    prepare=_prepare,
)
