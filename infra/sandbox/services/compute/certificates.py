"""Certificates: those that the user brings, and those that Google manages."""

from __future__ import annotations

import base64
import datetime as dt
import re

from infra.sandbox.clock import pacific
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute.resources import both, unused, wrong

ACTIVE_AFTER = 1800
"""Virtual seconds until a managed certificate is ACTIVE: Google says up to 60 minutes.
Source: https://docs.cloud.google.com/load-balancing/docs/ssl-certificates/google-managed-certs."""
LIFETIME = 90 * 86400
"""Seconds that a managed certificate is valid. Source: the same page."""
UTC_TIME = re.compile(rb"\x17\x0d(\d{12})Z")


def _certificate_defaults(call: Call, body: Body) -> None:
    body.pop("privateKey", None)
    if "certificate" in body or "selfManaged" in body:
        body.setdefault("type", "SELF_MANAGED")
        own = body.setdefault("selfManaged", {"certificate": body.get("certificate", "")})
        own.pop("privateKey", None)
        body.setdefault("certificate", own.get("certificate", ""))
        if ends := _valid_until(body["certificate"]):
            body["expireTime"] = pacific(ends)


def _fill_certificate(call: Call, body: Body) -> None:
    if body.get("type") == "MANAGED":
        if not body.get("managed", {}).get("domains"):
            raise wrong("managed.domains", "", "At least one domain must be specified.")
        body["expireTime"] = pacific(call.now + LIFETIME)
        body["madeAt"] = call.now


def _show_certificate(call: Call, body: Body) -> Body:
    """A managed certificate is PROVISIONING until its domains were seen."""
    shown = {key: value for key, value in body.items() if key != "madeAt"}
    if "managed" in body and "madeAt" in body:
        status = "ACTIVE" if call.now >= body["madeAt"] + ACTIVE_AFTER else "PROVISIONING"
        domains = dict.fromkeys(body["managed"]["domains"], status)
        shown["managed"] = {**body["managed"], "status": status, "domainStatus": domains}
    return shown


def _valid_until(certificate: str) -> float | None:
    """The end of a certificate's validity, read from its encoding; None where it has none of this century."""
    inner = "".join(line for line in certificate.splitlines() if "-" not in line)
    try:
        times = UTC_TIME.findall(base64.b64decode(inner))
    except ValueError:
        return None
    if len(times) < 2:
        return None
    return dt.datetime.strptime(times[1].decode(), "%y%m%d%H%M%S").replace(tzinfo=dt.UTC).timestamp()


KINDS = (
    *both(
        "sslCertificates",
        "regionSslCertificates",
        defaults=_certificate_defaults,
        fill=_fill_certificate,
        show=_show_certificate,
        release=unused("ssl_certificate"),
    ),
)
