"""What the secrets in the stacks' states are encrypted with: one key of Cloud KMS, and never destroyed."""

from __future__ import annotations

import pulumi

from infra import gcp, names
from infra.components.placement import Placement
from infra.components.storage import DAY_SECONDS

ROTATION_DAYS = 90
"""A new version comes by itself; older ones go on to decrypt. Google's advice for a symmetric key.
Source: https://cloud.google.com/kms/docs/key-rotation, read 2026-11."""
DESTROY_DAYS = 30
"""Days in which a destroyed version can be restored. Source: discovery document cloudkms v1, `CryptoKey.destroyScheduledDuration`."""


class StateKey(pulumi.ComponentResource):
    """
    A key in a ring of its own, both protected in every environment: a destroy would take the key's material, and with it, for ever, all
    that was encrypted. It would delete neither: their names stay taken until somebody has Google's API delete versions, key and ring, in
    this order, and only after the days below.

    Sources, read 2026-11: discovery document cloudkms v1, `keyRings.delete`; terraform-provider-google, `google_kms_key_ring`.
    """

    key: gcp.kms.CryptoKey
    url: str
    """What `pulumi stack init --secrets-provider` takes, known before it is made.
    Source: https://www.pulumi.com/docs/iac/concepts/secrets/, read 2026-11."""

    def __init__(self, name: str, *, placement: Placement, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("accelform:state_key:StateKey", name, None, opts)
        ring_name, key_name = names.resource(placement.stack, "state"), "secrets"
        ring_id = f"projects/{placement.project}/locations/{placement.region}/keyRings/{ring_name}"
        self.url = f"gcpkms://{ring_id}/cryptoKeys/{key_name}"
        ring = gcp.kms.KeyRing(
            "state",
            name=ring_name,
            project=placement.project,
            location=placement.region,
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        self.key = gcp.kms.CryptoKey(
            "secrets",
            name=key_name,
            key_ring=ring_id,  # in words, so that its place is known before the ring is made
            purpose="ENCRYPT_DECRYPT",
            rotation_period=f"{ROTATION_DAYS * DAY_SECONDS}s",
            destroy_scheduled_duration=f"{DESTROY_DAYS * DAY_SECONDS}s",
            version_template={"algorithm": "GOOGLE_SYMMETRIC_ENCRYPTION", "protection_level": "SOFTWARE"},
            labels=placement.labels,
            opts=pulumi.ResourceOptions(parent=self, protect=True, depends_on=[ring]),
        )
        self.register_outputs({"key": self.key.id})
