"""Vertex AI: endpoints, models, custom jobs, pools, tensorboards, datasets; everything else of it is kept as it is sent."""

from __future__ import annotations

from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call, Kind, Service
from infra.sandbox.services.aiplatform import custom_jobs, endpoints, models, parts, predictions

SCHEMAS = "gs://google-cloud-aiplatform/schema/dataset/"
ITEMS = ("image", "text", "video")
"""Datasets whose items have a schema of their own. Source: a recording of an image dataset; Google's list of schemata."""


def _prepare(call: Call) -> None:
    """A model's policy is that of all its versions."""
    if call.method.resource == "projects.locations.models" and call.method.verb in ("getIamPolicy", "setIamPolicy"):
        call.owner, _ = models.find(call, call.owner)


def _fill_tensorboard(call: Call, body: Body) -> None:
    parts.required(body, {"displayName": "tensorboard.display_name"})  # "Required." in the discovery document
    parts.fill(call, body)
    body["blobStoragePathPrefix"] = f"cloud-ai-platform-{call.cloud.uuid(call.cloud.store.next('ids'))}"  # recordings


def _made_tensorboard(call: Call, body: Body) -> Body:
    return {key: value for key, value in parts.made(call, body).items() if key != "blobStoragePathPrefix"}


def _check(call: Call, body: Body, before: Body | None) -> None:
    parts.check_etag(call, before)


def _no_tensorboard(call: Call) -> Refused:
    if not call.target.rpartition("/")[2].isdecimal():
        return parts.found_errors([("name", "Invalid Tensorboard resource name.")])
    return _is_not_found(call)


def _is_not_found(call: Call) -> Refused:
    """Source: recordings of tensorboard experiments and notebook runtime templates."""
    return Refused(404, f"{parts.message(call.kind.resource)} {call.cloud.projects.by_number(call.target)} is not found.")


def _does_not_exist(call: Call) -> Refused:
    """Source: recordings of featurestores and pipeline jobs."""
    return Refused(404, f"The {parts.message(call.kind.resource)} does not exist.")


def _fill_dataset(call: Call, body: Body) -> None:
    parts.required(body, {"displayName": "dataset.display_name", "metadataSchemaUri": "dataset.metadata_schema_uri"})
    parts.fill(call, body)
    schema = body["metadataSchemaUri"].removeprefix(f"{SCHEMAS}metadata/")
    count = call.cloud.store.next("ids")
    about = body.get("metadata") or {}
    if not isinstance(about, dict):
        raise parts.found_errors([("dataset.metadata", "Must be an object.")])
    if schema.partition("_")[0] in ITEMS:
        about = {"dataItemSchemaUri": f"{SCHEMAS}dataitem/{schema}"} | about
    body["metadata"] = about | {"gcsBucket": f"cloud-ai-platform-{call.cloud.uuid(count)}"}
    where = call.cloud.projects.by_number("/".join(call.target.split("/")[:4]))
    body["metadataArtifact"] = f"{where}/metadataStores/default/artifacts/{call.cloud.uuid(call.cloud.store.next('ids'))}"


def _made_dataset(call: Call, body: Body) -> Body:
    """Recordings: the response has neither bucket nor artifact yet, and a label that says its kind."""
    said = {key: value for key, value in parts.made(call, body).items() if key != "metadataArtifact"}
    said["metadata"] = {key: value for key, value in body["metadata"].items() if key != "gcsBucket"}
    kind = body["metadataSchemaUri"].rpartition("/")[2].partition("_")[0].upper()
    return said | {"labels": body.get("labels", {}) | {"aiplatform.googleapis.com/dataset_metadata_schema": kind}}


def _fill_template(call: Call, body: Body) -> None:
    """Source: recordings."""
    parts.fill(call, body)
    body.setdefault("notebookRuntimeType", "USER_DEFINED")
    body.setdefault("idleShutdownConfig", {"idleTimeout": "10800s"})
    body.setdefault("dataPersistentDiskSpec", {"diskSizeGb": "100", "diskType": "pd-standard"})
    body.setdefault("eucConfig", {})


TENSORBOARD = Kind(
    "projects.locations.tensorboards",
    seconds={"create": 10},
    fill=_fill_tensorboard,
    check=_check,
    changed=parts.touched,
    made=_made_tensorboard,
    not_found=_no_tensorboard,
)
EXPERIMENT = Kind(
    "projects.locations.tensorboards.experiments",
    id_from="query:tensorboardExperimentId",
    fill=parts.fill,
    check=_check,
    changed=parts.touched,
    not_found=_is_not_found,
)
DATASET = Kind(
    "projects.locations.datasets",
    immutable=("metadataSchemaUri", "encryptionSpec"),
    seconds={"create": 10},
    fill=_fill_dataset,
    check=_check,
    changed=parts.touched,
    made=_made_dataset,
)
FEATURESTORE = Kind(
    "projects.locations.featurestores",
    id_from="query:featurestoreId",
    seconds={"create": 30, "patch": 30},
    ready={"state": "STABLE"},
    fill=parts.fill,
    changed=parts.touched,
    made=parts.only_name,
)
TEMPLATE = Kind(
    "projects.locations.notebookRuntimeTemplates",
    id_from="query:notebookRuntimeTemplateId",
    fill=_fill_template,
    changed=parts.touched,
    made=parts.only_name,
    not_found=_is_not_found,
)

SERVICE = Service(
    host=parts.HOST,
    apis=("aiplatform.v1", "aiplatform.v1beta1"),
    operations=parts.VertexOperations(),
    kinds=(endpoints.ENDPOINT, endpoints.POOL, custom_jobs.CUSTOM_JOB, TENSORBOARD, EXPERIMENT, DATASET, FEATURESTORE, TEMPLATE),
    handlers={**endpoints.HANDLERS, **models.HANDLERS, **predictions.HANDLERS, **custom_jobs.HANDLERS},
    numbers=True,
    usual=Kind("", fill=parts.fill, changed=parts.touched, made=parts.made),
    not_found=_does_not_exist,
    prepare=_prepare,
    wakes=custom_jobs.wakes,
    settle=custom_jobs.settle,
)
