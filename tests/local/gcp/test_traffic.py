"""The provider makes the calls that the official one was recorded to make, and keeps what it kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import echo
import pytest

from infra.local.gcp import types
from infra.provider.values import Decoded
from infra.wire import HIDDEN, SIGNATURE

RECORDED = Path(__file__).parents[4] / "shared" / "provider-traffic"
WITHOUT = "the recordings are not on this machine: ../shared/provider-traffic"

IGNORED = {"etag", "fingerprint", "metadataFingerprint", "tagsFingerprint", "labelFingerprint"}
"""What a server makes up, and the echo of the recording did in its own way."""

ECHOED = {"source", "mode", "deviceName", "index", "type", "interface", "networkIP", "initializeParams", "diskSizeGb"}
"""What the echo wrote into an instance's recorded disks and cards, after the request: there nothing is compared."""

WRITTEN = {"addressType", "calendarPeriod", "metadataFields"}
"""What the recording's echo was not sent, or sent empty, and so answered otherwise than Google does."""

UNANSWERED = {"gcp:container/cluster:Cluster": {"network", "subnetwork"}}
"""Inputs that the recording's echo did not answer where Google does."""

NO_SECRET = {SIGNATURE: HIDDEN, "plaintext": '""'}
"""How the recording has a secret that was not written."""

NOT_HERE = {"gcp:cloudrunv2/service:Service", "gcp:secretmanager/secret:Secret", "gcp:secretmanager/secretVersion:SecretVersion"}
"""Recorded types that no stack declares, of services that the table has in part: secrets are their owners', who write their values."""

ALWAYS: dict[str, dict[str, Any]] = {
    "gcp:billing/budget:Budget": {},
    "gcp:compute/backendService:BackendService": {"fingerprint": "abc="},
    "gcp:compute/globalAddress:GlobalAddress": {"address": "203.0.113.9"},
    "gcp:compute/healthCheck:HealthCheck": {},
    "gcp:compute/instance:Instance": {
        "status": "RUNNING",
        "cpuPlatform": "x",
        "labelFingerprint": "l=",
    },
    "gcp:compute/instanceGroupManager:InstanceGroupManager": {
        "fingerprint": "abc=",
        "instanceGroup": "http://127.0.0.1:1/compute.googleapis.com/compute/v1/projects/shop-prod/zones/us-east5-a/instanceGroups/tpu-mig",
        "status": {"isStable": True, "allInstancesConfig": {"effective": True}, "versionTarget": {"isReached": True}},
    },
    "gcp:compute/resizeRequest:ResizeRequest": {"state": "ACCEPTED"},
    "gcp:compute/targetHttpProxy:TargetHttpProxy": {"fingerprint": "abc="},
    "gcp:compute/targetHttpsProxy:TargetHttpsProxy": {"fingerprint": "abc="},
    "gcp:compute/securityPolicy:SecurityPolicy": {"fingerprint": "abc="},
    "gcp:compute/uRLMap:URLMap": {"fingerprint": "abc="},
    "gcp:serviceaccount/account:Account": {"uniqueId": "1", "etag": "e1"},
    "gcp:tpu/v2Vm:V2Vm": {"state": "READY", "health": "HEALTHY", "networkEndpoints": [{"ipAddress": "10.0.0.2", "port": 8470}]},
    "gcp:monitoring/dashboard:Dashboard": {"etag": "e1"},
    "gcp:container/cluster:Cluster": {
        "currentMasterVersion": "1.34.1-gke.1",
        "currentNodeVersion": "1.34.1-gke.1",
        "endpoint": "203.0.113.7",
        "masterAuth": {"clusterCaCertificate": "Zm9v"},
        "status": "RUNNING",
    },
    "gcp:container/nodePool:NodePool": {"status": "RUNNING", "version": "1.34.1-gke.1"},
}
"""What the recording's echo answered besides what it was sent."""


def recorded() -> list[Any]:
    """The cases of the table's types. Where there are no recordings, one case that says so."""
    if not RECORDED.is_dir():
        return [pytest.param(None, marks=pytest.mark.skip(reason=WITHOUT))]
    cases = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RECORDED.glob("*.json")) if path.name != "schema-facts.json"]
    return [pytest.param(case, id=case["id"]) for case in cases if case["type"] in types.TABLE]


def test_every_recorded_type_of_the_services_is_in_the_table() -> None:
    """Nothing of the services that the sandbox has was left out."""
    if not RECORDED.is_dir():
        pytest.skip(WITHOUT)
    services = {token.partition("/")[0] for token in types.TABLE}
    paths = (path for path in RECORDED.glob("*.json") if path.name != "schema-facts.json")
    tokens = {json.loads(path.read_text(encoding="utf-8"))["type"] for path in paths}
    assert {token for token in tokens - NOT_HERE if token.partition("/")[0] in services} <= types.TABLE.keys()


@pytest.mark.parametrize("case", recorded())
def test_is_as_recorded(case: dict[str, Any]) -> None:
    """Check, calls, id and outputs are the recorded ones; a refresh finds no drift; an update replaces nothing."""
    assert list(differences(case)) == []


