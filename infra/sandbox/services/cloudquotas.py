"""
Cloud Quotas: what quota a project asks for. Here every request is granted as it is, after a day; Google's people need not do so.

Source of what is not said otherwise: comments in google.api.cloudquotas.v1, read 2026-11. What is granted binds nobody in the sandbox.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.sandbox import etags
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused, invalid, no_entity, same_entity
from infra.sandbox.service import Body, Call, Kind, Service

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

HOST = "cloudquotas.googleapis.com"
PREFERENCES = "projects.locations.quotaPreferences"
DECIDED_AFTER = 24 * 3600
"""Seconds. The sandbox's own: Google says hours to days."""
NOT_DIMENSIONS = ("user", "resource")


def _fill(call: Call, body: Body) -> None:
    if call.word("locations") != "global":
        raise invalid("The location must be global.", "parent")
    for _, other in call.cloud.store.items(HOST, call.inside):
        if all(other.get(key) == body.get(key) for key in ("service", "quotaId", "dimensions")):
            raise Refused(409, f"{other['name']} is for the same quota and dimensions.")
    body |= {"name": call.target, "createTime": rfc3339(call.now)}
    _asked(call, body)
    call.cloud.mark_own(HOST, call.target)  # nobody can delete it


def _check(call: Call, body: Body, before: Body | None) -> None:
    if any(key in NOT_DIMENSIONS for key in body.get("dimensions", {})):
        raise invalid("Preferences are for all values of user and resource.", "quota_preference.dimensions")
    if int(body["quotaConfig"]["preferredValue"]) < -1:
        raise invalid("preferred_value must be greater than or equal to -1.", "quota_preference.quota_config.preferred_value")


def _changed(call: Call, body: Body, before: Body) -> None:
    etags.check(call.cloud, call.body.get("etag", ""), before["etag"])
    kept = {"grantedValue": granted} if (granted := before["quotaConfig"].get("grantedValue")) else {}
    body["quotaConfig"] = {key: value for key, value in body["quotaConfig"].items() if key != "grantedValue"} | kept
    _asked(call, body)


def _asked(call: Call, body: Body) -> None:
    """From now on somebody looks at it."""
    body |= {"reconciling": True, "updateTime": rfc3339(call.now), "etag": etags.new(call.cloud)}
    body["quotaConfig"] = body["quotaConfig"] | {"traceId": call.cloud.uuid(call.cloud.store.next("quota traces"))}
    call.cloud.store.set_timer(HOST, call.target, call.now + DECIDED_AFTER * call.cloud.faults.slowness)


def _decided(cloud: Cloud, name: str) -> None:
    body = cloud.store.get(HOST, name)
    if body is not None:
        config = body["quotaConfig"] | {"grantedValue": body["quotaConfig"]["preferredValue"]}
        cloud.store.put(HOST, name, body | {"reconciling": False, "quotaConfig": config})


def _shown(call: Call, body: Body) -> Body:
    """Whom to write to is only taken in."""
    return {key: value for key, value in body.items() if key != "contactEmail"}


SERVICE = Service(
    host=HOST,
    apis=("cloudquotas.v1",),
    operations=LongRunning(),
    kinds=(
        Kind(
            PREFERENCES,
            id_from="query:quotaPreferenceId",
            required=("service", "quotaId", "quotaConfig.preferredValue"),
            immutable=("service", "quotaId", "dimensions"),
            fill=_fill,
            check=_check,
            changed=_changed,
            show=_shown,
        ),
    ),
    not_found=no_entity,
    exists=same_entity,
    wakes=_decided,
)
