"""One model in Vertex AI's registry: its versions, the uploads that run, the names that versions go by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from infra.provider.calls import GoogleError, OperationError, UnclearError
from infra.provider.google import Google

API = "aiplatform.v1"
MODELS = "projects.locations.models"
DEFAULT = "default"
"""The alias that exactly one version has: it can be moved and not taken away."""

Version = dict[str, Any]


class Registry:
    """
    One model, which may not be there yet.

    Args:
        google: Google's APIs.
        project: Its project's id.
        location: Its region.
        model_id: Its own id.
        seconds: How long an upload may take, where the program says so.
    """

    def __init__(self, google: Google, project: str, location: str, model_id: str, seconds: float | None = None) -> None:
        self.google = google
        self.location = location
        self.model_id = model_id
        self.parent = f"projects/{project}/locations/{location}"
        self.name = f"{self.parent}/models/{model_id}"
        self.seen: list[Version] = []
        """The versions, as they were last read."""
        self.pending = False
        """Whether an upload may run whose end was not seen."""
        self._seconds = seconds

    def versions(self) -> list[Version]:
        """Every version, oldest first; none where there is no model."""
        try:
            found = self.google.pages(API, f"{MODELS}.listVersions", "models", place=self.location, name=self.name)
        except GoogleError as error:
            if error.code != 404:
                raise
            found = []
        self.seen = sorted(found, key=lambda one: int(one["versionId"]))
        return self.seen

    def version(self, version_id: str) -> Version:
        return self._call("get", name=f"{self.name}@{version_id}")

    def uploads(self) -> list[dict[str, Any]]:
        """Uploads into this model that have not ended, whoever began them."""
        try:
            every = self.google.pages(API, f"{MODELS}.operations.list", "operations", place=self.location, name=self.name)
        except GoogleError as error:
            if error.code != 404:
                raise
            return []
        return [one for one in every if not one.get("done") and "UploadModel" in one.get("metadata", {}).get("@type", "")]

    def await_uploads(self) -> bool:
        """
        Waits for uploads that run, also for those that fail; whether there were any.

        Raises:
            OperationError: One has not ended in time.
        """
        running = self.uploads()
        for operation in running:
            try:
                self._ended(operation)
            except OperationError:
                if self.pending:
                    raise
        return bool(running)

    def upload(self, model: Version) -> str:
        """
        Uploads a version, the first where there is no model yet; its id.

        Raises:
            UnclearError: It may have begun.
            OperationError: It failed, or has not ended in time.
        """
        where = {"parentModel": self.name} if self.seen else {"modelId": self.model_id}
        try:
            operation = self._call("upload", parent=self.parent, body={"model": model, **where})
        except UnclearError:
            self.pending = True
            raise
        return str(self._ended(operation)["modelVersionId"])

    def _ended(self, operation: dict[str, Any]) -> dict[str, Any]:
        self.pending = True
        try:
            response = self.google.finished(API, operation, place=self.location, seconds=self._seconds)
        except OperationError:
            self.pending = any(one["name"] == operation["name"] for one in self.uploads())
            raise
        self.pending = False
        return response

    def patch(self, version: Version, fields: Version) -> Version:
        """Sets fields of a version, if nobody changed it since it was read."""
        etag = {"etag": version["etag"]} if "etag" in version else {}
        name = f"{self.name}@{version['versionId']}"
        return self._call("patch", name=name, updateMask=",".join(sorted(fields)), body=fields | etag)

    def merge(self, version_id: str, aliases: Iterable[str]) -> None:
        """Gives aliases to a version, whichever had them before; with `-` in front it takes them away."""
        if asked := sorted(aliases):
            name = f"{self.name}@{version_id}"
            self._call("mergeVersionAliases", name=name, body={"versionAliases": asked}, safe=True)  # twice is as good as once

    def delete_version(self, version_id: str) -> None:
        self._gone("deleteVersion", f"{self.name}@{version_id}")

    def delete(self) -> None:
        """Deletes the model with all its versions."""
        self._gone("delete", self.name)

    def holders(self, version_id: str = "") -> list[str]:
        """
        Endpoints on which a version, or any, is deployed by their own account. What the model says of it lags behind.

        An endpoint that may not be read counts: the model names it.
        """
        refs = {
            (ref["endpoint"], ref.get("deployedModelId", ""))
            for one in self.seen
            if version_id in ("", one["versionId"])
            for ref in one.get("deployedModels", [])
        }
        return sorted({endpoint for endpoint, deployed in refs if self._holds(endpoint, deployed)})

    def _holds(self, endpoint: str, deployed: str) -> bool:
        place = endpoint.split("/")[3]  # a model may be deployed in another location than its own
        try:
            found = self.google.call(API, "projects.locations.endpoints.get", place=place, name=endpoint)
        except GoogleError as error:
            if error.code == 403:
                return True
            if error.code == 404:
                return False
            raise
        return any(one.get("id") == deployed for one in found.get("deployedModels", []))

    def _gone(self, verb: str, name: str) -> None:
        try:
            operation = self._call(verb, name=name)
        except GoogleError as error:
            if error.code != 404:
                raise
        else:
            self.google.finished(API, operation, place=self.location, seconds=self._seconds)

    def _call(self, verb: str, **arguments: Any) -> dict[str, Any]:
        return self.google.call(API, f"{MODELS}.{verb}", place=self.location, **arguments)


def aliases_of(versions: Iterable[Version]) -> dict[str, str]:
    """Which version each alias names."""
    return {alias: one["versionId"] for one in versions for alias in sorted(one.get("versionAliases", []))}
