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


def upload(call: Call) -> Any:
    """`models:upload`: a new model, or with `parentModel` a new version of one."""
    asked = call.body.get("model", {})
    needed = {"displayName": "model.display_name"}
    if "containerSpec" in asked:
        needed["containerSpec.imageUri"] = "model.container_spec.image_uri"
    parts.required(asked, needed)
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
    body = _version(call, asked, name, version, index)
    call.cloud.store.put(HOST, name, index | {"next": index["next"] + 1})
    _set_aliases(call, name, version, body, asked.get("versionAliases", []) + ([] if parent else [DEFAULT]), [])
    call.target = f"{name}/@{version}" if parent else name
    kept = call.cloud.store.get(HOST, call.target) or {}
    response = {"model": call.cloud.projects.by_number(name), "modelVersionId": version}
    return operations.start(call, "create", kept, UPLOAD, response=response)


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


def _set_aliases(call: Call, name: str, version: str, body: Body, adds: list[str], drops: list[str]) -> Body:
    """An alias names one version: it is taken from the one that had it. The model always has one `default`."""
    wrong = [alias for alias in adds if not ALIAS.fullmatch(alias)]
    if wrong:
        raise found_errors([("version_aliases", f"Invalid version alias: {', '.join(wrong)}")])
    if DEFAULT in drops and DEFAULT not in adds:
        raise found_errors([("version_aliases", "The default alias cannot be removed; give it to another version.")])
    for key, other in call.cloud.store.items(HOST, f"{name}/versions"):
        if other["versionId"] != version and set(other.get("versionAliases", [])) & set(adds):
            left = [alias for alias in other["versionAliases"] if alias not in adds]
            call.cloud.store.put(HOST, key, other | {"versionAliases": left})
    have = [alias for alias in body.get("versionAliases", []) if alias not in drops and alias not in adds]
    body = body | {"versionAliases": [*have, *dict.fromkeys(adds)]}
    call.cloud.store.put(HOST, f"{name}/@{version}", body, f"{name}/versions")
    return body


def find(call: Call, reference: str) -> tuple[str, Body]:
    """
    The model that *reference* names, and its version: `.../models/ID`, `ID@2`, `ID@alias`.

    Raises:
        Refused: There is none.
    """
    name, _, wanted = call.cloud.projects.by_id(reference).partition("@")
    for _, body in call.cloud.store.items(HOST, f"{name}/versions"):
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
    names = [name for name, _ in call.cloud.store.items(HOST, f"{call.owner}/models")]
    return lists.answer(call, names, lambda name: _shown(call, *find(call, name)))


def list_versions(call: Call) -> Any:
    name, _ = find(call, call.owner)
    return lists.answer(call, call.cloud.store.items(HOST, f"{name}/versions"), lambda item: _shown(call, name, item[1]))


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
    name, body = find(call, call.owner)
    asked = call.body.get("versionAliases", [])
    adds, drops = [alias for alias in asked if not alias.startswith("-")], [alias[1:] for alias in asked if alias.startswith("-")]
    call.target = name
    body = body | {"versionUpdateTime": rfc3339(call.now), "etag": etags.new(call.cloud)}
    return _shown(call, name, _set_aliases(call, name, body["versionId"], body, adds, drops))


def delete(call: Call) -> Any:
    name, _ = find(call, without_version(call.owner))
    _check_unused(call, name, None)
    call.target = name
    return operations.start(call, "delete", None, 0, empty=True)


def delete_version(call: Call) -> Any:
    """Not the only one. Source: the method's description in the discovery document."""
    name, body = find(call, call.owner)
    _check_unused(call, name, body)
    if len(call.cloud.store.items(HOST, f"{name}/versions")) == 1:
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
