"""
What clients of Cloud Storage ask for that were told `STORAGE_EMULATOR_HOST`: they put no host into the path, and read objects by the XML
API's addresses. The engine's own backend `gs://` is one.

Source: cloud.google.com/go/storage 1.64, `newHTTPStorageClient` and `newRangeReaderXML`; gocloud.dev, `blob/gcsblob`; read 2026-12.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote

HOST = "storage.googleapis.com"
JSON_API = ("storage", "upload", "download")
"""First words of the JSON API's paths; no bucket's object is read by them, since the API's own version follows."""
VARIABLE = "STORAGE_EMULATOR_HOST"


def environment(base: str) -> dict[str, str]:
    """Variables with which Google's Go client, and so the engine's `gs://`, works on the sandbox at *base*."""
    return {VARIABLE: base.partition("://")[2]}


def asked(http: str, host: str, path: str, query: Mapping[str, str]) -> tuple[str, str, Mapping[str, str]]:
    """
    Host, path and query as everybody else sends them.

    Args:
        host: First word of the path: of such a client no host, but a bucket or the API's first word.
    """
    if host in JSON_API:
        return HOST, f"{host}/{path}", query
    if http == "GET" and path and "." not in host:
        return HOST, f"storage/v1/b/{host}/o/{quote(unquote(path), safe='')}", {**query, "alt": "media"}
    return host, path, query
