"""
What GKE refuses of its own kinds beside the schemas, and of those that it serves: by rules in their definitions.

Sources: the repositories that the files of `data/crds` name; of ComputeClass, the rules on Google's published types. All read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from infra.catalog.manifest_parts import (
    Faults,
    KindRule,
    apart,
    as_map,
    entries,
    whole,
)
from infra.catalog.manifest_words import ManifestFault, Path, place, quoted, short

SPEC: Path = ("spec",)


def _spec(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_map(manifest.get("spec"))


def _compute_class(manifest: Mapping[str, Any]) -> Faults:
    spec = _spec(manifest)
    name = as_map(manifest.get("metadata")).get("name")
    if isinstance(name, str) and name.startswith(("gke", "autopilot")):
        yield ManifestFault("metadata.name", f"is {quoted(name)}: names that begin so are GKE's own", "another")
    autopilot = as_map(spec.get("autopilot")).get("enabled") is True
    scores: dict[int, int] = {}
    for index, one in entries(spec.get("priorities")):
        yield from _priority(one, (*SPEC, "priorities", index), autopilot=autopilot)
        if (score := whole(one.get("priorityScore"), 0)) > 0:
            scores[score] = scores.get(score, 0) + 1
            if scores[score] == 4:
                yield ManifestFault(
                    place((*SPEC, "priorities", index, "priorityScore")), f"is {score} for the fourth time", "three at most"
                )


def _priority(one: Mapping[str, Any], path: Path, *, autopilot: bool) -> Faults:
    """One way to get a node. Source: https://docs.cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass, and SPEC's."""
    others = sorted(set(one) - {"nodepools", "priorityScore"})
    if one.get("nodepools") is not None:
        if others:
            yield ManifestFault(
                place((*path, "nodepools")), f"does not go with {', '.join(others)}: the pool says all that", "a priority of its own"
            )
        if autopilot:
            yield ManifestFault(place((*path, "nodepools")), "does not go with autopilot", "another way to get nodes")
    yield from apart(one, path, ("machineType", "machineFamily"))
    for key in ("minCores", "minMemoryGb"):
        yield from apart(one, path, ("machineType", key))
    yield from apart(one, path, ("gpu", "tpu"))
    flex = as_map(one.get("flexStart")).get("enabled") is True
    if flex and one.get("spot") is True:
        yield ManifestFault(place((*path, "spot")), "does not go with flexStart", "one of both")
    if one.get("capacityCheckWaitTimeSeconds") is not None and not flex and not one.get("tpu"):
        yield ManifestFault(place((*path, "capacityCheckWaitTimeSeconds")), "is for flexStart, and for TPUs", "leave it out")
    if one.get("podFamily") and not autopilot:
        yield ManifestFault(place((*path, "podFamily")), "is for autopilot", "say autopilot.enabled: true")
    reservations = as_map(one.get("reservations"))
    specific, affinity = reservations.get("specific"), reservations.get("affinity")
    if affinity == "Specific" and not specific:
        yield ManifestFault(place((*path, "reservations", "specific")), "is missing beside affinity: Specific", "the reservation's name")
    elif specific and affinity != "Specific":
        yield ManifestFault(place((*path, "reservations", "affinity")), f"is {quoted(affinity)}, and specific ones are named", "Specific")
    if one.get("gpuDirect") == "rdma" and not one.get("acceleratorNetworkProfile"):
        yield ManifestFault(place((*path, "acceleratorNetworkProfile")), "is missing beside gpuDirect: rdma", "auto")


