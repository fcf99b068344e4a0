"""One JSON object in a bucket that several may write: each write names the generation that it read, so nobody's is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from infra.provider import google_client
from infra.provider.calls import ATTEMPTS, FIRST_BACKOFF_SECONDS, GoogleError, UnclearError
from infra.provider.google import NOT_THERE, Google
from infra.provider.server import ProviderError

API = "storage.v1"
CHANGED = 412
"""Source: Cloud Storage's page "Request preconditions": `ifGenerationMatch` that does not hold answers 412; 0 means that there is none."""

Data = dict[str, Any]


class ChangedError(ProviderError):
    """Somebody else wrote it since it was read."""


class JsonObject:
    """
    The object.

    Args:
        google: Google's APIs.
        address: `gs://BUCKET/NAME`.

    Raises:
        ProviderError: The address is none.
    """

    def __init__(self, google: Google, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme != "gs" or not parts.netloc or not parts.path.strip("/"):
            raise ProviderError(f"{address!r} is not the address of an object\n  allowed: gs://BUCKET/NAME")
        self.address = address
        self._google = google
        self._bucket = parts.netloc
        self._name = parts.path.lstrip("/")

    def read(self) -> tuple[int, Data]:
        """
        Generation and content; 0 and nothing where there is no such object, or no such bucket yet.

        Raises:
            ProviderError: It cannot be read.
        """
        for _ in range(ATTEMPTS):
            try:
                found = self._google.call(API, "objects.get", bucket=self._bucket, object=self._name, fields="generation")
                generation = str(found["generation"])
                content = self._google.content(API, "objects.get_media", bucket=self._bucket, object=self._name, generation=generation)
            except GoogleError as error:
                if error.code != NOT_THERE:
                    raise
                # The one that was just found may be gone, since another took its place.
                if not self._is_there():
                    return 0, {}
                continue
            return int(generation), self._read(content)
        raise ProviderError(f"{self.address}: is written so often that it cannot be read")

    def write(self, content: Data, generation: int) -> int:
        """
        Writes it, if it still is of the *generation* that was read, and says the new one.

        Raises:
            ChangedError: It is not.
            UnclearError: Whether it was written is not known.
        """
        google_client.quickly()
        from googleapiclient.http import MediaInMemoryUpload

        data = json.dumps(content, indent=1, sort_keys=True).encode()
        try:
            made = self._google.call(
                API,
                "objects.insert",
                bucket=self._bucket,
                name=self._name,
                ifGenerationMatch=str(generation),
                media_body=MediaInMemoryUpload(data, mimetype="application/json"),
            )
        except GoogleError as error:
            if error.code == CHANGED:
                raise ChangedError(f"{self.address}: somebody else wrote it meanwhile") from None
            raise
        return int(made["generation"])

    def change(self, changed: Callable[[Data], Data | None]) -> Data:
        """
        Changes the content, anew where somebody else was faster.

        Args:
            changed: The new content; None where it may stay as it is. After a lost answer it is asked again: what was written stays then.

        Raises:
            ProviderError: It cannot be read, or written.
        """
        backoff = FIRST_BACKOFF_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            generation, before = self.read()
            after = changed(json.loads(json.dumps(before)))
            if after is None or after == before:
                return before
            try:
                self.write(after, generation)
                return after
            except (ChangedError, UnclearError):
                if attempt == ATTEMPTS:
                    raise
            self._google.wait(backoff)
            backoff *= 2
        raise AssertionError("every attempt returns, raises or is followed by another")

    def _read(self, content: bytes) -> Data:
        """
        Raises:
            ProviderError: It is something else. That it holds nothing is not known then.
        """
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ProviderError(f"{self.address}: is no JSON object\n  fix: mend it, or remove it: then it holds nothing")
        return found

    def _is_there(self) -> bool:
        return self._google.found(API, "objects.get", bucket=self._bucket, object=self._name, fields="generation") is not None
