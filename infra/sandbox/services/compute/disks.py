"""Disks, snapshots and images; and the image projects of Google that anybody reads."""

from __future__ import annotations

import re
from typing import Any

from infra.catalog import tpu
from infra.sandbox import operations
from infra.sandbox.clock import pacific
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import fingerprints, links
from infra.sandbox.services.compute.actions import act
from infra.sandbox.services.compute.resources import exists, kind, missing, unused, wrong
from infra.sandbox.verbs import opened

TPU_IMAGES = "ubuntu-os-accelerator-images"
NODE_IMAGES = "gke-node-images"
"""Of the nodes of GKE. Source: recorded traffic of container v1beta1, 2026-08."""
PUBLIC = frozenset(
    {
        NODE_IMAGES,
        TPU_IMAGES,
        "centos-cloud",
        "cos-cloud",
        "debian-cloud",
        "deeplearning-platform-release",
        "ml-images",
        "rhel-cloud",
        "rocky-linux-cloud",
        "ubuntu-os-cloud",
    }
)
"""Source: https://docs.cloud.google.com/compute/docs/images/os-details, and the catalogue's image families."""
DATED = re.compile(r"(?P<family>.+)-v\d{8}[a-z0-9-]*")
IMAGE_GIB = "10"
"""Size of a disk that is made of a public image and asks for none."""
DEFAULT_GIB = "500"
"""Size of an empty disk that asks for none: the document's description of `sizeGb` for pd-standard, recorded for images of such disks."""


def _disk_defaults(call: Call, body: Body) -> None:
    where = "/".join(call.target.split("/")[2:4])
    body["type"] = links.place(call, f"{where}/diskTypes", body.get("type") or "pd-standard")  # default: the document's description
    body["replicaZones"] = [links.place(call, "zones", zone) for zone in body.get("replicaZones", [])]
    body.setdefault("physicalBlockSizeBytes", "4096")
    body.setdefault("status", "READY")


def _fill_disk(call: Call, body: Body) -> None:
    wanted = body.get("sourceImage") or call.query.get("sourceImage", "")
    if wanted:
        image = image_of(call, wanted)
        body["sourceImage"] = image["selfLink"]
        body["sourceImageId"] = image["id"]
        body.setdefault("sizeGb", image.get("diskSizeGb", IMAGE_GIB))
        if int(body["sizeGb"]) < int(image.get("diskSizeGb", IMAGE_GIB)):
            raise wrong("sizeGb", body["sizeGb"], f"Requested disk size cannot be smaller than the image size ({image['diskSizeGb']} GB)")
    body.setdefault("sizeGb", DEFAULT_GIB)


def _show_disk(call: Call, body: Body) -> Body:
    """With the machines that have it."""
    link = body.get("selfLink", "")
    name = links.name_of(link)
    users = []
    for _, other, machine in call.cloud.store.every(links.HOST, "/".join(name.split("/")[:2]) + "/zones/"):
        if other.split("/")[4] == "instances" and any(disk.get("source") == link for disk in machine.get("disks", [])):
            users.append(links.LINK + other)
    return body | ({"users": users} if users else {})


def resize_disk(call: Call) -> Any:
    body = opened(call)
    size = call.body.get("sizeGb", "0")
    if int(size) < int(body.get("sizeGb", "0")):
        raise wrong("sizeGb", size, f"New disk size '{size}' cannot be smaller than existing size '{body['sizeGb']}'.")
    return act(call, {**body, "sizeGb": size})


def create_snapshot(call: Call) -> Any:
    """A snapshot is a resource of its own; the operation is of the disk's zone."""
    body = opened(call)
    name = f"projects/{call.project}/global/snapshots/{call.body.get('name', '')}"
    if call.cloud.store.get(links.HOST, name) is not None:
        raise exists(name)
    snapshot: Body = {
        "kind": "compute#snapshot",
        "id": operations.number(f"{name}{call.cloud.store.next('ids')}"),
        "creationTimestamp": pacific(call.now),
        "selfLink": links.LINK + name,
        "sourceDisk": body["selfLink"],
        "sourceDiskId": body["id"],
        "diskSizeGb": body.get("sizeGb", DEFAULT_GIB),
        "status": "READY",
        "labelFingerprint": fingerprints.of(call.body.get("labels", {})),
        "creationSizeBytes": "0",
        "downloadBytes": "0",
        "storageBytes": "0",
        "storageBytesStatus": "UP_TO_DATE",
        "storageLocations": ["us"],
    }
    call.cloud.store.put(links.HOST, name, {**call.body, **snapshot})
    return act(call, body, verb="createSnapshot", seconds=20)