def _gateway(manifest: Mapping[str, Any]) -> Faults:
    seen: dict[tuple[str, ...], int] = {}
    for index, one in entries(_spec(manifest).get("listeners")):
        at = (*SPEC, "listeners", index)
        protocol, tls = one.get("protocol"), as_map(one.get("tls"))
        if protocol in ("HTTP", "TCP", "UDP") and one.get("tls"):
            yield ManifestFault(place((*at, "tls")), f"does not go with {protocol}", "protocol: HTTPS")
        if protocol in ("TCP", "UDP") and one.get("hostname"):
            yield ManifestFault(place((*at, "hostname")), f"does not go with {protocol}", "leave it out")
        if protocol == "HTTPS" and tls.get("mode", "Terminate") != "Terminate":
            yield ManifestFault(place((*at, "tls", "mode")), f"is {quoted(tls['mode'])} of an HTTPS listener", "Terminate")
        if (
            protocol in ("HTTPS", "TLS")
            and tls.get("mode", "Terminate") == "Terminate"
            and not (tls.get("certificateRefs") or tls.get("options"))
        ):
            yield ManifestFault(place((*at, "tls", "certificateRefs")), "is missing", "a certificate, or options that name one")
        key = tuple(short(one.get(name)) for name in ("port", "protocol", "hostname"))
        if key in seen:
            yield ManifestFault(place(at), f"has port, protocol and host name of entry {seen[key]}", "another of one of them")
        seen.setdefault(key, index)


_FILTERS = {
    "RequestHeaderModifier": "requestHeaderModifier",
    "ResponseHeaderModifier": "responseHeaderModifier",
    "RequestMirror": "requestMirror",
    "RequestRedirect": "requestRedirect",
    "URLRewrite": "urlRewrite",
    "ExtensionRef": "extensionRef",
    "CORS": "cors",
}


def _route(manifest: Mapping[str, Any]) -> Faults:
    for index, rule in entries(_spec(manifest).get("rules")):
        at = (*SPEC, "rules", index)
        yield from _filters(rule, at)
        for number, one in entries(rule.get("backendRefs")):
            spot = (*at, "backendRefs", number)
            if one.get("kind", "Service") == "Service" and not one.get("group") and one.get("port") is None:
                yield ManifestFault(place((*spot, "port")), "is missing: a service is reached by a port")
            yield from _filters(one, spot)
        if rule.get("backendRefs") and any(one.get("type") == "RequestRedirect" for _, one in entries(rule.get("filters"))):
            yield ManifestFault(place((*at, "backendRefs")), "does not go with a redirect", "leave it out")
        for number, match in entries(rule.get("matches")):
            path = as_map(match.get("path"))
            value = path.get("value")
            if isinstance(value, str) and path.get("type", "PathPrefix") != "RegularExpression":
                wrong = not value.startswith("/") or any(part in value for part in ("//", "/./", "/../", "%2f", "%2F", "#"))
                if wrong or value.endswith(("/..", "/.")):
                    yield ManifestFault(
                        place((*at, "matches", number, "path", "value")), f"is {quoted(value)}, no path", "such as /v1/models"
                    )


def _filters(one: Mapping[str, Any], path: Path) -> Faults:
    for index, each in entries(one.get("filters")):
        kind = each.get("type")
        if not isinstance(kind, str) or kind not in _FILTERS:
            continue
        at = (*path, "filters", index)
        if each.get(_FILTERS[kind]) is None:
            yield ManifestFault(place((*at, _FILTERS[kind])), f"is missing beside type: {kind}")
        for key in sorted(set(each) & set(_FILTERS.values()) - {_FILTERS[kind]}):
            yield ManifestFault(place((*at, key)), f"does not go with type: {kind}", "a filter of its own")


_CHECKS = {
    "HTTP": "httpHealthCheck",
    "HTTPS": "httpsHealthCheck",
    "HTTP2": "http2HealthCheck",
    "GRPC": "grpcHealthCheck",
    "TCP": "tcpHealthCheck",
}


def _health(manifest: Mapping[str, Any]) -> Faults:
    default = as_map(_spec(manifest).get("default"))
    at = (*SPEC, "default")
    every, wait = whole(default.get("checkIntervalSec"), 5), whole(default.get("timeoutSec"), 5)
    if wait > every:
        yield ManifestFault(place((*at, "timeoutSec")), f"is {wait}, above checkIntervalSec {every}", f"at most {every}")
    config = as_map(default.get("config"))
    kind = config.get("type")
    if config and not isinstance(kind, str):
        yield ManifestFault(place((*at, "config", "type")), "is missing", ", ".join(_CHECKS))
    elif isinstance(kind, str) and kind in _CHECKS:
        if config.get(_CHECKS[kind]) is None:
            yield ManifestFault(place((*at, "config", _CHECKS[kind])), f"is missing beside type: {kind}")
        for key in sorted(set(config) & set(_CHECKS.values()) - {_CHECKS[kind]}):
            yield ManifestFault(place((*at, "config", key)), f"does not go with type: {kind}", "leave it out")
        yield from _check_port(as_map(config.get(_CHECKS[kind])), (*at, "config", _CHECKS[kind]))


