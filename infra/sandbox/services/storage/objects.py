"""Objects: uploads, downloads, versions, copies."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from infra.sandbox import lists
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Answer, Body, Call
from infra.sandbox.services.storage.checksum import crc32c
from infra.sandbox.services.storage.parts import HOST, LINK, PAGE, generation, precondition, refused, rfc3339_ms, there
from infra.sandbox.verbs import merge_patch

BYTES = "storage bytes"
"""Where the store has the objects' own bytes."""
UPLOADS = "storage uploads"
DOWNLOAD = "https://storage.googleapis.com/download/storage/v1/"
PART = re.compile(r"bytes (?:(?P<first>\d+)-\d+|\*)/(?P<size>\d+|\*)")
"""`Content-Range` of a part: `bytes 0-262143/*`; `bytes */1000` asks how much there is."""
RANGE = re.compile(r"bytes=(?P<first>\d*)-(?P<last>\d*)")
SERVER_SAYS = ("kind", "id", "selfLink", "bucket", "generation", "size", "md5Hash", "crc32c", "timeCreated", "mediaLink", "etag")


def insert(call: Call) -> Any:
    """An upload: `media`, `multipart`, or both halves of a `resumable` one."""
    kind = call.query.get("uploadType", "")
    if call.query.get("upload_id"):
        return _finish(call)
    there(call, _bucket(call))
    if kind == "resumable":
        return _begin(call)
    if kind == "multipart":
        meta, data, content_type = _parts(call)
        return _keep(call, _bucket(call)[2:], meta, data, content_type)
    if kind == "media":
        return _keep(call, _bucket(call)[2:], {}, call.media, call.content_type)
    return _keep(call, _bucket(call)[2:], call.body, b"", "")


def _begin(call: Call) -> Answer:
    """The first half: what the object is; its bytes come to the address that is answered."""
    number = call.cloud.uuid(call.cloud.store.next("ids"))
    call.cloud.store.put(UPLOADS, number, {"bucket": _bucket(call)[2:], "meta": call.raw, "query": dict(call.query)}, "")
    query = f"uploadType=resumable&upload_id={number}"
    return Answer(200, None, {"Location": f"/{HOST}/upload/storage/v1/{_bucket(call)}/o?{query}", "X-GUploader-UploadID": number})


def _finish(call: Call) -> Any:
    """
    Bytes of a resumable upload: all, or a part after which more come.

    Source: https://docs.cloud.google.com/storage/docs/performing-resumable-uploads, read 2026-11: 308, and how much there is.
    """
    number = call.query["upload_id"]
    begun = call.cloud.store.get(UPLOADS, number)
    if begun is None:
        raise refused(404, "Upload not found.")
    have = base64.b64decode(begun.get("base64", ""))
    said = PART.fullmatch(call.headers.get("content-range", ""))
    data = call.media
    if said is not None:
        if said["first"] is not None and int(said["first"]) > len(have):
            raise refused(503, "The bytes before these are missing.")
        data = have[: int(said["first"])] + call.media if said["first"] is not None else have
        if said["size"] == "*" or len(data) < int(said["size"]):
            call.cloud.store.put(UPLOADS, number, begun | {"base64": base64.b64encode(data).decode()}, "")
            return Answer(308, None, {"Range": f"bytes=0-{len(data) - 1}"} if data else {})
    call.cloud.store.delete(UPLOADS, number)
    call.query = begun["query"]
    return _keep(call, begun["bucket"], begun["meta"], data, "")


