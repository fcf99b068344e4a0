"""The model registry: models, their versions, and the names that versions go by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from infra.sandbox import etags, lists, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import number
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call
from infra.sandbox.services.aiplatform import parts
from infra.sandbox.services.aiplatform.parts import HOST, found_errors, precondition

UPLOAD = 60
ID = re.compile(r"[a-z_][a-z0-9_-]{0,62}")
"""Source: `modelId` in the discovery document."""
ALIAS = re.compile(r"[a-z][a-z0-9-]{0,126}[a-z0-9]")
"""Source: Model.versionAliases in the discovery document."""
DEFAULT = "default"
IMMUTABLE = ("artifactUri", "metadata", "metadataSchemaUri", "containerSpec")
"""Source: the discovery document; a container is "ingested upon UploadModel"."""
LETTERS = 128
"""Of a display name. Source: Model.displayName in the discovery document."""
LABEL = re.compile(r"[\w-]{1,64}")
"""Source: Model.labels in the discovery document: small letters of any script, digits, _ and -."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
VARIABLES = 200
LONGEST_DEPLOYMENT = 2 * 60 * 60
"""Source: ModelContainerSpec.env and deploymentTimeout, EnvVar.name in the discovery document."""
RUNS, ALIASES = "upload", "uploadAliases"
"""What is kept of a version whose upload runs: that it does, and the aliases that it gets at the end."""


def upload(call: Call) -> Any:
    """`models:upload`: a new model, or with `parentModel` a new version of one. It is there when the operation ends."""
    asked = call.body.get("model", {})
    _check_model(call, asked)
    parent = call.body.get("parentModel", "")
    if parent:
        name, _ = find(call, parent)
    else:
        chosen = call.body.get("modelId", "")
        if chosen and not ID.fullmatch(chosen):
            raise found_errors([("model_id", f"Invalid model ID: {chosen}")])
        count = call.cloud.store.next("ids")
        name = f"{call.owner}/models/{chosen or number(f'{call.owner}{count}')[:19]}"
        if call.cloud.store.get(HOST, name) is not None:
            raise Refused(409, f"Model {call.cloud.projects.by_number(name)} already exists.")
    index = call.cloud.store.get(HOST, name) or {"next": 1, "createTime": rfc3339(call.now)}
    version = str(index["next"])
    _check_aliases(asked.get("versionAliases", []), [])
    gets = asked.get("versionAliases", []) + ([] if parent else [DEFAULT])
    body = _version(call, asked, name, version, index) | {RUNS: True, ALIASES: gets, "versionAliases": []}
    call.cloud.store.put(HOST, name, index | {"next": index["next"] + 1})
    call.cloud.store.put(HOST, f"{name}/@{version}", body, f"{name}/versions")
    call.target = f"{name}/@{version}" if parent else name
    response = {"model": call.cloud.projects.by_number(name), "modelVersionId": version}
    return operations.start(call, "create", {}, UPLOAD, response=response, sets={})


def _check_model(call: Call, asked: Body) -> None:
    """
    Raises:
        Refused: With all that is wrong with the model that is to be uploaded.
    """
    spec = asked.get("containerSpec")
    needed = {"displayName": "model.display_name"} | ({} if spec is None else {"containerSpec.imageUri": "model.container_spec.image_uri"})
    parts.required(asked, needed)
    if findings := [*_check_said(asked), *_check_container(spec or {})]:
        raise found_errors(findings)
    bucket = call.cloud.store.get("storage.googleapis.com", f"b/{asked.get('artifactUri', '').removeprefix('gs://').partition('/')[0]}")
    place, where = call.word("locations"), str((bucket or {}).get("location", "")).lower()
    if where and where != place:  # https://github.com/googleapis/python-aiplatform/issues/885, read 2026-11
        raise precondition(
            f"The Cloud Storage bucket of `{asked['artifactUri']}` is in location `{where}`. "
            f"It must be in the same regional location as the service location `{place}`."
        )


def _check_said(asked: Body) -> Iterator[tuple[str, str]]:
    if len(asked.get("displayName", "")) > LETTERS:
        yield "model.display_name", f"Must be at most {LETTERS} characters."
    for key, value in asked.get("labels", {}).items():
        if not LABEL.fullmatch(key) or key != key.lower() or (value and (not LABEL.fullmatch(value) or value != value.lower())):
            yield "model.labels", f"Invalid label: {key}"


