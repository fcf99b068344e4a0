"""A refusal, in the words and in the shape that each of Google's services has for one."""

from __future__ import annotations

from typing import Any, Literal

Style = Literal["status", "errors", "both", "kubernetes"]
"""Which of `status` and `errors` a service's error body has: most have a status only, compute and storage a list only, some both; an API
server of Kubernetes has an object of its own."""

STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}
REASON = {
    400: "badRequest",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "alreadyExists",
    412: "conditionNotMet",
    429: "rateLimitExceeded",
    500: "internalError",
    501: "notImplemented",
    503: "backendError",
}
CODE = {
    "CANCELLED": 1,
    "UNKNOWN": 2,
    "INVALID_ARGUMENT": 3,
    "DEADLINE_EXCEEDED": 4,
    "NOT_FOUND": 5,
    "ALREADY_EXISTS": 6,
    "PERMISSION_DENIED": 7,
    "RESOURCE_EXHAUSTED": 8,
    "FAILED_PRECONDITION": 9,
    "ABORTED": 10,
    "OUT_OF_RANGE": 11,
    "UNIMPLEMENTED": 12,
    "INTERNAL": 13,
    "UNAVAILABLE": 14,
    "DATA_LOSS": 15,
    "UNAUTHENTICATED": 16,
}
"""Number of a status inside an operation's error. Source: google/rpc/code.proto."""


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault
    """An HTTP error answer."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        status: str = "",
        reason: str = "",
        details: list[dict[str, Any]] | None = None,
        style: Style | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status or STATUS[code]
        self.reason = reason or REASON[code]
        self.details = details
        self.style = style
        """Where one resource answers unlike its service."""
        self.waits = 0.0
        """Virtual seconds after which the same call would be taken: an automatic clock moves on by them, as who was refused would wait."""

    def body(self, style: Style) -> dict[str, Any]:
        style = self.style or style
        if style == "kubernetes":
            said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
            return said | {"message": self.message, "reason": self.reason, "code": self.code}
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if style != "status":
            error["errors"] = [{"message": self.message, "domain": "global", "reason": self.reason}]
        if style != "errors":
            error["status"] = self.status
        if self.details:
            error["details"] = self.details
        return {"error": error}


def invalid(message: str, field: str = "", description: str = "") -> Refused:
    """A body or parameter that is not what it may be."""
    details = None
    if description or field:
        violation = {"description": description or message} | ({"field": field} if field else {})
        details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]
    return Refused(400, message, details=details)


def rpc_error(status: str, message: str, **more: Any) -> dict[str, Any]:
    """An error inside an operation; *more* is read by the service's own shape of one."""
    return {"code": CODE[status], "message": message, "status": status} | more


def no_entity(*_: Any) -> Refused:
    """The words of many services. Source: recorded traffic, 2026-08."""
    return Refused(404, "Requested entity was not found.")


def same_entity(*_: Any) -> Refused:
    """The words of many services. Source: recorded traffic, 2026-08."""
    return Refused(409, "Requested entity already exists")
