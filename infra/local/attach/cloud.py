"""What the hands ask the sandbox, over HTTP."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx

from infra.errors import MachineError
from infra.local.attach.lines import Speaker
from infra.sandbox.endpoints import is_local

SECONDS = 30.0
COMPUTE = "compute.googleapis.com/compute/v1"
TPU = "tpu.googleapis.com/v2"
RUN = "run.googleapis.com/v2"
VERTEX = "aiplatform.googleapis.com/v1"


class Sandbox:
    """A sandbox that answers at an address of this machine."""

    def __init__(self, base: str) -> None:
        """
        Raises:
            MachineError: It is no address of this machine: nothing of a real cloud is attached to.
        """
        if not is_local(base):
            raise MachineError(f"{base!r} is no address of this machine\n  fix: name a sandbox's, such as http://127.0.0.1:9555")
        self.base = base.rstrip("/")
        self._http = httpx.Client(timeout=SECONDS, trust_env=False, verify=False)  # noqa: S501 - plain HTTP of this machine

    def close(self) -> None:
        self._http.close()

    def own(self, http: str, what: str, body: Any = None) -> Any:
        """The sandbox's own: `own("GET", "machines")`."""
        return self._asked(http, f"sandbox/{what}", body)

    def machine(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        """A machine of the ledger, as its service answers it; None where it is gone."""
        root = {"node": TPU, "custom-job": VERTEX}.get(entry["kind"], COMPUTE)
        found: dict[str, Any] | None = self._asked("GET", f"{root}/{entry['name']}", missing=True)
        return found

    def endpoints(self) -> list[dict[str, Any]]:
        """Every endpoint that has something deployed."""
        found: list[dict[str, Any]] = self.own("GET", "deployed")["endpoints"]
        return found

    def version(self, deployed: dict[str, Any]) -> dict[str, Any]:
        """The version of a model that is deployed."""
        found: dict[str, Any] = self._asked("GET", f"{VERTEX}/{deployed['model']}@{deployed['modelVersionId']}")
        return found

    def cancel(self, execution: str) -> None:
        """Ends an execution of a Cloud Run job."""
        self._asked("POST", f"{RUN}/{execution}:cancel", {}, missing=True)

    def write(self, location: str, body: dict[str, Any]) -> None:
        """An object of JSON: `gs://BUCKET/NAME`."""
        bucket, _, name = location.removeprefix("gs://").partition("/")
        path = f"storage.googleapis.com/upload/storage/v1/b/{quote(bucket, safe='')}/o?uploadType=media&name={quote(name, safe='')}"
        self._asked("POST", path, body)

    def log(self, speaker: Speaker, lines: list[str]) -> None:
        """Lines of a container, in the sandbox's Cloud Logging."""
        body = {
            "logName": f"projects/{speaker.project}/logs/{quote(speaker.log, safe='')}",
            "resource": speaker.resource,
            "labels": speaker.labels,
            "entries": [speaker.entry(line) for line in lines],
        }
        self._asked("POST", "logging.googleapis.com/v2/entries:write", body, missing=True)

    def _asked(self, http: str, path: str, body: Any = None, *, missing: bool = False) -> Any:
        """
        Raises:
            MachineError: It does not answer, or refuses.
        """
        content = None if body is None else json.dumps(body).encode()
        try:
            answer = self._http.request(http, f"{self.base}/{path}", content=content, headers={"Content-Type": "application/json"})
        except httpx.HTTPError as error:
            said = str(error) or type(error).__name__
            raise MachineError(f"the sandbox at {self.base} does not answer: {said}\n  fix: accelform sandbox start") from None
        if missing and answer.status_code == 404:
            return None
        if answer.status_code >= 400:
            raise MachineError(f"the sandbox refuses {http} {path}: {answer.text[:500]}")
        return answer.json() if answer.content else None
