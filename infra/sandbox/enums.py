"""
Enums as numbers: clients that were generated for REST send numbers, and ask for them with `$alt=json;enum-encoding=int`.

The discovery documents have the names alone. A name's number is its place in the list, but for the enums below; Compute Engine's numbers
are hashes of the names. Source: the .proto files of github.com/googleapis/googleapis at f8291d2b, 2026-08-22, each enum of which was held
against both rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from infra.sandbox.discovery import Document

ASKED = "json;enum-encoding=int"
NUMBERS: Mapping[str, Sequence[int]] = {
    "ACCELERATOR_TYPE_UNSPECIFIED NVIDIA_TESLA_K80 NVIDIA_TESLA_P100": (*range(6), 8, 9, 11, *range(13, 19), 6, 7, 10, 12),
    "ADAPTER_SIZE_UNSPECIFIED ADAPTER_SIZE_EIGHT ADAPTER_SIZE_SIXTEEN": (0, 8, 16, 32),
    "ADAPTER_SIZE_UNSPECIFIED ADAPTER_SIZE_ONE ADAPTER_SIZE_TWO": (0, 1, 6, *range(2, 6)),
    "ALGORITHM_UNSPECIFIED GRID_SEARCH RANDOM_SEARCH": (0, 2, 3),
    "ALIGN_NONE ALIGN_DELTA ALIGN_RATE": (*range(5), *range(10, 17), 24, *range(17, 22), 23),
    "ALPHA BETA GA": (*range(3), *range(4, 7)),
    "AUTH_TYPE_UNSPECIFIED NO_AUTH API_KEY_AUTH": (*range(5), 6, 8),
    "CHECKER_TYPE_UNSPECIFIED STATIC_IP_CHECKERS VPC_CHECKERS": (0, 1, 3),
    "CLIENT_LIBRARY_DESTINATION_UNSPECIFIED GITHUB PACKAGE_MANAGER": (0, 10, 20),
    "COLOR_MAP_UNSPECIFIED PINK_GREEN VIRIDIS": (*range(5), 6, 5),
    "COLOR_UNSPECIFIED YELLOW RED": (0, 4, 6),
    "COMET_VERSION_UNSPECIFIED COMET_22_SRC_REF": (0, 2),
    "CRYPTO_KEY_PURPOSE_UNSPECIFIED ENCRYPT_DECRYPT ASYMMETRIC_SIGN": (0, 1, 5, 6, 7, 9, 10, 11),
    "CRYPTO_KEY_VERSION_ALGORITHM_UNSPECIFIED GOOGLE_SYMMETRIC_ENCRYPTION AES_128_GCM": (
        *(0, 1, 41, 19, *range(42, 46), 2, 3, 4, 15, 5, 6, 7, 16, 28, 29, 30, 8, 9, 10, 17, 37, 38, 39, 12, 13, 31, 40, *range(32, 37), 18),
        *(47, 48, 63, 68, 56, 69, 57, 60, 70, 67, 71),  # of the last three the files above lack two
    ),
    "CRYPTO_KEY_VERSION_STATE_UNSPECIFIED PENDING_GENERATION ENABLED": (0, 5, *range(1, 5), *range(6, 11)),
    "DEPLOYMENT_STAGE_UNSPECIFIED STARTING_DEPLOYMENT PREPARING_MODEL": (0, *range(5, 10), 3, 4, *range(10, 13)),
    "DEPLOYMENT_TIER_UNSPECIFIED STORAGE": (0, 2),
    "EXPORT_USE_UNSPECIFIED CUSTOM_CODE_TRAINING": (0, 6),
    "HEALTH_UNSPECIFIED HEALTHY TIMEOUT": (0, 1, *range(3, 6)),
    "IDENTITY_TYPE_UNSPECIFIED SERVICE_ACCOUNT AGENT_IDENTITY": (0, 2, 3),
    "LAUNCH_STAGE_UNSPECIFIED UNIMPLEMENTED PRELAUNCH": (0, 6, 7, *range(1, 6)),
    "LEVEL_UNSPECIFIED CONDITION": (0, 3),
    "MODALITY_UNSPECIFIED TEXT IMAGE": (*range(3), 4, 3),
    "MODE_UNSPECIFIED AUTO ANY": (*range(4), 5),
    "NOTIFICATION_PROMPT_UNSPECIFIED OPENED CLOSED": (0, 1, 3),
    "OK CANCELLED UNKNOWN": (*range(8), 16, *range(8, 16)),
    "PHISH_BLOCK_THRESHOLD_UNSPECIFIED BLOCK_LOW_AND_ABOVE BLOCK_MEDIUM_AND_ABOVE": (0, 30, 40, 50, 55, 60, 100),
    "PREDICTION_FORMAT_UNSPECIFIED JSONL BIGQUERY": (0, 2, 3),
    "REDIRECTION_STATE_UNSPECIFIED REDIRECTION_FROM_GCR_IO_DISABLED REDIRECTION_FROM_GCR_IO_ENABLED": (*range(4), 5, 6),
    "REDUCE_NONE REDUCE_MEAN REDUCE_MIN": (*range(8), 15, *range(8, 13)),
    "RUNTIME_STATE_UNSPECIFIED RUNNING BEING_STARTED": (*range(6), 100, 101),
    "STATE_UNSPECIFIED ACTIVE CLOUD_STORAGE_PERMISSION_DENIED": (*range(6), 8),
    "STATE_UNSPECIFIED CREATING READY": (*range(7), *range(8, 17)),
    "STATE_UNSPECIFIED PROVISIONING RUNNING": (0, 1, *range(3, 8)),
    "STATUS_CLASS_UNSPECIFIED STATUS_CLASS_1XX STATUS_CLASS_2XX": (0, 100, 200, 300, 400, 500, 1000),
    "STRATEGY_UNSPECIFIED ON_DEMAND LOW_COST": (*range(5), 6),
    "TYPE_UNSPECIFIED V2 V3": (0, 2, 4, 7, *range(9, 12)),
    "UNSPECIFIED RETRIEVAL_QUERY RETRIEVAL_DOCUMENT": (0, *range(2, 10)),
    "VALUE_TYPE_UNSPECIFIED BOOL BOOL_ARRAY": (*range(5), *range(9, 15)),
    "VALUE_TYPE_UNSPECIFIED STRING STRING_ARRAY": (0, 11, 12),
}
"""First three names of an enum -> the numbers of all of them."""


@cache
def _numbers(names: tuple[str, ...], hashed: bool) -> dict[str, int]:
    if hashed:
        return {name: _hash(name) for name in names}
    return dict(zip(names, NUMBERS.get(" ".join(names[:3]), range(len(names))), strict=False))


def _hash(name: str) -> int:
    """29 bits of Java's hash of a text."""
    value = 0
    for letter in name.encode():
        value = (value * 31 + letter) & 0x1FFFFFFF
    return value