def _check_port(check: Mapping[str, Any], path: Path) -> Faults:
    how = check.get("portSpecification")
    wants = {"USE_FIXED_PORT": "port", "USE_NAMED_PORT": "portName"}.get(how if isinstance(how, str) else "")
    if wants and check.get(wants) is None:
        yield ManifestFault(place((*path, wants)), f"is missing beside portSpecification: {how}")
    for key in ("port", "portName"):
        # Without a specification a port is taken for a fixed one.
        if key != wants and check.get(key) is not None and (how or key == "portName"):
            yield ManifestFault(place((*path, key)), f"does not go with portSpecification: {how or 'USE_SERVING_PORT'}", "leave it out")


_SECONDS = {"y": 31_536_000_000, "w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


def _monitoring(manifest: Mapping[str, Any]) -> Faults:
    reserved = ("project_id", "location", "cluster", "namespace", "job", "instance", "__address__")
    for index, one in entries(_spec(manifest).get("endpoints")):
        at = (*SPEC, "endpoints", index)
        every, wait = _milliseconds(one.get("interval")), _milliseconds(one.get("timeout"))
        if every is not None and wait is not None and wait > every:
            yield ManifestFault(
                place((*at, "timeout")), f"is {short(one['timeout'])}, above interval {short(one['interval'])}", "at most that"
            )
        if one.get("port") == 0 and not isinstance(one.get("port"), bool):
            yield ManifestFault(place((*at, "port")), "is 0, no port", "a port's number or name")
        yield from apart(one, at, ("authorization", "basicAuth", "oauth2"))
        for number, rule in entries(one.get("metricRelabeling")):
            if rule.get("targetLabel") in reserved:
                yield ManifestFault(
                    place((*at, "metricRelabeling", number, "targetLabel")), f"is {quoted(rule['targetLabel'])}, which is kept", "another"
                )
            if rule.get("action") == "labeldrop" and not rule.get("regex"):
                yield ManifestFault(place((*at, "metricRelabeling", number, "regex")), "is missing beside labeldrop")


def _milliseconds(text: object) -> int | None:
    if not isinstance(text, str) or not re.fullmatch(r"(?:\d{1,9}(?:ms|[ywdhms]))+", text, re.ASCII):
        return None
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)(ms|[ywdhms])", text, re.ASCII))


def _secrets(manifest: Mapping[str, Any]) -> Faults:
    """GKE's own provider is `gke`; what it mounts is a text of YAML under `parameters.secrets`.
    Source: https://docs.cloud.google.com/secret-manager/docs/secret-manager-managed-csi-component, read 2026-11."""
    spec = _spec(manifest)
    if not spec.get("provider"):
        yield ManifestFault("spec.provider", "is missing", "gke")
    elif spec["provider"] in ("gke", "gcp") and not as_map(spec.get("parameters")).get("secrets"):
        yield ManifestFault("spec.parameters.secrets", "is missing", "a text of YAML: a list of resourceName and path")
    for index, one in entries(spec.get("secretObjects")):
        for key in ("secretName", "type"):
            if not one.get(key):
                yield ManifestFault(place((*SPEC, "secretObjects", index, key)), "is missing", "Opaque" if key == "type" else "")


RULES: Mapping[str, KindRule] = MappingProxyType(
    {
        "ComputeClass": _compute_class,
        "Gateway": _gateway,
        "HTTPRoute": _route,
        "HealthCheckPolicy": _health,
        "PodMonitoring": _monitoring,
        "SecretProviderClass": _secrets,
    }
)