def add_policies(call: Call) -> Any:
    body = opened(call)
    policies = body.setdefault("resourcePolicies", [])
    for link in call.body.get("resourcePolicies", []):
        if links.stored(call, link) is None:
            raise missing(links.name_of(link))
        if link not in policies:
            policies.append(link)
    return act(call, body)


def remove_policies(call: Call) -> Any:
    body = opened(call)
    body["resourcePolicies"] = [link for link in body.get("resourcePolicies", []) if link not in call.body.get("resourcePolicies", [])]
    return act(call, body)


def image_of(call: Call, wanted: str) -> Body:
    """
    The image behind `projects/P/global/images/family/F`, `.../images/I`, or their short forms.

    Raises:
        Refused: There is none.
    """
    name = links.name_of(links.place(call, "global/images", wanted))
    if not name:
        raise wrong("sourceImage", wanted, "The URL is malformed.")
    words = name.split("/")
    if words[-2:-1] == ["family"]:
        return _from_family(call, words[1], words[-1])
    found = call.cloud.store.get(links.HOST, name)
    if found is None and words[1] in PUBLIC:
        return _public(words[1], words[-1])
    if found is None:
        raise missing(name)
    return found


def get_image(call: Call) -> Any:
    """An image by its name: in Google's projects it ends in its day; without one it is a family's name, and no image."""
    if call.project in PUBLIC and not DATED.fullmatch(links.last(call.owner)):
        raise missing(call.owner)
    return image_of(call, call.owner)


def get_from_family(call: Call) -> Any:
    return _from_family(call, call.project, links.last(call.owner))


def _from_family(call: Call, project: str, family: str) -> Body:
    """The newest image of a family. Families of TPU images are those of the catalogue; of the others any is believed."""
    if project in PUBLIC:
        known = {shape.image_family for shape in tpu.shapes().values()}
        if project == TPU_IMAGES and family not in known:
            raise missing(f"projects/{project}/global/images/family/{family}")
        return _public(project, f"{family}-v20261101")
    found = [body for _, body in call.cloud.store.items(links.HOST, f"projects/{project}/global/images") if body.get("family") == family]
    if not found:
        raise missing(f"projects/{project}/global/images/family/{family}")
    return found[-1]


def _public(project: str, image: str) -> Body:
    """An image of Google's: the sandbox has no list of them, so any is believed."""
    name = f"projects/{project}/global/images/{image}"
    dated = DATED.fullmatch(image)
    return {
        "kind": "compute#image",
        "id": operations.number(name),
        "name": image,
        "family": dated["family"] if dated else image,
        "status": "READY",
        "sourceType": "RAW",
        "diskSizeGb": IMAGE_GIB,
        "selfLink": links.LINK + name,
    }


def _fill_image(call: Call, body: Body) -> None:
    source = links.stored(call, body.get("sourceDisk", ""))
    if "sourceDisk" in body and source is None:
        raise missing(links.name_of(body["sourceDisk"]))
    if source is not None:
        body["sourceDiskId"] = source["id"]
        body.setdefault("diskSizeGb", source.get("sizeGb", DEFAULT_GIB))


def _image_defaults(call: Call, body: Body) -> None:
    body.setdefault("sourceType", "RAW")
    body.setdefault("status", "READY")
    body.setdefault("storageLocations", ["us"])  # source: recorded traffic


KINDS = (
    kind("disks", defaults=_disk_defaults, fill=_fill_disk, show=_show_disk, release=unused("disk")),
    kind("regionDisks", defaults=_disk_defaults, fill=_fill_disk, show=_show_disk, release=unused("disk")),
    kind("images", defaults=_image_defaults, fill=_fill_image),
)
HANDLERS = {
    **{
        f"{resource}.{verb}": handler
        for resource in ("disks", "regionDisks")
        for verb, handler in {
            "resize": resize_disk,
            "createSnapshot": create_snapshot,
            "addResourcePolicies": add_policies,
            "removeResourcePolicies": remove_policies,
        }.items()
    },
    "images.get": get_image,
    "images.getFromFamily": get_from_family,
}
