"""Reservations of capacity, now and later."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute.actions import act
from infra.sandbox.services.compute.resources import kind, unused, wrong
from infra.sandbox.verbs import opened

MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z")


def _defaults(call: Call, body: Body) -> None:
    """Source: recorded traffic of Google."""
    specific = body.get("specificReservation")
    if specific is not None:
        specific.setdefault("count", "1")
        specific["inUseCount"] = specific.get("inUseCount", "0")
        specific["assuredCount"] = specific["count"]
    body.setdefault("reservationSharingPolicy", {}).setdefault("serviceShareType", "DISALLOW_ALL")
    body.setdefault("shareSettings", {}).setdefault("shareType", "LOCAL")
    body.setdefault("specificReservationRequired", False)
    body.setdefault("status", "READY")


def resize(call: Call) -> Any:
    body = opened(call)
    count = call.body.get("specificSkuCount", "")
    if int(count or 0) < 1:
        raise wrong("specificSkuCount", count, "Must be at least 1.")
    if "specificReservation" not in body:
        raise wrong("specificReservation", "", "Only a reservation of machines of one kind can be resized.")
    body["specificReservation"]["count"] = body["specificReservation"]["assuredCount"] = count
    return act(call, body)


def _future_defaults(call: Call, body: Body) -> None:
    """Its window and the end of what it makes are answered as moments. Source: recorded traffic."""
    body.setdefault("planningStatus", "DRAFT")
    body.setdefault("specificReservationRequired", False)
    state = {"DRAFT": "DRAFTING"}.get(body["planningStatus"], "PENDING_APPROVAL")
    matching = {"count": "0", "timestamp": body.get("creationTimestamp", "")}
    body["status"] = {"procurementStatus": state, "existingMatchingUsageInfo": matching}
    window = body.get("timeWindow", {})
    if duration := window.pop("duration", None):
        window["endTime"] = _later(window.get("startTime", ""), duration)
    if duration := body.pop("autoCreatedReservationsDuration", None):
        body["autoCreatedReservationsDeleteTime"] = _later(window.get("startTime", ""), duration)
    deletes = body.pop("autoDeleteAutoCreatedReservations", None)
    if deletes is False:
        body.pop("autoCreatedReservationsDeleteTime", None)
    elif deletes:
        body.setdefault("autoCreatedReservationsDeleteTime", window.get("endTime", ""))


def _future_changed(call: Call, body: Body, before: Body) -> None:
    body.setdefault("description", "")  # source: recorded traffic


def _later(start: str, duration: Body) -> str:
    found = MOMENT.fullmatch(start)
    if found is None:
        raise wrong("timeWindow.startTime", start, "Must be a time in RFC 3339.")
    end = dt.datetime.fromisoformat(found[1]) + dt.timedelta(seconds=int(duration.get("seconds", 0)))
    nanos = int(duration.get("nanos", 0))
    return end.isoformat() + (f".{nanos:09d}Z" if nanos else "Z")


KINDS = (
    kind("reservations", defaults=_defaults, release=unused("reservation")),
    kind("futureReservations", defaults=_future_defaults, changed=_future_changed),
)
HANDLERS = {"reservations.resize": resize}
