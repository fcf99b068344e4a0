"""
Writes what the stand-in gcp provider must know of its resource types: names, types, what replaces, what is secret.

    python tools/gcp_schema.py SCHEMA-FACTS.json DATE

The facts are extracts of pulumi-gcp's own schema; only the types of `infra.local.gcp.types` and what they refer to are taken over.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.local.gcp import types
from infra.local.gcp.schema import FILE

SOURCE = "schema of the pulumi-gcp provider 10.2.0, as its Python SDK has it"
CONDITION = "gcp:vertex/AiEndpointIamMemberCondition:AiEndpointIamMemberCondition"
DURATION = "gcp:compute/ResizeRequestRequestedRunDuration:ResizeRequestRequestedRunDuration"
READER_CONDITION = "gcp:secretmanager/SecretIamMemberCondition:SecretIamMemberCondition"
JOB_CONDITION = "gcp:cloudrunv2/JobIamMemberCondition:JobIamMemberCondition"
QUOTA_CONFIG = "gcp:cloudquota/SQuotaPreferenceQuotaConfig:SQuotaPreferenceQuotaConfig"
SUBNETWORK_CONDITION = "gcp:compute/SubnetworkIAMMemberCondition:SubnetworkIAMMemberCondition"
FIXED = {"replaces": True, "type": "string"}
TEXT = {"type": "string"}
TEXTS = {"additionalProperties": {"type": "string"}, "type": "object"}

ADDED_RESOURCES: dict[str, Any] = {
    "gcp:vertex/aiEndpointIamMember:AiEndpointIamMember": {
        "inputs": dict.fromkeys(("endpoint", "location", "member", "project", "role"), FIXED)
        | {"condition": {"ref": CONDITION, "replaces": True}},
        "outputs": ["condition", "endpoint", "etag", "location", "member", "project", "role"],
        "required": ["endpoint", "member", "role"],
    },
    "gcp:cloudrunv2/jobIamMember:JobIamMember": {
        "inputs": dict.fromkeys(("location", "member", "name", "project", "role"), FIXED)
        | {"condition": {"ref": JOB_CONDITION, "replaces": True}},
        "outputs": ["condition", "etag", "location", "member", "name", "project", "role"],
        "required": ["member", "role"],
    },
    "gcp:compute/subnetworkIAMMember:SubnetworkIAMMember": {
        "inputs": dict.fromkeys(("member", "project", "region", "role", "subnetwork"), FIXED)
        | {"condition": {"ref": SUBNETWORK_CONDITION, "replaces": True}},
        "outputs": ["condition", "etag", "member", "project", "region", "role", "subnetwork"],
        "required": ["member", "role", "subnetwork"],
    },
    "gcp:cloudquota/sQuotaPreference:SQuotaPreference": {
        "inputs": dict.fromkeys(("contactEmail", "ignoreSafetyChecks", "justification", "name", "quotaId", "service"), TEXT)
        | {"dimensions": TEXTS, "parent": FIXED, "quotaConfig": {"ref": QUOTA_CONFIG}},
        "outputs": [
            "contactEmail",
            "createTime",
            "dimensions",
            "etag",
            "ignoreSafetyChecks",
            "justification",
            "name",
            "parent",
            "quotaConfig",
            "quotaId",
            "reconciling",
            "service",
            "updateTime",
        ],
        "required": ["quotaConfig"],
    },
    "gcp:secretmanager/secretIamMember:SecretIamMember": {
        "inputs": dict.fromkeys(("member", "project", "role", "secretId"), FIXED)
        | {"condition": {"ref": READER_CONDITION, "replaces": True}},
        "outputs": ["condition", "etag", "member", "project", "role", "secretId"],
        "required": ["member", "role", "secretId"],
    },
    "gcp:compute/resizeRequest:ResizeRequest": {
        "inputs": dict.fromkeys(("description", "instanceGroupManager", "name", "project", "zone"), FIXED)
        | {
            "deletionPolicy": {"type": "string"},
            "requestedRunDuration": {"ref": DURATION, "replaces": True},
            "resizeBy": {"replaces": True, "type": "integer"},
        },
        "outputs": [
            "creationTimestamp",
            "deletionPolicy",
            "description",
            "instanceGroupManager",
            "name",
            "project",
            "requestedRunDuration",
            "resizeBy",
            "state",
            "statuses",
            "zone",
        ],
        "required": ["instanceGroupManager", "resizeBy"],
    },
}
ADDED_TYPES: dict[str, Any] = {
    QUOTA_CONFIG: {
        "properties": dict.fromkeys(("grantedValue", "preferredValue", "requestOrigin", "stateDetail", "traceId"), TEXT)
        | {"annotations": TEXTS},
        "required": ["preferredValue"],
    },
    JOB_CONDITION: {"properties": dict.fromkeys(("description", "expression", "title"), FIXED), "required": ["expression", "title"]},
    READER_CONDITION: {"properties": dict.fromkeys(("description", "expression", "title"), FIXED), "required": ["expression", "title"]},
    CONDITION: {"properties": dict.fromkeys(("description", "expression", "title"), FIXED), "required": ["expression", "title"]},
    SUBNETWORK_CONDITION: {"properties": dict.fromkeys(("description", "expression", "title"), FIXED), "required": ["expression", "title"]},
    DURATION: {"properties": {"nanos": {"replaces": True, "type": "integer"}, "seconds": FIXED}, "required": ["seconds"]},
}
"""What the facts leave out. Source: the arguments of these classes of pulumi_gcp 10.2.0, such as `compute.SubnetworkIAMMemberArgs`."""

KEPT = ("type", "ref", "items", "additionalProperties", "replaces", "secret")


def schema(facts: dict[str, Any], tokens: list[str], date: str) -> dict[str, Any]:
    """The part of *facts* that *tokens* need."""
    known = facts["resources"] | ADDED_RESOURCES
    resources = {
        token: {
            "inputs": {name: _kept(value) for name, value in sorted(known[token]["inputs"].items())},
            "outputs": sorted(known[token]["outputs"]),
            "required": known[token]["required"],
        }
        for token in sorted(tokens)
    }
    found: dict[str, Any] = {}
    waiting = [ref for resource in resources.values() for ref in _references(resource["inputs"])]
    while waiting:
        ref = waiting.pop()
        if ref in found:
            continue
        kind = (facts["types"] | ADDED_TYPES)[ref]
        properties = {name: _kept(value) for name, value in sorted(kind.get("properties", {}).items())}
        found[ref] = {"properties": properties, "required": kind.get("required", [])} if properties else {"type": kind["type"]}
        waiting += _references(properties)
    return {"source": SOURCE, "date": date, "resources": resources, "types": dict(sorted(found.items()))}


def _kept(value: dict[str, Any]) -> dict[str, Any]:
    return {key: _kept(part) if isinstance(part, dict) else part for key, part in sorted(value.items()) if key in KEPT}


def _references(properties: dict[str, Any]) -> Iterator[str]:
    for value in properties.values():
        for part in (value, value.get("items", {}), value.get("additionalProperties", {})):
            if "ref" in part:
                yield part["ref"]


def main(facts: Path, date: str) -> None:
    written = schema(json.loads(facts.read_text(encoding="utf-8")), list(types.TABLE), date)
    parts = [f'"source": {json.dumps(written["source"])},\n"date": {json.dumps(written["date"])}']
    for name in ("resources", "types"):
        rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in written[name].items())
        parts.append(f'"{name}": {{\n{rows}\n}}')
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
