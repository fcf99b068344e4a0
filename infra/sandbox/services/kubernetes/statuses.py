"""
Refusals of a Kubernetes API server: `Status` objects.

Source of shapes and words: k8s.io/apimachinery, `pkg/api/errors`, and the validation of k8s.io/kubernetes, release 1.35.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from infra.sandbox.refused import Refused, Style
from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes.kinds import Kind

Cause = tuple[str, str, str]
"""Reason, message and field."""


class Failure(Refused):
    """An answer of the API server that refuses."""

    def __init__(self, code: int, reason: str, message: str, details: Body | None = None) -> None:
        super().__init__(code, message, status="UNKNOWN", reason=reason or "Unknown")
        self.reason = reason
        self.said = details

    def body(self, style: Style) -> Body:
        return status(self.code, self.reason, self.message, self.said)


def status(code: int, reason: str, message: str, details: Body | None = None) -> Body:
    """A `Status` that says no."""
    found: Body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    return found | ({"reason": reason} if reason else {}) | ({"details": details} if details else {}) | {"code": code}


def success(kind: Kind, body: Body) -> Body:
    """What a delete answers whose object is gone."""
    details = _details(kind, body["metadata"]["name"]) | {"uid": body["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _details(kind: Kind, name: str) -> Body:
    return {"name": name} | ({"group": kind.group} if kind.group else {}) | {"kind": kind.plural}


def qualified(kind: Kind) -> str:
    """`deployments.apps`, `pods`."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def not_found(kind: Kind, name: str) -> Failure:
    return Failure(404, "NotFound", f'{qualified(kind)} "{name}" not found', _details(kind, name))


def no_page() -> Failure:
    """A path, a group or a kind that the server does not have."""
    return Failure(404, "NotFound", "the server could not find the requested resource", {})


def exists(kind: Kind, name: str) -> Failure:
    return Failure(409, "AlreadyExists", f'{qualified(kind)} "{name}" already exists', _details(kind, name))


def conflict(kind: Kind, name: str, why: str) -> Failure:
    return Failure(409, "Conflict", f'Operation cannot be fulfilled on {qualified(kind)} "{name}": {why}', _details(kind, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def forbidden(kind: Kind, name: str, why: str, causes: Sequence[Cause] = ()) -> Failure:
    details = _details(kind, name) | ({"causes": [_cause(one) for one in causes]} if causes else {})
    return Failure(403, "Forbidden", f'{qualified(kind)} "{name}" is forbidden: {why}', details)


def bad_request(message: str) -> Failure:
    return Failure(400, "BadRequest", message)


def unsupported_media(allowed: Sequence[str]) -> Failure:
    said = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(allowed)
    return Failure(415, "UnsupportedMediaType", said)


def not_allowed() -> Failure:
    return Failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def absent(what: str) -> Failure:
    """What a real API server does, and the sandbox does not."""
    return Failure(501, "NotImplemented", f"The sandbox does not have {what} of a Kubernetes API server.")


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> Failure:
    """A 422: all that is wrong, at once."""
    said = [f"{field}: {message}" for _, message, field in causes]
    words = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    title = f"{kind.name}.{kind.group}" if kind.group else kind.name
    details: Body = {"name": name} | ({"group": kind.group} if kind.group else {}) | {"kind": kind.name}
    details["causes"] = [_cause(one) for one in causes]
    return Failure(422, "Invalid", f'{title} "{name}" is invalid: {words}', details)


def value(field: str, got: Any, why: str) -> Cause:
    """A value that is not what it may be."""
    shown = json.dumps(got, separators=(",", ":"), ensure_ascii=False)
    return ("FieldValueInvalid", f"Invalid value: {shown}: {why}", field)


def required(field: str, why: str = "") -> Cause:
    return ("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def forbids(field: str, why: str) -> Cause:
    return ("FieldValueForbidden", f"Forbidden: {why}", field)


def _cause(cause: Cause) -> Body:
    reason, message, field = cause
    return {"reason": reason, "message": message, "field": field}