def of(document: Document, schema: Mapping[str, Any]) -> dict[str, int]:
    """Name -> number of an enum's values."""
    return _numbers(tuple(schema["enum"]), document.api.startswith("compute."))


def numbered(document: Document, schema: Mapping[str, Any], value: Any) -> Any:
    """An answer with numbers in place of the names of its enums."""
    if "$ref" in schema:
        schema = document.schemas[schema["$ref"]]
    if isinstance(value, dict):
        known = {**schema.get("properties", {}), **_packed(document, value)}
        other = schema.get("additionalProperties", {})
        return {key: numbered(document, known.get(key, other), item) for key, item in value.items()}
    if isinstance(value, list):
        return [numbered(document, schema.get("items", {}), item) for item in value]
    return of(document, schema).get(value, value) if "enum" in schema and isinstance(value, str) else value


def _packed(document: Document, value: dict[str, Any]) -> Mapping[str, Any]:
    """Fields of a message that says its own type: `type.googleapis.com/google.cloud.aiplatform.v1.Endpoint`."""
    words = str(value.get("@type", "")).rpartition("/")[2].split(".")
    whole = "".join(word[:1].upper() + word[1:] for word in words)
    schema = document.schemas.get(whole) or document.schemas.get(words[-1], {})
    found: Mapping[str, Any] = schema.get("properties", {})
    return found