def _parts(call: Call) -> tuple[Body, bytes, str]:
    """`multipart/related`: what the object is as JSON, then its bytes."""
    boundary = next((word.strip()[9:].strip("\"'") for word in call.content_type.split(";") if word.strip().startswith("boundary=")), "")
    parts = call.media.split(b"--" + boundary.encode())[1:-1] if boundary else []
    if len(parts) != 2:
        raise invalid("Malformed multipart body.")
    meta, data = (part.removeprefix(b"\r\n").removeprefix(b"\n") for part in parts)
    head, gap, content = data.partition(b"\r\n\r\n")
    if not gap:
        head, _, content = data.partition(b"\n\n")
    lines = dict(line.split(":", 1) for line in head.decode("latin-1").lower().splitlines() if ":" in line)
    try:
        said = json.loads(meta[meta.index(b"{") :])
    except ValueError:
        raise invalid("Malformed multipart body.") from None
    return said, content.removesuffix(b"\n").removesuffix(b"\r"), lines.get("content-type", "").strip()


def _keep(call: Call, bucket: str, meta: Body, data: bytes, content_type: str) -> Body:
    """Makes an object, or a new version of one."""
    name = call.query.get("name") or meta.get("name", "")
    if not name:
        raise refused(400, "Required object name is missing.", "required")
    home = there(call, f"b/{bucket}")
    before = call.cloud.store.get(HOST, _key(bucket, name))
    _check(call, before)
    number, now = generation(call), rfc3339_ms(call)
    body = {key: value for key, value in meta.items() if key not in (*SERVER_SAYS, "name", "acl") and value is not None}
    body |= {
        "kind": "storage#object",
        "id": f"{bucket}/{name}/{number}",
        "selfLink": f"{LINK}b/{bucket}/o/{quote(name, safe='')}",
        "mediaLink": f"{DOWNLOAD}b/{bucket}/o/{quote(name, safe='')}?generation={number}&alt=media",
        "name": name,
        "bucket": bucket,
        "generation": number,
        "metageneration": "1",
        "storageClass": meta.get("storageClass") or home["storageClass"],
        "size": str(len(data)),
        "md5Hash": base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode(),
        "crc32c": crc32c(data),
        "etag": _etag(number, "1"),
        "timeCreated": now,
        "updated": now,
        "timeStorageClassUpdated": now,
        "timeFinalized": now,
    }
    body.setdefault("contentType", content_type or "application/octet-stream")
    if before is not None:
        _retire(call, before, home)
    call.cloud.store.put(HOST, _key(bucket, name), body, f"b/{bucket}/o")
    call.cloud.store.put(BYTES, f"{_key(bucket, name)}/{number}", {"base64": base64.b64encode(data).decode()})
    return body


def _retire(call: Call, body: Body, home: Body) -> None:
    """The live version stays as a noncurrent one where the bucket keeps versions, else it goes."""
    key = _key(body["bucket"], body["name"])
    call.cloud.store.delete(HOST, key)
    if home.get("versioning", {}).get("enabled"):
        old = body | {"timeDeleted": rfc3339_ms(call)}
        call.cloud.store.put(HOST, f"{key}#{body['generation']}", old, f"b/{body['bucket']}/o")
    else:
        call.cloud.store.delete(BYTES, f"{key}/{body['generation']}")


def get(call: Call) -> Any:
    """What an object is, or with `alt=media` its bytes."""
    body = _there(call)
    if call.query.get("ifGenerationNotMatch") == body["generation"] or call.query.get("ifMetagenerationNotMatch") == body["metageneration"]:
        return Answer(304, None)
    _check(call, body)
    if call.query.get("alt") != "media":
        return body
    headers = {
        "Content-Type": body.get("contentType", "application/octet-stream"),  # the default: Object.contentType in the discovery document
        "ETag": body["etag"],
        "X-Goog-Generation": body["generation"],
        "X-Goog-Metageneration": body["metageneration"],
        "X-Goog-Storage-Class": body["storageClass"],
        "X-Goog-Hash": f"crc32c={body['crc32c']},md5={body['md5Hash']}",
    }
    data = _bytes(call, body)
    wanted = RANGE.fullmatch(call.headers.get("range", ""))
    if wanted is None:
        return Answer(200, data, headers)
    if not wanted["first"]:  # the last bytes
        first, last = max(0, len(data) - int(wanted["last"] or 0)), len(data) - 1
    else:
        first, last = int(wanted["first"]), min(int(wanted["last"] or len(data)), len(data) - 1)
    if first >= len(data) or last < first:
        return Answer(416, b"Requested range not satisfiable", {"Content-Range": f"bytes */{len(data)}", "Content-Type": "text/plain"})
    return Answer(206, data[first : last + 1], headers | {"Content-Range": f"bytes {first}-{last}/{len(data)}"})