def _check_container(spec: Body) -> Iterator[tuple[str, str]]:
    where = "model.container_spec"
    for port in spec.get("ports", []):
        if not 1 <= port.get("containerPort", 0) <= 65535:
            yield f"{where}.ports", f"Invalid port: {port.get('containerPort', 0)}"
    if len(spec.get("env", [])) > VARIABLES:
        yield f"{where}.env", f"At most {VARIABLES} environment variables can be specified."
    for one in spec.get("env", []):
        if not VARIABLE.fullmatch(one.get("name", "")):
            yield f"{where}.env", f"Invalid name: {one.get('name', '')}"
    if float(spec.get("deploymentTimeout", "0s")[:-1]) > LONGEST_DEPLOYMENT:
        yield f"{where}.deployment_timeout", "Must be at most 2 hours."


def _version(call: Call, asked: Body, name: str, version: str, index: Body) -> Body:
    now = rfc3339(call.now)
    call.target = f"{name}/@{version}"
    return asked | {
        "name": name,
        "versionId": version,
        "createTime": index["createTime"],
        "updateTime": now,
        "versionCreateTime": now,
        "versionUpdateTime": now,
        "etag": etags.new(call.cloud),
        "supportedDeploymentResourcesTypes": ["DEDICATED_RESOURCES"],  # a model with a container of one's own; FACTS of the API's reference
    }


def _check_aliases(adds: list[str], drops: list[str]) -> None:
    wrong = [alias for alias in adds if not ALIAS.fullmatch(alias)]
    if wrong:
        raise found_errors([("version_aliases", f"Invalid version alias: {', '.join(wrong)}")])
    if DEFAULT in drops and DEFAULT not in adds:
        raise found_errors([("version_aliases", "The default alias cannot be removed; give it to another version.")])


def _set_aliases(call: Call, name: str, body: Body, adds: list[str], drops: list[str]) -> Body:
    """An alias names one version: it is taken from the one that had it. The model always has one `default`."""
    version = body["versionId"]
    for key, other in call.cloud.store.items(HOST, f"{name}/versions"):
        if other["versionId"] != version and set(other.get("versionAliases", [])) & set(adds):
            left = [alias for alias in other["versionAliases"] if alias not in adds]
            call.cloud.store.put(HOST, key, other | {"versionAliases": left})
    have = [alias for alias in body.get("versionAliases", []) if alias not in drops and alias not in adds]
    body = body | {"versionAliases": [*have, *dict.fromkeys(adds)]}
    call.cloud.store.put(HOST, f"{name}/@{version}", body)
    return body


def _versions(call: Call, name: str) -> list[tuple[str, Body]]:
    """Those whose upload has ended; what they were to be called is so from then on."""
    running = {operation["target"] for operation in call.cloud.store.pending(HOST, name)}
    found = []
    for key, _ in call.cloud.store.items(HOST, f"{name}/versions"):
        body = call.cloud.store.get(HOST, key) or {}  # an upload that ended before may have taken an alias from it
        if RUNS in body:
            if name in running or call.cloud.store.pending(HOST, key):
                continue
            gets = body[ALIASES]
            body = _set_aliases(call, name, {field: value for field, value in body.items() if field not in (RUNS, ALIASES)}, gets, [])
        found.append(key)
    return [(key, call.cloud.store.get(HOST, key) or {}) for key in found]


def find(call: Call, reference: str) -> tuple[str, Body]:
    """
    The model that *reference* names, and its version: `.../models/ID`, `ID@2`, `ID@alias`.

    Raises:
        Refused: There is none.
    """
    name, _, wanted = call.cloud.projects.by_id(reference).partition("@")
    for _, body in _versions(call, name):
        if (wanted or DEFAULT) in (body["versionId"], *body.get("versionAliases", [])):
            return name, body
    raise Refused(404, "The Model does not exist.")


def without_version(reference: str) -> str:
    return reference.partition("@")[0]


def deployments(call: Call) -> Iterator[tuple[Body, Body]]:
    """Every endpoint of the project, and what it has deployed."""
    for _, name, body in call.cloud.store.every(HOST, f"projects/{call.project}/locations/"):
        if "/endpoints/" in name:
            yield from ((body, deployed) for deployed in body.get("deployedModels", []))


def _shown(call: Call, name: str, body: Body) -> Body:
    refs = references(call, _deployed(call, name, body))
    return verbs.answered(call, body | ({"deployedModels": refs} if refs else {}))


