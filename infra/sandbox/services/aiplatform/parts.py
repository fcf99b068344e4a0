"""What all of Vertex AI does alike: operations under their resource, names with the project's number, findings in one message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from infra.sandbox import etags, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import number
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call, Operations, Service

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

HOST = "aiplatform.googleapis.com"
MESSAGES = "type.googleapis.com/google.cloud.aiplatform"
AT_LOCATION = ("aiplatform.projects.locations.tensorboards.patch",)
"""Methods besides the deletes whose operation is named beside the resource. Source: recordings."""
MESSAGE_OF = {"experiments": "TensorboardExperiment", "runs": "TensorboardRun", "timeSeries": "TensorboardTimeSeries"}
OWN_RESPONSES = {"deployModel", "undeployModel", "mutateDeployedModel"}


class VertexOperations(Operations):
    """Long-running operations of Vertex AI. Source: recordings of tensorboards, endpoints and datasets."""

    def name(self, call: Call, verb: str) -> str:
        where = call.target.partition("/@")[0]
        if verb == "delete" or call.method.id in AT_LOCATION:
            where = "/".join(where.split("/")[:-2])
        count = call.cloud.store.next("operations")
        return f"{where}/operations/{number(f'{call.target}{count}')[:19]}"

    def shown(self, cloud: Cloud, service: Service, operation: Body) -> Body:
        begun, now = rfc3339(operation["starts"]), rfc3339(min(operation["ends"], cloud.clock.now()))
        times = {"createTime": begun, "updateTime": now if operation["done"] else begun}
        about = {"@type": f"{MESSAGES}.{operation['version']}.{_metadata(operation)}", "genericMetadata": times}
        answer: Body = {"name": cloud.answered_name(service, operation["name"]), "metadata": about}
        if not operation["done"]:
            return answer
        if "error" in operation:
            return answer | {"done": True, "error": operation["error"]}
        if operation["verb"] == "delete":
            return answer | {"done": True, "response": {"@type": "type.googleapis.com/google.protobuf.Empty"}}
        kind = f"{MESSAGES}.{operation['version']}.{_response(operation)}"
        return answer | {"done": True, "response": {"@type": kind} | operation["response"]}


def _verb(operation: Body) -> str:
    return str(operation["method"].rpartition(".")[2])


def message(resource: str) -> str:
    """Name of a resource's message: `projects.locations.endpoints` -> `Endpoint`."""
    word = resource.rpartition(".")[2]
    return MESSAGE_OF.get(word) or word[:1].upper() + re.sub(r"ies$", "y", word[1:]).removesuffix("s")


def _metadata(operation: Body) -> str:
    verb = _verb(operation)
    if operation["verb"] == "delete":
        return "DeleteOperationMetadata"
    if verb in ("create", "patch"):
        return f"{'Create' if verb == 'create' else 'Update'}{message(operation['resource'])}OperationMetadata"
    return f"{'UploadModel' if verb == 'upload' else verb[:1].upper() + verb[1:]}OperationMetadata"


def _response(operation: Body) -> str:
    verb = _verb(operation)
    if verb == "upload":
        return "UploadModelResponse"
    return f"{verb[:1].upper()}{verb[1:]}Response" if verb in OWN_RESPONSES else message(operation["resource"])


def fill(call: Call, body: Body) -> None:
    """What the service fills in wherever the resource has such a field."""
    version = call.version[:1].upper() + call.version[1:]
    schema = call.method.document.schemas.get(f"GoogleCloudAiplatform{version}{message(call.method.resource)}", {})
    known = schema.get("properties", {"name": {}})
    now = rfc3339(call.now)
    said = {"name": call.target, "createTime": now, "updateTime": now, "etag": etags.new(call.cloud)}
    body |= {key: value for key, value in said.items() if key in known}


def touched(call: Call, body: Body, before: Body) -> None:
    """After a change."""
    body |= {key: value for key, value in (("updateTime", rfc3339(call.now)), ("etag", etags.new(call.cloud))) if key in before}


def made(call: Call, body: Body) -> Body:
    """What a create's operation answers: without times and etag. Source: recordings of tensorboards."""
    return verbs.answered(call, {key: value for key, value in body.items() if key not in ("createTime", "updateTime", "etag")})


def only_name(call: Call, body: Body) -> Body:
    """Source: recordings of featurestores and notebook runtime templates."""
    return verbs.answered(call, {"name": body["name"]})


def check_etag(call: Call, before: Body | None) -> None:
    """
    Raises:
        Refused: Somebody changed it since it was read. Source: Google's API improvement proposal 154.
    """
    if before:
        etags.check(call.cloud, call.body.get("etag", ""), before["etag"], "The etag does not match the current etag of the resource.")


def required(body: Body, fields: Mapping[str, str]) -> None:
    """
    Raises:
        Refused: Fields (as they are kept -> as the message calls them) are missing: all at once, as Vertex AI says it.
    """
    findings = [(name, "Required field is not set.") for path, name in fields.items() if verbs.at(body, path) in (None, "", {})]
    if findings:
        raise found_errors(findings)


def found_errors(findings: list[tuple[str, str]]) -> Refused:
    """Source: the recorded 400 of a tensorboard."""
    said = "".join(f"{count}.Field: {name}; Message: {what}\t" for count, (name, what) in enumerate(findings, 1))
    return Refused(400, f"List of found errors:\t{said}")


def precondition(message: str) -> Refused:
    return Refused(400, message, status="FAILED_PRECONDITION")
