"""What is stored of a release, and what is held against it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.upgrade import store

CHANGELOG = """# Changelog

## 0.3.0 (2027-02-01)

- Upgrade: `gcp:storage/bucket:Bucket` is updated: it has a label more.

## 0.2.0 (2027-01-01)

- Upgrade: `gcp:compute/router:Router` is new.

## 0.1.0 (2026-12-01)

- Upgrade: `gcp:compute/network:Network` is updated.
"""
URN = "urn:pulumi:try::accelform::accelform:storage:Storage$gcp:storage/bucket:Bucket::data"


def preview(*ops: str) -> dict[str, object]:
    return {"steps": [{"op": op, "urn": URN, **({"replaceReasons": ["location"]} if "replace" in op else {})} for op in ops]}


@pytest.mark.parametrize(
    ("ops", "version", "found"),
    [
        (("same", "read", "refresh"), "0.2.0", []),
        (("update",), "0.2.0", []),
        (("create",), "0.1.0", []),
        (("update",), "0.3.0", ["update gcp:storage/bucket:Bucket data"]),
        (("delete",), "0.2.0", ["delete gcp:storage/bucket:Bucket data"]),
        (
            ("create-replacement", "replace"),
            "0.2.0",
            [f"{op} gcp:storage/bucket:Bucket data (location)" for op in ("create-replacement", "replace")],
        ),
    ],
)
def test_only_what_the_changelog_names_may_change(ops: tuple[str, ...], version: str, found: list[str]) -> None:
    """In a section newer than the version that made it; and nothing may be made anew or deleted, whatever it says."""
    assert store.broken(store.changes(preview(*ops)), CHANGELOG, version) == found


def test_the_same_stack_is_stored_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the port, the moment, the order and the numbers that somebody made up."""
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    parent = "urn:pulumi:try::accelform::pulumi:pulumi:Stack::accelform-try"

    def export(port: int, moment: str, number: str, *, turned: bool) -> dict[str, object]:
        stack = {"urn": parent, "type": "pulumi:pulumi:Stack", "custom": False, "created": moment}
        bucket = {
            "urn": URN,
            "type": "gcp:storage/bucket:Bucket",
            "parent": parent,
            "id": number,
            "outputs": {"selfLink": f"http://127.0.0.1:{port}/b", "etag": number, "time": moment, "digest": 64 * "0"},
        }
        other = bucket | {"urn": f"{URN}-2", "dependencies": [URN]}
        manifest = {"time": moment, "magic": "m", "version": "v3"}
        resources = [stack, other, bucket] if turned else [stack, bucket, other]
        return {"version": 3, "deployment": {"manifest": manifest, "resources": resources, "secrets_providers": {"salt": number}}}

    one = store.write(
        export(1234, "2026-12-01T01:02:03Z", "f2a7a51c-6a1b-4c3e-9d5e-0123456789ab", turned=False), "try", "1.0.0", "http://127.0.0.1:1234"
    )
    first = one.read_bytes()
    two = store.write(
        export(9, "2027-01-01T01:02:03.5Z", "00a7a51c-6a1b-4c3e-9d5e-0123456789ab", turned=True), "try", "1.0.0", "http://127.0.0.1:9"
    )
    assert (one, first) == (two, two.read_bytes())
    kept = store.read(two, "http://127.0.0.1:77")
    _, bucket, other = kept["deployment"]["resources"]
    assert bucket["outputs"] == {"selfLink": "http://127.0.0.1:77/b", "etag": "0", "time": "2026-12-01T00:00:00Z", "digest": 64 * "0"}
    assert (bucket["id"], other["dependencies"]) == ("00000000-0000-4000-8000-000000000000", [URN])
    assert "secrets_providers" not in json.dumps(kept)
    assert gzip.decompress(first)


def test_every_example_is_stored() -> None:
    """By each version that is: a new example is stored with the next release."""
    versions = {one.version for one in store.stored()}
    assert versions
    assert {one.stack for one in store.stored()} <= store.examples().keys()
