"""
What is in an image of this checkout, as a list in SPDX 2.3: what its lock installs, and the base that it stands on.

The lock is exact: pip installs it by hash and nothing else. What the base brings of the operating system is not in it; whoever scans the
image sees that too. `gcloud artifacts sbom load --source=FILE --uri=REFERENCE` puts the list beside the image. Sources: https://spdx.github.io/
spdx-spec/v2.3/, and Google's page "Upload SBOMs", which takes SPDX 2.2 and 2.3, read 2026-11.
"""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

from infra.errors import MachineError
from infra.operate.images import FOLDER, ROOT, archive, tag

PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
BASE = re.compile(r"^FROM ([^\s@]+):([^\s:@]+)@(sha256:[0-9a-f]{64})", re.MULTILINE)
NOTHING = "NOASSERTION"


def document(name: str, now: float, root: Path = ROOT) -> dict[str, Any]:
    """
    The list of one image. The tag in it is that of the image in its repository: both are of the same files.

    Args:
        now: When it is made, in seconds since 1970.

    Raises:
        MachineError: A file that the image is built of cannot be read, or pins nothing.
    """
    label = tag(archive(name, root))
    lock, dockerfile = root / "requirements" / f"image-{name}.lock", root / FOLDER / name / "Dockerfile"
    pinned, base = (found.findall(path.read_text(encoding="utf-8")) for found, path in ((PINNED, lock), (BASE, dockerfile)))
    if not pinned or not base:
        raise MachineError(f"{dockerfile if pinned else lock}: pins nothing\n  fix: git checkout it, or make lock")
    image = _package(f"accelform-{name}", label, "")
    inside = [_package(where, version, _oci(where, digest)) for where, version, digest in base]
    inside += [_package(package, version, f"pkg:pypi/{package.lower().replace('_', '-')}@{version}") for package, version in pinned]
    root_id = "SPDXRef-DOCUMENT"
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": root_id,
        "name": f"{name}:{label}",
        "documentNamespace": f"https://spdx.org/spdxdocs/accelform-{name}-{label}",
        "creationInfo": {"created": dt.datetime.fromtimestamp(now, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: accelform"]},
        "packages": [image, *inside],
        "relationships": [
            _relation(root_id, "DESCRIBES", image["SPDXID"]),
            *(_relation(image["SPDXID"], "CONTAINS", one["SPDXID"]) for one in inside),
        ],
    }


def _package(name: str, version: str, purl: str) -> dict[str, Any]:
    reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
    return {
        "SPDXID": f"SPDXRef-Package-{re.sub(r'[^A-Za-z0-9.-]', '-', f'{name}-{version}')}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": NOTHING,
        "filesAnalyzed": False,
        **({"externalRefs": [reference]} if purl else {}),
    }


def _oci(where: str, digest: str) -> str:
    """Source: https://github.com/package-url/purl-spec, type `oci`, read 2026-11."""
    return f"pkg:oci/{where.rpartition('/')[2]}@{digest.replace(':', '%3A')}?repository_url={where}"


def _relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
