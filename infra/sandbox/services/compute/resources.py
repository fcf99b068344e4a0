"""What every resource of Compute Engine has: id, links, fingerprints; what it refers to must be there, and what is used stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from infra.sandbox.clock import pacific
from infra.sandbox.operations import number
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call, Kind, nothing
from infra.sandbox.services.compute import automatic, fingerprints, links

NAME = re.compile(r"(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)")
SECONDS: Mapping[str, float] = {"create": 10, "patch": 5, "update": 5, "delete": 10}
REFERS = {
    "network": "network",
    "subnetwork": "subnetwork",
    "healthChecks": "healthCheck",
    "urlMap": "urlMap",
    "defaultService": "backendService",
    "backendService": "backendService",
    "service": "backendService",
    "target": "target",
    "sslCertificates": "sslCertificate",
    "group": "group",
    "instanceTemplate": "instanceTemplate",
    "workloadPolicy": "resourcePolicy",
    "resourcePolicies": "resourcePolicy",
    "source": "disk",
    "nodeTemplate": "nodeTemplate",
}
"""Field that refers to another resource -> its word for it in a refusal."""
HEALTH = re.compile(r"/(?:httpHealthChecks|httpsHealthChecks)/")

ALWAYS = ("kind", "id", "name", "creationTimestamp", "selfLink", "selfLinkWithId", "zone", "region")
"""Fields that no change touches."""

Change = Callable[[Call, Body], None]


def wrong(field: str, value: object, said: str, reason: str = "invalid") -> Refused:
    """Compute Engine's words for a value that cannot be. Source: answers of Google in public issue threads."""
    return Refused(400, f"Invalid value for field 'resource.{field}': '{value}'. {said}", reason=reason)


def missing(name: str) -> Refused:
    """Source: recorded traffic of Compute Engine."""
    return Refused(404, f"The resource '{HEALTH.sub('/healthChecks/', name)}' was not found")


def exists(name: str) -> Refused:
    """Source: Google's answers in public issue threads."""
    return Refused(409, f"The resource '{name}' already exists")


def in_use(word: str, name: str, user: str) -> str:
    """Source: Google's answers in public issue threads."""
    return f"The {word} resource '{name}' is already being used by '{user}'"


def kind(
    resource: str,
    *,
    defaults: Change = nothing,
    fill: Change = nothing,
    check: Callable[[Call, Body, Body | None], None] = nothing,
    release: Change = nothing,
    changed: Callable[[Call, Body, Body], None] = nothing,
    immutable: tuple[str, ...] = (),
    during: Mapping[str, Body] | None = None,
    ready: Body | None = None,
    seconds: Mapping[str, float] | None = None,
    show: Callable[[Call, Body], Body] | None = None,
    lacks: Callable[[Call, Body], Body | None] = nothing,
    waits: Callable[[Call, Body], float] = lambda call, body: 0.0,
    granted: Change = nothing,
    undone: Change = nothing,
) -> Kind:
    """
    A kind of Compute Engine.

    Args:
        defaults: Adds values that were not sent; also after each change, since a PUT replaces all.
        fill: Adds what the service says once.
    """

    def filled(call: Call, body: Body) -> None:
        fill_in(call, body)
        defaults(call, body)
        fill(call, body)
        refers(call, body)
        stamp(call, body)

    def follows(call: Call, body: Body, before: Body) -> None:
        if "fingerprint" in call.body and "fingerprint" in before:
            fingerprints.check(call, call.body["fingerprint"], before["fingerprint"], "Invalid fingerprint.")
        body.update({field: before[field] for field in ALWAYS if field in before})
        defaults(call, body)
        changed(call, body, before)
        refers(call, body)
        stamp(call, body)

    return Kind(
        resource,
        id_from="body:name",
        immutable=immutable,
        seconds={**SECONDS, **(seconds or {})},
        during=during or {},
        ready=ready or {},
        fill=filled,
        check=check,
        changed=follows,
        release=release,
        lacks=lacks,
        waits=waits,
        granted=granted,
        undone=undone,
        show=lambda call, body: shown(call, show(call, body) if show else body),
        not_found=lambda call: missing(call.target),
        exists=lambda call: exists(call.target),
    )


