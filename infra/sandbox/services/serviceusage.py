"""Service Usage: which APIs a project has on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.sandbox import lists, operations
from infra.sandbox.discovery import document
from infra.sandbox.projects import USAGE
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call, Service

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

PAGE, MOST_GOT, MOST_ENABLED = 50, 30, 20
"""Source: descriptions of `services.list`, `batchGet` and `batchEnable` in the discovery document."""
SECONDS = 10
DEFAULTS = frozenset(
    f"{name}.googleapis.com"
    for name in (
        "bigquery",
        "cloudapis",
        "cloudtrace",
        "datastore",
        "logging",
        "monitoring",
        "servicemanagement",
        "serviceusage",
        "storage",
    )
)
"""On in every new project. Source: Service Usage's page "Services enabled by default", 2026; those that others build on left out."""
AGENTS = {
    "compute.googleapis.com": "compute-system",
    "container.googleapis.com": "container-engine-robot",
    "file.googleapis.com": "cloud-filer",
    "run.googleapis.com": "serverless-robot-prod",
    "sqladmin.googleapis.com": "gcp-sa-cloud-sql",
}
"""Domains of service agents that are not `gcp-sa-NAME`. Source: IAM's page "Service agents", 2026."""
API = "type.googleapis.com/google.api.serviceusage"


def get(call: Call) -> Any:
    return _shown(call, _host(call.owner), full=True)


def batch_get(call: Call) -> Any:
    names = [name for name in call.query.get("names", "").split(",") if name]
    if len(names) > MOST_GOT:
        raise invalid(f"A single request can get a maximum of {MOST_GOT} services.", "names")
    return {"services": [_shown(call, _host(name), full=True) for name in names]}


def list_(call: Call) -> Any:
    """GET: the sandbox's services, and what else was enabled or disabled; `filter=state:ENABLED`."""
    set_to = [_host(name) for name, _ in call.cloud.store.items(USAGE, f"{call.owner}/services")]
    hosts = sorted({*call.cloud.services, *DEFAULTS, *set_to})
    wanted = call.query.get("filter", "")
    if wanted not in ("", "state:ENABLED", "state:DISABLED"):
        raise invalid("The allowed filter strings are state:ENABLED and state:DISABLED.", "filter")
    found = [one for host in hosts if (one := _shown(call, host))["state"] in wanted or not wanted]
    shown, more = lists.page(call, found, PAGE)
    return ({"services": shown} if shown else {}) | more


def enable(call: Call) -> Any:
    host = _host(call.owner)
    changes = _state(call, host) != "ENABLED"
    _set(call, host, "ENABLED")
    response = {"@type": f"{API}.{call.version}.EnableServiceResponse", "service": _shown(call, host)}
    return _start(call, "enable", response, changes=changes)


def disable(call: Call) -> Any:
    """POST `:disable`: from now on the project's calls to that API are refused."""
    host = _host(call.owner)
    if _state(call, host) != "ENABLED":
        said = f"The service {host} is not enabled for project {call.number}."
        raise Refused(400, said, status="FAILED_PRECONDITION")
    _set(call, host, "DISABLED")
    response = {"@type": f"{API}.{call.version}.DisableServiceResponse", "service": _shown(call, host)}
    return _start(call, "disable", response, changes=True)


def batch_enable(call: Call) -> Any:
    hosts = call.body.get("serviceIds", [])
    if not 0 < len(hosts) <= MOST_ENABLED:
        raise invalid(f"A single request can enable 1 to {MOST_ENABLED} services.", "service_ids")
    changes = any(_state(call, host) != "ENABLED" for host in hosts)
    for host in hosts:
        _set(call, host, "ENABLED")
    response = {"@type": f"{API}.{call.version}.BatchEnableServicesResponse", "services": [_shown(call, host) for host in hosts]}
    return _start(call, "batchEnable", response, changes=changes)


def identity(call: Call) -> Any:
    """POST `:generateServiceIdentity`: the account that a service acts as in a project; done in its answer."""
    host = _host(call.owner)
    domain = AGENTS.get(host, f"gcp-sa-{host.partition('.')[0]}")
    unique = f"1{operations.number(f'{call.owner} identity').zfill(20)[-20:]}"
    email = f"service-{call.number}@{domain}.iam.gserviceaccount.com"
    return _start(call, "identity", {"@type": f"{API}.v1beta1.ServiceIdentity", "email": email, "uniqueId": unique}, changes=False)


def _host(name: str) -> str:
    host = name.rpartition("/")[2]
    if "." not in host:
        raise invalid(f"{host} is not the name of a service, such as tpu.googleapis.com.", "name")
    return host


def _state(call: Call, host: str) -> str:
    unset = "ENABLED" if host in DEFAULTS else "DISABLED"
    return call.cloud.projects.service_state(call.project, host) or unset


def _set(call: Call, host: str, state: str) -> None:
    name = f"projects/{call.project}/services/{host}"
    call.cloud.store.put(USAGE, name, {"state": state})
    call.cloud.mark_own(USAGE, name)


def _shown(call: Call, host: str, *, full: bool = False) -> Body:
    parent = f"projects/{call.number}"
    shown: Body = {"name": f"{parent}/services/{host}", "parent": parent, "state": _state(call, host)}
    service = call.cloud.services.get(host)
    if full and service is not None:
        shown["config"] = {"name": host, "title": document(service.apis[0]).title}
    return shown


def _start(call: Call, verb: str, response: Body, *, changes: bool) -> Any:
    call.target = f"projects/{call.project}/services"
    return operations.start(call, verb, {}, SECONDS if changes else 0, sets={}, response=response)


def _metadata(_: Cloud, operation: Body) -> Body:
    """Source: recorded, 2026-08."""
    return {"@type": "type.googleapis.com/google.protobuf.Empty", "value": {}}


SERVICE = Service(
    host=USAGE,
    apis=("serviceusage.v1", "serviceusage.v1beta1"),
    operations=operations.LongRunning(metadata=_metadata, under=lambda call, verb: ""),
    handlers={
        "services.get": get,
        "services.batchGet": batch_get,
        "services.list": list_,
        "services.enable": enable,
        "services.disable": disable,
        "services.batchEnable": batch_enable,
        "services.generateServiceIdentity": identity,
    },
)
