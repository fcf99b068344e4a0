"""Cloud KMS: rings, keys, and who may use a key. Google's API can delete the first two by now; the official provider does not."""

from __future__ import annotations

import datetime as dt
from typing import Any

from infra.local.gcp.iam import IamMember
from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.resource_type import Codec, Field, Policy, ResourceType, Update
from infra.provider.calls import GoogleError

GONE = ("DESTROYED", "DESTROY_SCHEDULED")


class Ring(Lifecycle):
    """It only leaves the state. Source: terraform-provider-google, `google_kms_key_ring`, read 2026-11."""

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        return {}

    def delete(self, id: str, state: dict[str, Any]) -> None:
        """Nothing is asked of Google."""


class Key(Lifecycle):
    """Where it rotates, the first moment is said too; what is destroyed is its versions."""

    def names(self, inputs: Any) -> dict[str, Any]:
        return super().names(inputs) | {"skipInitialVersionCreation": bool(inputs.get("skipInitialVersionCreation"))}

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        return super().create_body(inputs, names) | self.update_extra(inputs)

    def update_extra(self, inputs: dict[str, Any]) -> dict[str, Any]:
        period = inputs.get("rotationPeriod")
        if not period:
            return {}
        first = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=float(period.removesuffix("s")))
        return {"nextRotationTime": first.isoformat(timespec="microseconds").replace("+00:00", "Z")}

    def delete(self, id: str, state: dict[str, Any]) -> None:
        names = self.names_of(id, state)
        url = self.fill(self.row.url, names)
        query: dict[str, str] = {}
        try:
            while True:
                page = self.client.call("GET", self.row.service, f"{url}/cryptoKeyVersions", query)
                for version in page.get("cryptoKeyVersions", []):
                    if version.get("state") not in GONE:
                        self.client.call("POST", self.row.service, f"{version['name']}:destroy", body={})
                if not page.get("nextPageToken"):
                    break
                query = {"pageToken": page["nextPageToken"]}
            if state.get("rotationPeriod"):
                self.client.call("PATCH", self.row.service, url, {"updateMask": "rotationPeriod"}, {"rotationPeriod": None})
        except GoogleError as error:
            if error.code != 404:
                raise


PRIMARY = Codec(decode=lambda value: [{"name": value.get("name", ""), "state": value.get("state", "")}] if value else [])

KEY_RING = ResourceType(
    "gcp:kms/keyRing:KeyRing",
    "kms",
    "projects/{project}/locations/{location}/keyRings/{name}",
    create_query={"keyRingId": "{name}"},
    url_only=("name", "location"),
    lifecycle=Ring,
)

CRYPTO_KEY = ResourceType(
    "gcp:kms/cryptoKey:CryptoKey",
    "kms",
    "{keyRing}/cryptoKeys/{name}",
    create_query={"cryptoKeyId": "{name}", "skipInitialVersionCreation": "{skipInitialVersionCreation}"},
    url_only=("name", "keyRing"),
    virtual={"skipInitialVersionCreation": False},
    defaults={"purpose": "ENCRYPT_DECRYPT", "versionTemplate.protectionLevel": "SOFTWARE"},
    fields=(Field("primaries", "primary", codec=PRIMARY, absent=[]), Field("rotationPeriod", absent="")),
    computed=("cryptoKeyBackend", "destroyScheduledDuration", "importOnly", "keyAccessJustificationsPolicy", "versionTemplate"),
    mask_names={"rotationPeriod": "rotationPeriod,nextRotationTime", "versionTemplate": "versionTemplate.algorithm"},
    updates=(Update(mask=True),),
    lifecycle=Key,
)

CRYPTO_KEY_IAM_MEMBER = ResourceType(
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember",
    "kms",
    "{cryptoKeyId}",
    policy=Policy(
        "cryptoKeyId",
        "{cryptoKeyId}",
        get=("GET", ":getIamPolicy"),
        set=("POST", ":setIamPolicy"),
        get_query={"options.requestedPolicyVersion": "3"},
    ),
    lifecycle=IamMember,
)

ROWS = (KEY_RING, CRYPTO_KEY, CRYPTO_KEY_IAM_MEMBER)
