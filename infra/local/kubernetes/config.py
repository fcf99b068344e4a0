"""What the provider is configured with: one cluster, and how its objects are treated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.kubernetes import kubeconfig
from infra.provider.server import ProviderError
from infra.provider.values import Unknown

DEFAULT = "default"
"""The namespace of who names none."""
OPTIONS = {
    "deleteUnreachable": "PULUMI_K8S_DELETE_UNREACHABLE",
    "skipUpdateUnreachable": "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE",
    "enablePatchForce": "PULUMI_K8S_ENABLE_PATCH_FORCE",
    "upsertExistingObjects": "PULUMI_K8S_UPSERT_EXISTING_OBJECTS",
    "enableConfigMapMutable": "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE",
    "enableSecretMutable": "PULUMI_K8S_ENABLE_SECRET_MUTABLE",
}
"""Options that are off by themselves -> the variable that is asked where the program does not say. Source: pulumi-kubernetes at 2026-07."""


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of one provider."""

    server: str = ""
    """Where the cluster's API is, without a slash at the end; empty where none can be reached."""
    unreachable: str = ""
    """Why no cluster can be reached; empty where one is named."""
    namespace: str = ""
    """Of objects that name none. Empty where there is no kubeconfig: then such objects stay as they are."""
    delete_unreachable: bool = False
    skip_update_unreachable: bool = False
    patch_force: bool = False
    upsert: bool = False
    """Whether a create takes over what exists already."""
    mutable_config_maps: bool = False
    mutable_secrets: bool = False


def read(values: Mapping[str, Any], environ: Mapping[str, str]) -> Config:
    """
    The configuration in *values*, as the engine has it: what is not a string is JSON.

    Raises:
        ProviderError: It leads to what is not the sandbox, or asks for what the stand-in does not do.
    """
    _refuse(values, environ)
    known = {key: value for key, value in values.items() if not isinstance(value, Unknown)}
    options = {key: _true(known[key] if key in known else environ.get(variable)) for key, variable in OPTIONS.items()}
    server, unreachable, of_context = _where(values, known)
    return Config(
        server=server,
        unreachable=unreachable,
        namespace=str(known.get("namespace") or "") or of_context or (DEFAULT if known.get("kubeconfig") else ""),
        delete_unreachable=options["deleteUnreachable"],
        skip_update_unreachable=options["skipUpdateUnreachable"],
        patch_force=options["enablePatchForce"],
        upsert=options["upsertExistingObjects"],
        mutable_config_maps=options["enableConfigMapMutable"],
        mutable_secrets=options["enableSecretMutable"],
    )


def _where(values: Mapping[str, Any], known: Mapping[str, Any]) -> tuple[str, str, str]:
    """Server, why there is none, and the namespace of the context."""
    if any(isinstance(values.get(key), Unknown) for key in ("kubeconfig", "context", "cluster")):
        return "", "its kubeconfig is known after an update only", ""
    if not known.get("kubeconfig"):
        return "", "the provider has no kubeconfig, and the stand-in looks for none", ""
    try:
        found = kubeconfig.active(kubeconfig.parsed(known["kubeconfig"]), known)
    except ValueError as error:
        return "", f"failed to parse kubeconfig data in `kubernetes:config:kubeconfig`: {error}", ""
    return found.server, "", found.namespace


def _refuse(values: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    wrong = []
    applied = values.get("enableServerSideApply", environ.get("PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY"))
    if applied is not None and not isinstance(applied, Unknown) and applied != "" and not _true(applied):
        wrong.append("enableServerSideApply: the stand-in provider applies at the server only; the official one does both")
    if values.get("renderYamlToDirectory"):
        wrong.append("renderYamlToDirectory: the stand-in provider writes no files; the official one does")
    settings = values.get("helmReleaseSettings")
    if isinstance(settings, str) and settings:
        try:
            settings = json.loads(settings)
        except ValueError:
            wrong.append("helmReleaseSettings: is not JSON")
    driver = settings.get("driver") if isinstance(settings, dict) else None
    if (driver or environ.get("PULUMI_K8S_HELM_DRIVER") or "secret") not in ("secret", "secrets"):
        wrong.append("helmReleaseSettings.driver: the stand-in provider keeps releases in Secrets only")
    if wrong:
        raise ProviderError("\n".join([*wrong, kubeconfig.FIX]))


def _true(value: Any) -> bool:
    return value is True or value == "true"
