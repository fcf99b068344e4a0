"""
Versions of Kubernetes that are known to exist: those that the recordings of 2026-08 show, and no other.

A full version that somebody names is believed: Google has many more than these.
"""

from __future__ import annotations

import re

from infra.sandbox.service import Body
from infra.sandbox.services.container.parts import wrong

FULL = re.compile(r"1\.\d{1,2}\.\d{1,3}-gke\.\d{1,8}")
CHANNELS = {"REGULAR": "1.35.6-gke.1250000", "STABLE": "1.34.9-gke.1131000"}
"""Release channel -> the version that a new cluster in it got. Source: recorded traffic of the real service, 2026-08."""
NEWEST = CHANNELS["REGULAR"]
DEFAULT_CHANNEL = "REGULAR"
NAMES = ("", "latest", "-")
"""What stands for the default. Source: `Cluster.initialClusterVersion` in the discovery document."""


def resolved(wanted: str, channel: str) -> str:
    """
    The full version behind `1.35`, `latest` or none.

    Raises:
        Refused: No known version begins so. Source of the words: Google's answers in public issue threads.
    """
    if wanted in NAMES:
        return CHANNELS.get(channel, NEWEST)
    if FULL.fullmatch(wanted):
        return wanted
    own = CHANNELS.get(channel)
    for version in dict.fromkeys([*([own] if own else []), *CHANNELS.values()]):
        if version.startswith((f"{wanted}.", f"{wanted}-")):
            return version
    raise wrong(f'No valid versions with the prefix "{wanted}" found.')


def channel_of(version: str) -> str:
    """The channel of a cluster that asks for a version and for no channel: STABLE for an older one. Source: recorded traffic."""
    return DEFAULT_CHANNEL if minor(version) >= minor(NEWEST) else "STABLE"


def minor(version: str) -> tuple[int, int]:
    """`1.35.6-gke.1250000` -> (1, 35)."""
    first, second = version.split(".")[:2]
    return int(first), int(second)


def image(version: str) -> str:
    """
    Name of the nodes' image.

    Of the recorded name, `gke-1356-gke1250000-cos-125-19216-395-109-c-pre`, only the part that says the version of GKE is known for others.
    """
    number, _, build = version.partition("-gke.")
    return f"gke-{number.replace('.', '')}-gke{build}-cos-125-19216-395-109-c-pre"


def server_config() -> Body:
    """What a location offers: of the channels, those whose version is known."""
    known = list(CHANNELS.values())
    return {
        "channels": [{"channel": channel, "defaultVersion": version, "validVersions": [version]} for channel, version in CHANNELS.items()],
        "defaultClusterVersion": NEWEST,
        "defaultImageType": "COS_CONTAINERD",
        "validImageTypes": ["COS_CONTAINERD"],
        "validMasterVersions": known,
        "validNodeVersions": known,
    }