def differences(case: dict[str, Any]) -> Iterator[str]:
    """What the provider does otherwise than the recording, in words."""
    token = case["type"]
    google = _google(case)
    driver = echo.Driver(google)
    inputs = driver.checked(token, case["inputs"])
    if "checked_inputs" in case:
        yield from _differ("checked", case["checked_inputs"], inputs)
    made = driver.create(token, inputs)
    if "pulumi_id" not in case:  # the recording ends with the first call
        yield from _calls("create", case["create"], google.taken()[:1])
        return
    yield from _calls("create", case["create"], google.taken())
    yield from _differ("id", case["pulumi_id"], made.id)
    state = Decoded(made.properties).values
    yield from _outputs(case["outputs"], state)
    read = driver.read(token, made.id, state, inputs)
    yield from _calls("read", case["read"], google.taken())
    unsaid = UNANSWERED.get(token, set())
    refreshed = {name: value for name, value in Decoded(read.inputs).values.items() if name not in unsaid}
    yield from _differ("refreshed inputs", {name: value for name, value in inputs.items() if name not in unsaid}, refreshed)
    yield from _differ("refreshed outputs", state, Decoded(read.properties).values)
    if "updated_inputs" in case and "replace" not in case["update_result"]:
        new = driver.checked(token, case["updated_inputs"])
        diff = driver.diff(token, inputs, new)
        yield from _differ("replaces", [], list(diff.replaces))
        state = Decoded(driver.update(token, made.id, state, inputs, new).properties).values
        yield from _calls("update", case["update"], google.taken())
        yield from _differ("inputs after the update", new, Decoded(driver.read(token, made.id, state, new).inputs).values)
        google.taken()
    driver.delete(token, made.id, state)
    yield from _calls("delete", case["delete"], google.taken())


def _google(case: dict[str, Any]) -> echo.Echo:
    statuses = {
        (call["method"], call["path"]): call["status"]
        for kind in ("create", "read", "delete")
        for call in case.get(kind, [])
        if call["status"] != 200 and (call["method"], call["status"]) != ("GET", 404)
    }
    google = echo.Echo(ALWAYS.get(case["type"], {}), statuses)
    if types.TABLE[case["type"]].named_by_google:
        google.named = case["pulumi_id"]
    if case["type"] == "gcp:projects/service:Service":
        google.kept["v1/projects/shop-prod"] = {}
    if case["type"] == "gcp:container/nodePool:NodePool":
        google.kept[case["create"][0]["path"].partition("/nodePools/")[0]] = {"status": "RUNNING"}
    for call in case["create"]:
        if call["method"] == "GET" and "/routers/" in call["path"]:
            google.kept[call["path"]] = {}
    return google


def _calls(kind: str, wanted: list[dict[str, Any]], made: list[echo.Call]) -> Iterator[str]:
    was = [f"{call['method']} {call['path']}" for call in wanted]
    found = [f"{call.method} {call.path}" for call in made]
    if was != found:
        yield f"{kind}: calls {was}, made {found}"
        return
    for before, call in zip(wanted, made, strict=True):
        yield from _differ(f"{kind}: service of {call.path}", before["service"], call.service)
        yield from _differ(f"{kind}: query of {call.path}", before.get("query", {}), call.query)
        yield from _differ(f"{kind}: body of {call.method} {call.path}", before.get("body") or {}, call.body or {})


def _outputs(wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    yield from _differ("names of outputs", sorted(wanted), sorted(found))
    for name, value in wanted.items():
        if not _alike(value, found.get(name), name):
            yield f"output {name}: {value!r}, got {found.get(name)!r}"


def _differ(what: str, wanted: Any, found: Any) -> Iterator[str]:
    if _plain(wanted) != _plain(found):
        yield f"{what}: {_plain(wanted)!r}, got {_plain(found)!r}"


def _plain(value: Any, key: str = "") -> Any:
    """A value without what a server makes up."""
    if isinstance(value, dict):
        ignored = IGNORED | (ECHOED if key == "disks" else {"name", "networkIP", "network"} if key == "networkInterfaces" else set())
        return {name: _plain(part, name) for name, part in value.items() if name not in ignored}
    if isinstance(value, list):
        return [_plain(part, key) for part in value]
    return re.sub(r"http://127\.0\.0\.1:\d+/", f"{echo.BASE}/", value) if isinstance(value, str) else value


def _alike(wanted: Any, found: Any, name: str) -> bool:
    """Whether two outputs are the same: null, zero and the empty string are three things, and a number is no string."""
    if name in IGNORED | WRITTEN or (wanted == NO_SECRET and found == ""):
        return True
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(_alike(wanted.get(key), found.get(key), key) for key in {*wanted, *found})
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) == len(found) and all(_alike(a, b, "") for a, b in zip(_sorted(wanted), _sorted(found), strict=True))
    return bool(_plain(wanted) == _plain(found)) and isinstance(wanted, bool) is isinstance(found, bool)


def _sorted(value: list[Any]) -> list[Any]:
    return sorted(value, key=lambda part: part["id"]) if value and isinstance(value[0], dict) and "id" in value[0] else value
