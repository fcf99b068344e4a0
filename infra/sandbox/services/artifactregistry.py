"""Artifact Registry: repositories."""

from __future__ import annotations

from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused, invalid, no_entity
from infra.sandbox.service import Body, Call, Kind, Service

HOST = "artifactregistry.googleapis.com"


def _prepare(call: Call) -> None:
    """The official provider writes the id's parameter in small letters."""
    if "repository_id" in call.query:
        call.query = {**call.query, "repositoryId": call.query["repository_id"]}


def _fill(call: Call, body: Body) -> None:
    now = rfc3339(call.now)
    body.setdefault("mode", "STANDARD_REPOSITORY")  # recordings
    body |= {"name": call.target, "createTime": now, "updateTime": now, "satisfiesPzi": True}
    body["registryUri"] = _uri(call, body)
    body["vulnerabilityScanningConfig"] = body.get("vulnerabilityScanningConfig", {}) | _scanning(body) | {"lastEnableTime": now}


def _uri(call: Call, body: Body) -> str:
    """Where clients find it. Source: recordings, and Repository.registryUri in the discovery document."""
    return f"{call.word('locations')}-{body['format'].lower()}.pkg.dev/{call.project}/{call.target.rpartition('/')[2]}"


def _scanning(body: Body) -> Body:
    """Recordings: no project of the sandbox has the scanning API on."""
    if body["mode"] != "STANDARD_REPOSITORY":
        return {"enablementState": "SCANNING_UNSUPPORTED", "enablementStateReason": f"Repository mode {body['mode']} is not supported."}
    return {"enablementState": "SCANNING_DISABLED", "enablementStateReason": "API containerscanning.googleapis.com is not enabled."}


def _check(call: Call, body: Body, before: Body | None) -> None:
    for policy in body.get("virtualRepositoryConfig", {}).get("upstreamPolicies", []):
        upstream = policy.get("repository", "")
        if call.cloud.store.get(HOST, upstream) is None:
            raise invalid(f'Upstream repository "{upstream}" was not found.', "repository.virtualRepositoryConfig.upstreamPolicies")


def _changed(call: Call, body: Body, before: Body) -> None:
    body["updateTime"] = rfc3339(call.now)


def _made(call: Call, body: Body) -> Body:
    """Recordings: the create's response does not have its times and its address yet."""
    return {key: value for key, value in body.items() if key not in ("createTime", "updateTime", "registryUri")}


def _exists(call: Call) -> Refused:
    return Refused(409, "the repository already exists")


REPOSITORY = Kind(
    "projects.locations.repositories",
    id_from="query:repositoryId",
    required=("format",),  # the reference of the gcloud command and of the API: a repository's format is chosen at its creation
    immutable=("format", "mode", "kmsKeyName"),  # kmsKeyName: discovery document; the others: Google's guide, "cannot be changed"
    seconds={"create": 10, "delete": 10},
    fill=_fill,
    check=_check,
    changed=_changed,
    made=_made,
)

SERVICE = Service(
    host=HOST,
    apis=("artifactregistry.v1",),
    operations=LongRunning(
        metadata=lambda cloud, operation: {"@type": "type.googleapis.com/google.devtools.artifactregistry.v1.OperationMetadata"},
        kind="google.devtools.artifactregistry.v1.Repository",
    ),
    kinds=(REPOSITORY,),
    not_found=no_entity,
    exists=_exists,
    prepare=_prepare,
)