def list_(call: Call) -> Any:
    """Objects by name; with a delimiter, what is deeper is one prefix."""
    there(call, _bucket(call))
    if call.query.get("filter"):
        raise Refused(501, f"The sandbox does not read the filter of {call.method.id} yet: {call.query['filter']}", style="both")
    prefix, delimiter = call.query.get("prefix", ""), call.query.get("delimiter", "")
    versions = call.query.get("versions") == "true"
    begin, end = call.query.get("startOffset", ""), call.query.get("endOffset", "")
    found: dict[tuple[str, str], Body | str] = {}
    for _, body in call.cloud.store.items(HOST, f"{_bucket(call)}/o"):
        name = str(body["name"])
        if not name.startswith(prefix) or name < begin or (end and name >= end) or ("timeDeleted" in body and not versions):
            continue
        head, cut, _ = name[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
        if cut:
            found[(f"{prefix}{head}{cut}", "")] = f"{prefix}{head}{cut}"
        else:
            found[(name, body["generation"])] = body
    if delimiter and call.query.get("includeFoldersAsPrefixes", "").lower() == "true":
        found |= {(name, ""): name for name in _folders(call, prefix, delimiter)}
    rows = [{"row": found[key]} for key in sorted(found)]
    picked, more = lists.page(call, rows, PAGE)
    items = [item["row"] for item in picked if isinstance(item["row"], dict)]
    prefixes = [item["row"] for item in picked if isinstance(item["row"], str)]
    return {"kind": "storage#objects"} | ({"items": items} if items else {}) | ({"prefixes": prefixes} if prefixes else {}) | more


def _folders(call: Call, prefix: str, delimiter: str) -> Iterator[str]:
    """Folders and managed folders, as the prefixes that they are."""
    for collection in ("folders", "managedFolders"):
        for _, body in call.cloud.store.items(HOST, f"{_bucket(call)}/{collection}"):
            head, cut, _ = body["name"].removeprefix(prefix).partition(delimiter)
            if body["name"].startswith(prefix) and cut:
                yield f"{prefix}{head}{cut}"


def patch(call: Call) -> Any:
    before = _there(call)
    _check(call, before)
    return _change(call, before, merge_patch(before, call.raw, call.body))


def update(call: Call) -> Any:
    """PUT: what is not sent goes away."""
    before = _there(call)
    _check(call, before)
    kept = (*SERVER_SAYS, "name", "storageClass", "timeStorageClassUpdated", "timeFinalized", "contentType")
    return _change(call, before, {key: before[key] for key in kept} | call.body)


def _change(call: Call, before: Body, after: Body) -> Body:
    after |= {key: before[key] for key in (*SERVER_SAYS, "name")}
    after["metageneration"] = str(int(before["metageneration"]) + 1)
    after |= {"updated": rfc3339_ms(call), "etag": _etag(before["generation"], after["metageneration"])}
    call.cloud.store.put(HOST, _key(before["bucket"], before["name"], before if "timeDeleted" in before else None), after)
    return after


def delete(call: Call) -> Any:
    """The live version; a noncurrent one by its generation, and then for ever."""
    body = _there(call)
    _check(call, body)
    home = there(call, f"b/{body['bucket']}")
    if call.query.get("generation"):
        key = _key(body["bucket"], body["name"], body if "timeDeleted" in body else None)
        call.cloud.store.delete(HOST, key)
        call.cloud.store.delete(BYTES, f"{_key(body['bucket'], body['name'])}/{body['generation']}")
    else:
        _retire(call, body, home)
    return Answer(204, None)


def copy(call: Call) -> Any:
    return _copied(call, "/copyTo/")


def rewrite(call: Call) -> Any:
    """A copy, in one go whatever its size."""
    body = _copied(call, "/rewriteTo/")
    size = body["size"]
    return {"kind": "storage#rewriteResponse", "totalBytesRewritten": size, "objectSize": size, "done": True, "resource": body}


def move(call: Call) -> Any:
    source, _, target = call.owner.partition("/moveTo/")
    bucket = call.owner.split("/")[1]
    call.owner = source
    before = _there(call)
    made = _copied(call, "", f"b/{bucket}/{target}")
    _retire(call, before, there(call, f"b/{bucket}"))
    return made


def _copied(call: Call, word: str, target: str = "") -> Body:
    source = call.owner
    if word:
        source, _, target = call.owner.partition(word)
    call.owner = source
    before = _there(call, call.query.get("sourceGeneration", ""))
    _check(call, before, "Source")
    kept = {key: before[key] for key in ("contentType", "metadata", "cacheControl", "contentEncoding") if key in before}
    _, bucket, _, name = target.split("/", 3)
    call.query = {key: value for key, value in call.query.items() if key != "name"}
    return _keep(call, bucket, (kept | call.body) | {"name": name}, _bytes(call, before), "")


def compose(call: Call) -> Any:
    """One object of several, in the same bucket."""
    _, bucket, _, name = call.owner.split("/", 3)
    data = b""
    for source in call.body.get("sourceObjects", []):
        call.owner = f"b/{bucket}/o/{source.get('name', '')}"
        data += _bytes(call, _there(call, str(source.get("generation", ""))))
    return _keep(call, bucket, call.body.get("destination", {}) | {"name": name}, data, "")


def _there(call: Call, number: str | None = None) -> Body:
    """The object that the call names, in the version that it asks for."""
    _, bucket, _, name = call.owner.split("/", 3)
    there(call, f"b/{bucket}")
    wanted = call.query.get("generation", "") if number is None else number
    live = call.cloud.store.get(HOST, _key(bucket, name))
    if live is not None and wanted in ("", live["generation"]):
        return live
    old = call.cloud.store.get(HOST, f"{_key(bucket, name)}#{wanted}") if wanted else None
    if old is None:
        raise Refused(404, f"No such object: {bucket}/{name}", style="both")
    return old


def _check(call: Call, body: Body | None, side: str = "") -> None:
    """
    Holds the preconditions of the query against the live version; generation 0 is "there is none".

    Raises:
        Refused: One does not hold.
    """
    for field in ("generation", "metageneration"):
        have = body[field] if body else "0"
        word = field.capitalize()
        match, other = call.query.get(f"if{side}{word}Match"), call.query.get(f"if{side}{word}NotMatch")
        if (match is not None and match != have) or (other is not None and other == have):
            raise precondition()


def _bytes(call: Call, body: Body) -> bytes:
    kept = call.cloud.store.get(BYTES, f"{_key(body['bucket'], body['name'])}/{body['generation']}")
    assert kept is not None
    return base64.b64decode(kept["base64"])


def _bucket(call: Call) -> str:
    return "/".join(call.owner.split("/")[:2])


def _key(bucket: str, name: str, noncurrent: Body | None = None) -> str:
    """Name in the store. It is quoted: a name may hold a slash, and `a` is not what `a/b` is in."""
    key = f"b/{bucket}/o/{quote(name, safe='')}"
    return f"{key}#{noncurrent['generation']}" if noncurrent else key


def _etag(number: str, metageneration: str) -> str:
    return base64.b64encode(f"{number}/{metageneration}".encode()).decode()