def both(resource: str, region: str, **more: Any) -> tuple[Kind, Kind]:
    """The same kind for the whole world and for a region."""
    return kind(resource, **more), kind(region, **more)


def check_name(call: Call) -> None:
    """
    Raises:
        Refused: A new resource's name is none that Google takes.
    """
    name = str(call.body.get("name", ""))
    if call.method.verb == "insert" and "name" in properties(call) and not NAME.fullmatch(name):
        raise wrong("name", name, f"Must be a match of regex '{NAME.pattern}'")


def fill_in(call: Call, body: Body) -> None:
    """What the service adds to every new one."""
    known = properties(call)
    count = call.cloud.store.next("ids")
    words = call.target.split("/")
    body |= {
        "kind": known.get("kind", {}).get("default", ""),
        "id": number(f"{call.target}{count}"),
        "creationTimestamp": pacific(call.now),
        "selfLink": links.LINK + call.target,
    }
    if "selfLinkWithId" in known:
        body["selfLinkWithId"] = f"{links.LINK}{'/'.join(words[:-1])}/{body['id']}"
    for place in ("zone", "region"):
        if place in known and words[2] == f"{place}s":
            body[place] = links.LINK + "/".join(words[:4])


def stamp(call: Call, body: Body) -> None:
    """Writes the fingerprints anew."""
    known = properties(call)
    if "labelFingerprint" in known or "labelFingerprint" in body:
        body["labelFingerprint"] = fingerprints.of(body.get("labels", {}))
    if "fingerprint" in known or "fingerprint" in body:
        body["fingerprint"] = fingerprints.of(
            {key: value for key, value in body.items() if key not in ("fingerprint", "labels", "labelFingerprint")}
        )


def properties(call: Call) -> Mapping[str, Body]:
    """Fields of the resource that the call sends."""
    schema: Body = call.method.document.schemas.get(call.method.request, {})
    found: Mapping[str, Body] = schema.get("properties", {})
    return found


def shown(call: Call, body: Body) -> Body:
    """Without empty lists, and with the addresses of the version that is asked."""
    return dict(links.in_version(_without_empty_lists(body), call.version))


def _without_empty_lists(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_empty_lists(value) for key, value in node.items() if value != []}
    if isinstance(node, list):
        return [_without_empty_lists(value) for value in node]
    return node


def refers(call: Call, body: Body) -> None:
    """
    What a resource refers to must be there, if it is in a project of the sandbox.

    Raises:
        Refused: It is not.
    """
    for path, link in links.paths(body):
        field = re.sub(r"\[\d+\]", "", path).rpartition(".")[2]
        name = links.name_of(link)
        if field not in REFERS or not name or name == call.target:
            continue
        words = name.split("/")
        if call.cloud.projects.get(words[1]) is None:
            continue
        automatic.subnetworks(call, name)
        if call.cloud.store.get(links.HOST, name) is None:
            if path.startswith(("networkInterfaces", "disks")):
                raise wrong(path, link, f"The referenced {REFERS[field]} resource cannot be found.")
            raise missing(name)


def user_of(call: Call, name: str, *, but: str = "") -> str:
    """Name of a resource, other than *but*, that refers to *name*; empty where nobody does."""
    project = f"projects/{call.project}/"
    link = links.LINK + name
    for _, other, body in call.cloud.store.every(links.HOST, project):
        if other in (name, but) or other.startswith(f"{name}/"):
            continue
        if any(value == link and path not in ("selfLink", "selfLinkWithId") for path, value in links.paths(body)):
            return other
    return ""


def unused(word: str) -> Change:
    """A release that refuses to delete what another resource uses. Source: Google's answers in public issue threads."""

    def check(call: Call, body: Body) -> None:
        if user := user_of(call, call.target):
            raise Refused(400, in_use(word, call.target, user), reason="resourceInUseByAnotherResource")

    return check
