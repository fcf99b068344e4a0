"""
The HTTP interface of a cluster's API server, at the DNS name of its control plane.

`http://127.0.0.1:PORT/gke-....gke.goog/apis/apps/v1/namespaces/default/deployments/web`. Nobody is asked who they are. There is no watch:
who waits asks again. A name that no cluster has is answered by 502, as a proxy answers for a host that is not there.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/, read 2026-11.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from infra.sandbox.service import Answer, Body, Operations, Service
from infra.sandbox.services.kubernetes import controllers, discovery, genesis, nodes, patches, selectors, statuses, writes
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import DOMAIN, NAMESPACE, Cluster, find
from infra.sandbox.services.kubernetes.statuses import Failure

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud, Request

POLICIES = ("Background", "Foreground", "Orphan")
READS = ("GET", "HEAD")
ORPHANED = frozenset({("batch", "Job")})
"""Kinds whose dependents stay where a delete does not say. Source: `pkg/registry/batch/job/strategy.go` of k8s.io/kubernetes."""


@dataclass(slots=True)
class Asked:
    """One request about objects."""

    cluster: Cluster
    request: Request
    kind: Kind
    version: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def query(self) -> Body:
        return dict(self.request.query)

    @property
    def form(self) -> str:
        """Media type of the body."""
        return self.request.content_type.partition(";")[0].strip().lower()


class _Undone(Exception):  # noqa: N818 - it carries an answer
    """A dry run: its answer, and nothing else of it, stays."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer


