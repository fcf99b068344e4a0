"""Predictions: answered by a process beside the sandbox that serves the deployed model, where there is one."""

from __future__ import annotations

import json
from typing import Any

from infra.sandbox import verbs
from infra.sandbox.refused import STATUS, Refused
from infra.sandbox.service import Answer, Body, Call
from infra.sandbox.services.aiplatform import models, parts
from infra.sandbox.services.aiplatform.parts import precondition

SECONDS = 60
"""Longest wait for a prediction. Source: Google's page "Get online inferences": 60 seconds on shared endpoints."""
LETTERS = 2000


def predict(call: Call) -> Any:
    """`:predict`: `instances` and `parameters` go to the container's predict route, and its `predictions` come back with who made them."""
    parts.required(call.body, {"instances": "instances"})
    deployed, url = _chosen(call)
    said = {
        "deployedModelId": deployed["id"],
        "model": deployed["model"],
        "modelDisplayName": deployed["displayName"],
        "modelVersionId": deployed["modelVersionId"],
    }
    sent = json.dumps({key: value for key, value in call.raw.items() if key in ("instances", "parameters")}).encode()
    errors = call.service.errors

    def later() -> Answer:
        answer = _post(url, sent, "application/json")
        try:
            body = json.loads(answer.body)
        except ValueError:
            body = None
        if answer.status != 200 or not isinstance(body, dict) or "predictions" not in body:
            text = bytes(answer.body).decode("utf-8", "replace")[:LETTERS]
            code = answer.status if answer.status in STATUS else 500
            return Answer(code, Refused(code, text or "The model server answered with nothing.").body(errors))
        return Answer(200, {key: body[key] for key in ("predictions", "metadata") if key in body} | said)

    return Answer(200, None, later=later)


def raw_predict(call: Call) -> Any:
    """`:rawPredict`: any bytes there, and any back. Source of the headers: `google.cloud.aiplatform.v1.PredictionService.RawPredict`."""
    deployed, url = _chosen(call)
    sent, content_type = call.media, call.content_type
    own = {"X-Vertex-AI-Endpoint-Id": call.owner.rpartition("/")[2], "X-Vertex-AI-Deployed-Model-Id": deployed["id"]}

    def later() -> Answer:
        answer = _post(url, sent, content_type)
        return Answer(answer.status, answer.body, {**answer.headers, **own})

    return Answer(200, None, later=later)


def _chosen(call: Call) -> tuple[Body, str]:
    """
    The deployed model that the traffic split gives this request, and where it is asked.

    Raises:
        Refused: Nothing is deployed; or no process answers for it: a machine of the sandbox runs nothing by itself.
    """
    call.target = call.owner
    endpoint = verbs.stored(call)
    split = {id: share for id, share in endpoint.get("trafficSplit", {}).items() if share}
    if not split:
        raise precondition(f'The Endpoint "{call.cloud.projects.by_number(call.owner)}" has no deployed model that gets traffic.')
    chosen = call.cloud.servers.pick(call.owner, split)
    base = call.cloud.servers.base(call.owner, chosen)
    if not base:
        raise Refused(501, f"The sandbox does not have {call.method.id} yet.", status="UNIMPLEMENTED")
    deployed = next(item for item in endpoint["deployedModels"] if item["id"] == chosen)
    _, version = models.find(call, f"{deployed['model']}@{deployed['modelVersionId']}")
    route = version.get("containerSpec", {}).get("predictRoute") or "/predict"
    return deployed, f"{base}{route}"


def _post(url: str, content: bytes, content_type: str) -> Answer:
    import httpx

    try:
        with httpx.Client(timeout=SECONDS, trust_env=False, verify=False) as client:  # noqa: S501 - plain HTTP of this machine
            answer = client.post(url, content=content, headers={"Content-Type": content_type})
    except httpx.HTTPError as error:
        return Answer(503, f"The model server does not answer: {error or type(error).__name__}".encode(), {"Content-Type": "text/plain"})
    return Answer(answer.status_code, answer.content, {"Content-Type": answer.headers.get("content-type", "application/json")})


HANDLERS = {"projects.locations.endpoints.predict": predict, "projects.locations.endpoints.rawPredict": raw_predict}
