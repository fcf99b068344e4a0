"""Whether a zone has what a new machine needs: as far as no fault says that it has not."""

from __future__ import annotations

from infra.catalog import tpu
from infra.catalog.gpu import quota_metric
from infra.catalog.places import region_of
from infra.sandbox.refused import rpc_error
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import links

HELP = "https://cloud.google.com/compute/docs/resource-error"


def provisioning(body: Body) -> str:
    """How a machine, or what a template makes, is bought: `on-demand`, `spot`, `flex-start` or `reservation`."""
    scheduling = body.get("scheduling", {})
    model = scheduling.get("provisioningModel", "STANDARD")
    if model == "SPOT" or scheduling.get("preemptible"):
        return "spot"
    bound = model == "RESERVATION_BOUND" or body.get("reservationAffinity", {}).get("consumeReservationType") == "SPECIFIC_RESERVATION"
    return "reservation" if bound else "flex-start" if model == "FLEX_START" else "on-demand"


def lacking(call: Call, zone: str, body: Body) -> Body | None:
    """Error that the operation ends with where a fault says that the zone lacks what a machine needs."""
    way = provisioning(body)
    found = call.cloud.faults.lacks(f"{links.HOST}/{call.target}", zone, way)
    if not found:
        return None
    return _quota(body, zone, way) if found == "quota" else _stockout(call, zone, body, way)


def _stockout(call: Call, zone: str, body: Body, way: str) -> Body:
    """
    A stock-out has two codes: here a Spot machine meets the one and every other machine the other, so that clients see both.

    Sources: scylla-cluster-tests issue 12477 (503 and its words), k8s.io issue 9834 (the details), sample-platform issue 901
    (the code without details). Which of the codes Google takes when, no source says.
    """
    kind = links.last(body.get("machineType", ""))
    said = f"The zone 'projects/{call.project}/zones/{zone}' does not have enough resources available to fulfill the request.  "
    with_details = way != "spot"
    local = (
        f"A {kind} VM instance is currently unavailable in the {zone} zone. Alternatively, you can try your request again with a different "
        "VM hardware configuration or at a later time. For more information, see the troubleshooting documentation."
    )
    metadata = {"attachment": "", "vmType": kind, "zone": zone, "zonesAvailable": ""}
    return rpc_error(
        "RESOURCE_EXHAUSTED",
        said + ("'(resource type:compute)'." if with_details else "Try a different zone, or try again later."),
        compute_code=f"ZONE_RESOURCE_POOL_EXHAUSTED{'_WITH_DETAILS' if with_details else ''}",
        http=503,
        http_message="SERVICE UNAVAILABLE",
        details=[
            {"help": {"links": [{"description": "Troubleshooting documentation", "url": HELP}]}},
            {"localizedMessage": {"locale": "en-US", "message": local}},
            {"errorInfo": {"domain": links.HOST, "reason": "resource_availability", "metadatas": metadata}},
        ],
    )


def _quota(body: Body, zone: str, way: str) -> Body:
    """
    Too little quota is an error of the operation too: 403, FORBIDDEN.

    Source: ai-on-gke issue 849 (code, status, words). The name of the quota is made of the machine's type; no source has all of them.
    """
    shape = tpu.by_machine_type(links.last(body.get("machineType", "")))
    what = f"TPU_{shape.generation.upper()}" if shape else "CPUS"
    quota = f"PREEMPTIBLE_{what}" if way == "spot" else what
    for one in body.get("guestAccelerators", [])[:1]:
        quota = quota_metric(links.last(one["acceleratorType"]), way)
    said = f"Quota '{quota}' exceeded.  Limit: 0.0 in region {region_of(zone)}."
    return rpc_error("RESOURCE_EXHAUSTED", said, compute_code="QUOTA_EXCEEDED", http=403, http_message="FORBIDDEN")