def handle(cloud: Cloud, request: Request) -> Answer:
    """
    Answers one request.

    Raises:
        Failure: The server refuses.
    """
    cluster = find(cloud, request.host.split(":")[0])
    if cluster is None:
        raise Failure(502, "", f"dial tcp: lookup {request.host}: no such host")
    dns = cluster.body["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]
    if not dns.get("allowExternalTraffic"):
        # Source of the rule: the field's description in the discovery document; the words are ours.
        raise Failure(403, "Forbidden", "External traffic to the DNS endpoint of this cluster is not allowed (allowExternalTraffic).")
    genesis.ensure(cluster)
    path = request.path.strip("/")
    if request.http in READS and (found := discovery.answer(cluster, path)) is not None:
        return Answer(200, found)
    asked = _read(cluster, request, path.split("/"))
    if request.query.get("watch") in ("true", "1"):
        raise statuses.absent("watches")
    try:
        with cloud.store.transaction():
            answer = _method(asked)(asked)
            if request.http not in READS and _dry(asked):
                raise _Undone(answer)
    except _Undone as undone:
        return undone.answer
    if request.http not in READS:
        controllers.run(cluster)
        cloud.kubernetes.changed = False
    return answer


def _dry(asked: Asked) -> bool:
    said = asked.query.get("dryRun", "")
    if said not in ("", "All"):
        raise Failure(422, "Invalid", f'dryRun: Unsupported value: "{said}": supported values: "All"')
    return bool(said)


def _read(cluster: Cluster, request: Request, words: list[str]) -> Asked:
    """
    What a path is about.

    Raises:
        Failure: The server has no such path.
    """
    words = [unquote(word) for word in words]
    if words[:2] == ["api", "v1"]:
        group, version, rest = "", "v1", words[2:]
    elif words[0] == "apis" and len(words) > 3:
        group, version, rest = words[1], words[2], words[3:]
    else:
        raise statuses.no_page()
    if not all(rest):
        raise statuses.no_page()
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and (rest[2] not in ("status", "finalize") or len(rest) > 3):
        namespace, rest = rest[1], rest[2:]
    kind = next((one for one in cluster.kinds() if one.group == group and one.plural == rest[0] and version in one.versions), None)
    if kind is None or len(rest) > 3 or (namespace and not kind.namespaced):
        raise statuses.no_page()
    name, subresource = (*rest[1:], "", "")[:2]
    if name and kind.namespaced and not namespace:
        raise statuses.no_page()
    return Asked(cluster, request, kind, f"{group}/{version}".lstrip("/"), namespace, name, subresource)


def _method(asked: Asked) -> Callable[[Asked], Answer]:
    http = asked.request.http
    if asked.subresource:
        return _subresource(asked)
    if asked.kind.name == "Node" and http not in READS:
        raise statuses.absent("changes of nodes: they are those of the cluster's node pools")
    methods = ONE if asked.name else ALL
    if http not in methods:
        raise statuses.not_allowed()
    return methods[http]


def _subresource(asked: Asked) -> Callable[[Asked], Answer]:
    kind, http, sub = asked.kind, asked.request.http, asked.subresource
    if sub == "status" and kind.status and kind.name != "Node":
        found = {"GET": _get, "HEAD": _get, "PUT": _put, "PATCH": _patch}.get(http)
    elif sub == "scale" and kind.scale:
        found = {"GET": _get_scale, "HEAD": _get_scale, "PUT": _put_scale, "PATCH": _put_scale}.get(http)
    elif sub == "finalize" and kind is NAMESPACE:
        found = {"PUT": _finalize}.get(http)
    elif kind.name == "Pod" and sub in (
        "log",
        "exec",
        "portforward",
        "attach",
        "binding",
        "eviction",
        "proxy",
        "ephemeralcontainers",
        "resize",
    ):
        raise statuses.absent(f"pods/{sub}: no container runs here, so that")
    elif sub in ("token", "approval", "proxy"):
        raise statuses.absent(f"{kind.plural}/{sub}")
    else:
        raise statuses.no_page()
    if found is None:
        raise statuses.not_allowed()
    return found


def _stored(asked: Asked) -> Body:
    body = nodes.get(asked.cluster, asked.name) if asked.kind.name == "Node" else asked.cluster.get(asked.kind, asked.namespace, asked.name)
    if body is None:
        raise statuses.not_found(asked.kind, asked.name)
    return body


def _shown(asked: Asked, body: Body) -> Body:
    return {"kind": asked.kind.name, "apiVersion": asked.version} | {
        key: value for key, value in body.items() if key not in ("kind", "apiVersion")
    }


def _get(asked: Asked) -> Answer:
    return Answer(200, _shown(asked, _stored(asked)))


def _list(asked: Asked) -> Answer:
    kind = asked.kind
    items = nodes.all(asked.cluster) if kind.name == "Node" else asked.cluster.all(kind, asked.namespace)
    items = selectors.picked(kind, items, asked.query.get("labelSelector", ""), asked.query.get("fieldSelector", ""))
    meta: Body = {"resourceVersion": asked.cluster.version()}
    limit = asked.query.get("limit", "")
    after = _continued(asked.query.get("continue", ""))
    if after is not None:
        items = [one for one in items if _place(one) > after]
    if limit.isdecimal() and 0 < int(limit) < len(items):
        meta["remainingItemCount"] = len(items) - int(limit)
        items = items[: int(limit)]
        meta["continue"] = base64.urlsafe_b64encode(json.dumps(_place(items[-1])).encode()).decode()
    drops = () if kind.custom else ("kind", "apiVersion")
    shown = [{key: value for key, value in one.items() if key not in drops} for one in items]
    if kind.custom:
        shown = [_shown(asked, one) for one in items]
    return Answer(200, {"kind": f"{kind.name}List", "apiVersion": asked.version, "metadata": meta, "items": shown})


def _place(body: Body) -> list[str]:
    return [body["metadata"].get("namespace", ""), body["metadata"]["name"]]


def _continued(token: str) -> list[str] | None:
    if not token:
        return None
    try:
        found = json.loads(base64.urlsafe_b64decode(token))
        return [str(found[0]), str(found[1])]
    except (ValueError, TypeError, IndexError, KeyError):
        raise statuses.bad_request("continue key is not valid: invalid continue token") from None


def _writer(asked: Asked) -> writes.Writer:
    query = asked.query
    manager = query.get("fieldManager") or writes.default_manager(asked.request.headers.get("user-agent", ""))
    if len(manager) > 128:
        raise Failure(422, "Invalid", "fieldManager: Invalid value: must have at most 128 bytes")
    return writes.Writer(
        manager=manager,
        version=asked.version,
        strict=query.get("fieldValidation", "Warn") == "Strict",
        force=query.get("force", "") in ("true", "1"),
    )


def _content(asked: Asked) -> Any:
    """
    The body.

    Raises:
        Failure: It is no JSON; of what is applied, no YAML.
    """
    content = asked.request.content
    try:
        return json.loads(content, parse_constant=_no_number)
    except RecursionError:
        raise statuses.bad_request("the object provided is unrecognized: exceeded max depth") from None
    except ValueError as error:
        if asked.form != patches.APPLY and "yaml" not in asked.form:
            raise statuses.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    return _yaml(content)


def _no_number(text: str) -> Any:
    raise ValueError(f"invalid character {text!r}")


def _yaml(content: bytes) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return json.loads(json.dumps(YAML(typ="safe", pure=True).load(content.decode()), default=str))
    except (YAMLError, ValueError, TypeError, RecursionError) as error:
        raise statuses.bad_request(f"error decoding YAML: {str(error).splitlines()[0] if str(error) else 'no object'}") from None


def _create(asked: Asked) -> Answer:
    if asked.kind.namespaced and not asked.namespace:
        raise statuses.not_allowed()
    if asked.form not in ("application/json", "application/yaml", ""):
        raise statuses.unsupported_media(("application/json", "application/yaml"))
    made = writes.create(asked.cluster, asked.kind, asked.namespace, _content(asked), _writer(asked))
    return Answer(201, _shown(asked, made))


def _put(asked: Asked) -> Answer:
    sent, before = _content(asked), asked.cluster.get(asked.kind, asked.namespace, asked.name)
    if before is None:
        raise statuses.not_found(asked.kind, asked.name)
    return Answer(200, _shown(asked, writes.replace(asked.cluster, asked.kind, before, sent, _writer(asked), asked.subresource)))


def _patch(asked: Asked) -> Answer:
    kind = asked.kind
    allowed = (patches.JSON, patches.MERGE, *(() if kind.custom else (patches.STRATEGIC,)), patches.APPLY)
    if asked.form not in allowed:
        raise statuses.unsupported_media(allowed)
    writer = _writer(asked)
    if asked.form == patches.APPLY:
        if not asked.query.get("fieldManager"):
            raise Failure(
                422, "Invalid", 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
            )
        body, new = writes.apply(asked.cluster, kind, asked.namespace, asked.name, _content(asked), writer, asked.subresource)
        return Answer(201 if new else 200, _shown(asked, body))
    if writer.force:
        raise Failure(422, "Invalid", 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch')
    before = _stored(asked)
    after = writes.patch(asked.cluster, kind, before, asked.form, _content(asked), writer, asked.subresource)
    return Answer(200, _shown(asked, after))


def _options(asked: Asked) -> Body:
    """
    How a delete is to be done: of its body, and of the query.

    Raises:
        Failure: It is no such thing.
    """
    sent = _content(asked) if asked.request.content.strip() else {}
    if not isinstance(sent, dict):
        raise statuses.bad_request("json: cannot unmarshal into Go value of type v1.DeleteOptions")
    for key in ("propagationPolicy", "gracePeriodSeconds", "orphanDependents"):
        if key in asked.query:
            sent.setdefault(key, asked.query[key])
    policy = sent.get("propagationPolicy")
    if policy not in (None, *POLICIES):
        said = f'propagationPolicy: Unsupported value: "{policy}": supported values: "Foreground", "Background", "Orphan", "nil"'
        raise Failure(422, "Invalid", f'DeleteOptions.meta.k8s.io "" is invalid: {said}')
    try:
        grace = None if sent.get("gracePeriodSeconds") is None else float(sent["gracePeriodSeconds"])
    except (TypeError, ValueError):
        raise statuses.bad_request("gracePeriodSeconds must be a whole number") from None
    if sent.get("dryRun") == ["All"]:
        asked.request = _with_dry(asked.request)
    return {**sent, "grace": None if grace is None else min(max(grace, 0.0), 1e9)}


def _with_dry(request: Request) -> Request:
    from dataclasses import replace

    return replace(request, query={**request.query, "dryRun": "All"})


def _delete(asked: Asked) -> Answer:
    options, body = _options(asked), _stored(asked)
    wanted = options.get("preconditions") or {}
    for field, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if isinstance(wanted, dict) and wanted.get(field) not in (None, body["metadata"][field]):
            why = f"Precondition failed: {word} in precondition: {wanted[field]}, {word} in object meta: {body['metadata'][field]}"
            raise statuses.conflict(asked.kind, asked.name, why)
    left = _deleted(asked, body, options)
    if left is not None:
        return Answer(200, _shown(asked, left))
    returned = asked.kind.name in writes.RETURNED and not asked.kind.custom
    return Answer(200, _shown(asked, body) if returned else statuses.success(asked.kind, body))


def _deleted(asked: Asked, body: Body, options: Body) -> Body | None:
    kind, name = asked.kind, body["metadata"]["name"]
    if kind is NAMESPACE and name in genesis.NAMESPACES:
        raise statuses.forbidden(kind, name, "this namespace may not be deleted")
    usual = "Orphan" if (kind.group, kind.name) in ORPHANED else "Background"
    orphans = options.get("orphanDependents")
    if orphans is not None:
        usual = "Orphan" if orphans in (True, "true") else "Background"
    return writes.delete(asked.cluster, kind, body, options.get("propagationPolicy") or usual, options["grace"])


def _delete_all(asked: Asked) -> Answer:
    if asked.kind is NAMESPACE or (asked.kind.namespaced and not asked.namespace):
        raise statuses.not_allowed()
    options = _options(asked)
    items = asked.cluster.all(asked.kind, asked.namespace)
    found = selectors.picked(asked.kind, items, asked.query.get("labelSelector", ""), asked.query.get("fieldSelector", ""))
    for body in found:
        _deleted(asked, body, options)
    return Answer(
        200,
        {
            "kind": f"{asked.kind.name}List",
            "apiVersion": asked.version,
            "metadata": {"resourceVersion": asked.cluster.version()},
            "items": found,
        },
    )


def _get_scale(asked: Asked) -> Answer:
    return Answer(200, writes.scale_of(asked.kind, _stored(asked)))


def _put_scale(asked: Asked) -> Answer:
    before, sent = _stored(asked), _content(asked)
    if asked.request.http == "PATCH":
        if asked.form == patches.JSON:
            sent = patches.operations(asked.kind, asked.name, writes.scale_of(asked.kind, before), sent)
        elif asked.form in (patches.MERGE, patches.STRATEGIC, patches.APPLY):
            sent = patches.merge(writes.scale_of(asked.kind, before), sent)
        else:
            raise statuses.unsupported_media((patches.JSON, patches.MERGE, patches.STRATEGIC, patches.APPLY))
    return Answer(200, writes.scale_of(asked.kind, writes.rescale(asked.cluster, asked.kind, before, sent, _writer(asked))))


def _finalize(asked: Asked) -> Answer:
    """Of a namespace: what holds it in `spec.finalizers`."""
    before, sent = _stored(asked), _content(asked)
    wanted = (sent.get("spec") or {}).get("finalizers") if isinstance(sent, dict) and isinstance(sent.get("spec") or {}, dict) else None
    after = {**before, "spec": {**before.get("spec", {}), "finalizers": list(wanted or [])}}
    return Answer(200, _shown(asked, writes.keep(asked.cluster, asked.kind, before, after)))


ONE = {"GET": _get, "HEAD": _get, "PUT": _put, "PATCH": _patch, "DELETE": _delete}
ALL = {"GET": _list, "HEAD": _list, "POST": _create, "DELETE": _delete_all}
SERVICE = Service(
    host=DOMAIN.lstrip("."),
    apis=(),
    operations=Operations(),
    errors="kubernetes",
    answers=handle,
    settle=controllers.settle,
    wakes=controllers.wakes,
)
"""What every cluster's API server is to the sandbox. It is no API of Google's, and has no discovery document."""
