"""Notification channels and alert policies: who is told, and of what."""

from __future__ import annotations

from typing import Any

from infra.sandbox import operations, verbs
from infra.sandbox.refused import Refused, no_entity
from infra.sandbox.schema import without_empty
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.monitoring import shared
from infra.sandbox.services.monitoring.shared import HOST

MOST_CONDITIONS = 6
"""Source: description of `AlertPolicy.conditions`."""


def _shown(_: Call, body: Body) -> Body:
    """`enabled` is a message of its own: it stays when it is false."""
    return dict(without_empty(body)) | {"enabled": body.get("enabled", True)}


def _fill_channel(call: Call, body: Body) -> None:
    body |= {"name": call.target, "creationRecord": shared.record(call), "mutationRecords": [shared.record(call)]}
    body.setdefault("enabled", True)  # Source: recorded, 2026-08


def _check_channel(call: Call, body: Body, before: Body | None) -> None:
    if not body.get("type"):
        raise shared.required("notification_channel.type")
    if body["type"] == "email" and not body.get("labels", {}).get("email_address"):
        raise shared.required("notification_channel.labels['email_address']")


def _changed_channel(call: Call, body: Body, before: Body) -> None:
    body.setdefault("enabled", True)
    body["creationRecord"] = before["creationRecord"]
    body["mutationRecords"] = [shared.record(call)]  # the last one alone. Source: recorded, 2026-08


def _release_channel(call: Call, _: Body) -> None:
    """With `force` the policies lose it; else they keep it from being deleted."""
    using = [(name, policy) for name, policy in _policies(call) if call.target in _channels(call, policy)]
    if using and call.query.get("force", "").lower() != "true":
        names = ", ".join(f'"{name}"' for name, _ in using)
        # Wording: quoted in terraform-provider-google #10337, 2021.
        said = f'Could not delete "{call.target}" because it is still being referenced by: {names}'
        raise Refused(400, said, status="FAILED_PRECONDITION")
    for name, policy in using:
        kept = [channel for channel in policy["notificationChannels"] if call.cloud.projects.by_id(channel) != call.target]
        call.cloud.store.put(HOST, name, policy | {"notificationChannels": kept})


def _policies(call: Call) -> list[tuple[str, Body]]:
    return [(name, body) for _, name, body in call.cloud.store.every(HOST, "projects/") if name.split("/")[2] == "alertPolicies"]


def _channels(call: Call, policy: Body) -> list[str]:
    return [call.cloud.projects.by_id(channel) for channel in policy.get("notificationChannels", [])]


def _fill_policy(call: Call, body: Body) -> None:
    body |= {"name": call.target, "creationRecord": shared.record(call, who=True), "mutationRecord": shared.record(call, who=True)}


def _check_policy(call: Call, body: Body, before: Body | None) -> None:
    """Fields as their descriptions say; channels must be there."""
    if not body.get("displayName"):
        raise shared.required("alert_policy.display_name")
    conditions = body.get("conditions", [])
    if not 1 <= len(conditions) <= MOST_CONDITIONS:
        raise shared.bad("alert_policy.conditions", len(conditions), f"a policy can have from one to {MOST_CONDITIONS} conditions")
    if len(conditions) > 1 and body.get("combiner", "COMBINE_UNSPECIFIED") == "COMBINE_UNSPECIFIED":
        raise shared.required("alert_policy.combiner")
    for channel in _channels(call, body):
        if len(channel.split("/")) != 4:
            said = f"Name must begin with 'projects/{{project_id}}/notificationChannels/{{channel_id}}', got: {channel}"
            raise Refused(400, said)  # Wording: quoted in crossplane-contrib/provider-upjet-gcp #498, 2024
        if call.cloud.store.get(HOST, channel) is None:
            raise Refused(404, f"Notification channel not found: {channel}")
    body.setdefault("enabled", True)  # Source: description of `enabled`
    for condition in conditions:
        if not str(condition.get("name", "")).startswith(f"{call.target}/conditions/"):
            count = call.cloud.store.next("ids")
            condition["name"] = f"{call.target}/conditions/{operations.number(f'{call.target}{count}')}"


def _changed_policy(call: Call, body: Body, before: Body) -> None:
    body |= {"creationRecord": before["creationRecord"], "mutationRecord": shared.record(call, who=True)}


def verify(call: Call) -> Any:
    """POST `:verify`: the sandbox mails no code, so it takes any."""
    call.target = call.owner
    return verbs.changed(call, verbs.stored(call) | {"verificationStatus": "VERIFIED"})


def send_code(call: Call) -> Any:
    """POST `:sendVerificationCode`: there is nobody to send it to."""
    call.target = call.owner
    verbs.stored(call)
    return {}


CHANNEL = Kind(
    "projects.notificationChannels",
    id_from="server:number",
    fill=_fill_channel,
    check=_check_channel,
    changed=_changed_channel,
    release=_release_channel,
    show=_shown,
    not_found=no_entity,
)
POLICY = Kind(
    "projects.alertPolicies",
    id_from="server:number",
    fill=_fill_policy,
    check=_check_policy,
    changed=_changed_policy,
    show=_shown,
    not_found=no_entity,
)
HANDLERS = {
    "projects.notificationChannels.verify": verify,
    "projects.notificationChannels.sendVerificationCode": send_code,
}
