"""What goes with a resource that is deleted, or deleted and made anew: a sentence that a reviewer reads first."""

from __future__ import annotations

from typing import Literal

Kind = Literal["accelerators", "data", "access"]

CAPACITY = "its capacity is given back, and may not come again"

LOST: dict[str, tuple[Kind, str]] = {
    "gcp:container/nodePool:NodePool": ("accelerators", f"every node goes, with the pods on it; {CAPACITY}"),
    "gcp:compute/instance:Instance": ("accelerators", f"the machine goes, with what is on its boot disk; {CAPACITY}"),
    "gcp:compute/instanceGroupManager:InstanceGroupManager": ("accelerators", f"every machine of the group goes; {CAPACITY}"),
    "gcp:compute/resizeRequest:ResizeRequest": ("accelerators", f"its machines go, and the request waits from the start; {CAPACITY}"),
    "gcp:tpu/v2Vm:V2Vm": ("accelerators", f"the TPU machine goes, with what is on it; {CAPACITY}"),
    "accelform:tpu:QueuedResource": ("accelerators", f"its nodes go, and the request waits from the start; {CAPACITY}"),
    "accelform:vertex:DeployedModels": ("accelerators", "the endpoint answers nothing until its models are deployed again"),
    "gcp:vertex/aiEndpoint:AiEndpoint": ("access", "callers get errors until it stands again, under another number"),
    "gcp:container/cluster:Cluster": ("accelerators", f"everything in the cluster goes, pools and volumes with it; {CAPACITY}"),
    "gcp:storage/bucket:Bucket": ("data", "every object in it goes"),
    "gcp:artifactregistry/repository:Repository": ("data", "every image in it goes"),
    "gcp:compute/disk:Disk": ("data", "what is on it goes"),
    "accelform:vertex:Model": ("data", "every version of it goes, with its aliases"),
    "kubernetes:core/v1:PersistentVolumeClaim": ("data", "what is on its volume goes, unless its class keeps it"),
    "gcp:serviceaccount/account:Account": ("access", "grants to it stop to hold, those of other projects too"),
    "gcp:kms/cryptoKey:CryptoKey": ("data", "what it encrypted can be read no more, the secrets of states among it"),
}
"""By type. Others can be made again from the stack file alone."""


def lost(type_: str) -> tuple[Kind, str] | None:
    """What goes with a resource of the type; None where nothing does that the stack file does not say."""
    return LOST.get(type_)
