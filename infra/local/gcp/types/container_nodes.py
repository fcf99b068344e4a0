"""Machines of a node pool, as a cluster and a pool both have them."""

from __future__ import annotations

from typing import Any

from infra.local.gcp.resource_type import INT64, Codec, Field, Names

ONE = Codec(decode=lambda value: [value] if value else [])
"""A message that the provider's schema shows as a list of one."""
SWITCH = Codec(lambda value, _: str(value).upper() == "TRUE", lambda value: "TRUE" if value else "FALSE")
"""A boolean that the program says as a word."""
ACCELERATORS = "guestAccelerators"
GOOGLES = "goog-gke"
"""Begin of the labels that Google itself puts on machines."""


def _tags(value: dict[str, Any], _: Names) -> dict[str, Any]:
    return {"tags": value}


TAGS = Codec(_tags, lambda value: value.get("tags"))


def fields(at: str, *, nothing: bool) -> tuple[Field, ...]:
    """
    The special properties of a node configuration whose own path is *at*.

    Args:
        nothing: Whether lists and maps that Google does not answer are nothing in the state, and not empty.
    """
    gpu = f"{at}.{ACCELERATORS}"
    return (
        Field(gpu, "accelerators"),
        Field(f"{gpu}.count", "acceleratorCount", codec=INT64),
        Field(f"{gpu}.type", "acceleratorType"),
        Field(f"{gpu}.gpuSharingConfig.maxSharedClientsPerGpu", codec=INT64),
        Field(f"{at}.advancedMachineFeatures.threadsPerCore", codec=INT64),
        Field(f"{at}.bootDisk.sizeGb", codec=INT64),
        Field(f"{at}.bootDisk.provisionedIops", codec=INT64),
        Field(f"{at}.bootDisk.provisionedThroughput", codec=INT64),
        Field(f"{at}.confidentialNodes.enabled", always=True),
        Field(f"{at}.effectiveTaints", "effectiveTaints"),
        Field(f"{at}.fastSocket.enabled", always=True),
        Field(f"{at}.gcfsConfig.enabled", always=True),
        Field(f"{at}.gvnic.enabled", always=True),
        Field(f"{at}.kubeletConfig.insecureKubeletReadonlyPortEnabled", codec=SWITCH),
        Field(f"{at}.kubeletConfig.podPidsLimit", codec=INT64),
        Field(f"{at}.labels", absent={}),
        Field(f"{at}.loggingVariant", "loggingConfig.variantConfig.variant", absent="DEFAULT"),
        Field(f"{at}.metadata", absent={}),
        Field(f"{at}.nodeImageConfigs", "nodeImageConfig", codec=ONE),
        Field(f"{at}.reservationAffinity.values", absent=None),
        Field(f"{at}.resourceManagerTags", codec=TAGS, absent=None if nothing else {}),
        Field(f"{at}.resourceLabels", absent=None if nothing else {}),
        Field(f"{at}.storagePools", absent=None if nothing else []),
        Field(f"{at}.tags", absent=None if nothing else []),
        Field(f"{at}.windowsNodeConfig.osversion", "osVersion"),
    )


def computed(at: str) -> tuple[str, ...]:
    """What Google fills in of a node configuration."""
    names = (
        "bootDisk",
        "bootDisk.diskType",
        "bootDisk.sizeGb",
        "diskSizeGb",
        "diskType",
        "effectiveTaints",
        f"{ACCELERATORS}.gpuDriverInstallationConfig",
        "imageType",
        "kubeletConfig",
        "kubeletConfig.insecureKubeletReadonlyPortEnabled",
        "kubeletConfig.maxParallelImagePulls",
        "labels",
        "loggingVariant",
        "machineType",
        "metadata",
        "minCpuPlatform",
        "nodeImageConfigs",
        "oauthScopes",
        "resourceLabels",
        "serviceAccount",
        "shieldedInstanceConfig",
        "workloadMetadataConfig",
        "windowsNodeConfig",
    )
    return (at, *(f"{at}.{name}" for name in names))


def seen(config: dict[str, Any] | None, written: dict[str, Any] | None) -> dict[str, Any] | None:
    """
    A node configuration as it is kept: all taints are effective, and those are the program's own that it wrote.

    Args:
        config: Google's; nothing where it has none.
        written: The program's; nothing at an import, where all taints count as its own.
    """
    if config is None:
        return None
    every = config.get("taints") or []
    mine = every if written is None else written.get("taints") or []
    own = {(one.get("key"), one.get("effect")) for one in mine}
    if labels := config.get("resourceLabels"):  # the official provider takes no notice of Google's own among them
        config = config | {"resourceLabels": {key: value for key, value in labels.items() if not key.startswith(GOOGLES)}}
    return config | {"taints": [one for one in every if (one.get("key"), one.get("effect")) in own], "effectiveTaints": every}