def references(call: Call, found: list[tuple[Body, Body]]) -> list[Body]:
    """Endpoints, and what each has deployed, as a model and a pool name them."""
    by_number = call.cloud.projects.by_number
    return [{"endpoint": by_number(endpoint["name"]), "deployedModelId": deployed["id"]} for endpoint, deployed in found]


def _deployed(call: Call, name: str, body: Body | None = None) -> list[tuple[Body, Body]]:
    """Where a model runs, or one version of it."""
    return [
        (endpoint, deployed)
        for endpoint, deployed in deployments(call)
        if call.cloud.projects.by_id(deployed["model"]) == name and (body is None or deployed["modelVersionId"] == body["versionId"])
    ]


def get(call: Call) -> Any:
    name, body = find(call, call.owner)
    return _shown(call, name, body)


def list_(call: Call) -> Any:
    """Models, each in its default version."""
    names = [name for name, _ in call.cloud.store.items(HOST, f"{call.owner}/models") if _versions(call, name)]
    return lists.answer(call, names, lambda name: _shown(call, *find(call, name)))


def list_versions(call: Call) -> Any:
    name, _ = find(call, call.owner)
    return lists.answer(call, _versions(call, name), lambda item: _shown(call, name, item[1]))


def patch(call: Call) -> Any:
    """Display name, descriptions, labels; aliases are merged by a method of their own."""
    name, before = find(call, call.owner)
    parts.check_etag(call, before)
    mask = call.query.get("updateMask", "")
    if not mask:
        raise found_errors([("update_mask", "Required field is not set.")])
    after = verbs.masked(before, call.body, mask)
    for field in IMMUTABLE:
        if after.get(field) != before.get(field):
            raise found_errors([(f"model.{field}", "Field is immutable.")])
    now = rfc3339(call.now)
    call.target = name
    after |= {"versionUpdateTime": now, "updateTime": now, "etag": etags.new(call.cloud)}
    call.cloud.store.put(HOST, f"{name}/@{before['versionId']}", after)
    return _shown(call, name, after)


def merge_aliases(call: Call) -> Any:
    """`:mergeVersionAliases`: a leading `-` takes an alias away."""
    name, body = _version_of(call)
    asked = call.body.get("versionAliases", [])
    adds, drops = [alias for alias in asked if not alias.startswith("-")], [alias[1:] for alias in asked if alias.startswith("-")]
    call.target = name
    _check_aliases(adds, drops)
    body = body | {"versionUpdateTime": rfc3339(call.now), "etag": etags.new(call.cloud)}
    return _shown(call, name, _set_aliases(call, name, body, adds, drops))


def _version_of(call: Call) -> tuple[str, Body]:
    """
    A model, and the version that the call names.

    Raises:
        Refused: It names none: "with a version ID explicitly included", says the discovery document of these methods.
    """
    if "@" not in call.owner:
        raise found_errors([("name", "The version ID must be included.")])
    return find(call, call.owner)


def delete(call: Call) -> Any:
    name, _ = find(call, without_version(call.owner))
    _check_unused(call, name, None)
    call.target = name
    return operations.start(call, "delete", None, 0, empty=True)


def delete_version(call: Call) -> Any:
    """Not the only one. Source: the method's description in the discovery document."""
    name, body = _version_of(call)
    _check_unused(call, name, body)
    if len(_versions(call, name)) == 1:
        raise precondition("The only version of a Model cannot be deleted; delete the Model instead.")
    if DEFAULT in body.get("versionAliases", []):
        raise precondition("The default version of a Model cannot be deleted; give the alias to another version first.")
    call.target = f"{name}/@{body['versionId']}"
    return operations.start(call, "delete", None, 0, empty=True)


def _check_unused(call: Call, name: str, body: Body | None) -> None:
    used = sorted({call.cloud.projects.by_number(endpoint["name"]) for endpoint, _ in _deployed(call, name, body)})
    if used:
        where = ", ".join(used)
        raise precondition(
            f'The Model "{call.cloud.projects.by_number(name)}" is deployed or being deployed at the following Endpoint(s): {where}.'
        )


HANDLERS = {
    "projects.locations.models.upload": upload,
    "projects.locations.models.get": get,
    "projects.locations.models.list": list_,
    "projects.locations.models.listVersions": list_versions,
    "projects.locations.models.patch": patch,
    "projects.locations.models.mergeVersionAliases": merge_aliases,
    "projects.locations.models.delete": delete,
    "projects.locations.models.deleteVersion": delete_version,
}
