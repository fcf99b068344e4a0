"""What all of Cloud Storage does alike: its moments and generations, preconditions, merges, refusals."""

from __future__ import annotations

from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call

HOST = "storage.googleapis.com"
LINK = "https://www.googleapis.com/storage/v1/"
PAGE = 1000
"""Items of a page where nobody says how many. Source: `maxResults` in the discovery document."""


def there(call: Call, name: str = "") -> Body:
    """A bucket, by its name `b/NAME`.

    Raises:
        Refused: There is none.
    """
    body = call.cloud.store.get(HOST, name or call.owner)
    if body is None:
        raise Refused(404, "The specified bucket does not exist.", style="errors")
    return body


def refused(code: int, message: str, reason: str = "") -> Refused:
    return Refused(code, message, reason=reason)


def check_metageneration(call: Call, body: Body) -> None:
    """
    Raises:
        Refused: `ifMetagenerationMatch` or `ifMetagenerationNotMatch` does not hold.
    """
    match, other = call.query.get("ifMetagenerationMatch"), call.query.get("ifMetagenerationNotMatch")
    if (match is not None and match != body["metageneration"]) or (other is not None and other == body["metageneration"]):
        raise precondition()


def precondition() -> Refused:
    """Source: Google's page on status codes of the JSON API."""
    return refused(412, "At least one of the pre-conditions you specified did not hold.", "conditionNotMet")


def generation(call: Call) -> str:
    """Microseconds since 1970, never twice."""
    return str(int(call.now * 1_000_000) + call.cloud.store.next("generations"))


def rfc3339_ms(call: Call) -> str:
    """Cloud Storage writes milliseconds. Source: recordings."""
    return rfc3339(call.now)[:-4] + "Z"
