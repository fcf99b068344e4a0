"""Google Cloud as a transport that answers canned JSON, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httplib2
import pytest

from infra.findings import Found
from infra.operate import policies
from infra.operate.doctor_cloud import CloudNeeds, TpuNeed, inspect

PROJECT = "tw-shop-ml"
ACCOUNT = "billingAccounts/01ABCD-23EFGH-45IJKL"


class Cloud:
    """Answers by path; a callable answer is called with the request's body, an exception is raised."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []
        self.queries: dict[str, str] = {}
        self._lock = threading.Lock()

    def __call__(self) -> Cloud:
        return self

    def request(self, uri: str, method: str = "GET", body: Any = None, **ignored: Any) -> tuple[httplib2.Response, bytes]:
        url = urlsplit(uri)
        host = "" if "www." in url.netloc or url.netloc == "compute.googleapis.com" else url.netloc.split(".")[0]
        key = f"{host}{url.path}"
        with self._lock:
            self.asked.append((method, key))
            self.queries[key] = url.query
        answer = self.answers.get(key)
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            answer = answer(json.loads(body) if body else None)
        status = 200
        if isinstance(answer, bytes):
            return httplib2.Response({"status": 200, "content-type": "text/html"}), answer
        if answer is None:
            status, answer = 404, error(404, "NOT_FOUND", f"no answer to {key}")
        elif "error" in answer:
            status = answer["error"]["code"]
        return httplib2.Response({"status": status, "content-type": "application/json"}), json.dumps(answer).encode()


def error(code: int, status: str, message: str, reason: str = "", **metadata: str) -> dict[str, Any]:
    """Google's error body."""
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "metadata": metadata}] if reason else []
    return {"error": {"code": code, "status": status, "message": message, "details": details}}


def bucket(limit: int, **dimensions: str) -> dict[str, Any]:
    """What holds in one place; a zero is left out, as Google's APIs leave it out."""
    return {"dimensions": dimensions, **({"effectiveLimit": str(limit)} if limit else {})}


def metric(name: str, *buckets: dict[str, Any], per: str = "region") -> dict[str, Any]:
    """A quota metric with one limit, per `region` or per `zone`."""
    return {"metric": name, "consumerQuotaLimits": [{"metric": name, "unit": f"1/{{project}}/{{{per}}}", "quotaBuckets": list(buckets)}]}


@pytest.fixture
def cloud() -> SimpleNamespace:
    """What tests make answers of."""
    return SimpleNamespace(transport=Cloud, error=error, bucket=bucket, metric=metric, project=PROJECT, account=ACCOUNT)


@pytest.fixture(autouse=True)
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Google's client waits before it tries again."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)


@pytest.fixture
def needs() -> CloudNeeds:
    """A stack with one v6e chip on spot, and budgets in USD."""
    spot = TpuNeed("try", "v6e-1", "v6e", "us-east5-a", "spot", "compute-engine", "ct6e-standard-1t", 1, "v2-alpha-tpuv6e")
    services = ("compute.googleapis.com", "storage.googleapis.com", "iam.googleapis.com", "serviceusage.googleapis.com")
    return CloudNeeds(PROJECT, "us-east5", ("USD",), (spot,), services)


@pytest.fixture
def answers(needs: CloudNeeds) -> dict[str, Any]:
    """A project where all is well."""
    echo: Callable[[Any], Any] = lambda body: {"permissions": body["permissions"]}  # noqa: E731
    policy: dict[str, Any] = {"spec": {"rules": [{"allowAll": True}]}}
    return {
        f"cloudresourcemanager/v3/projects/{PROJECT}": {"name": "projects/123456789012", "state": "ACTIVE"},
        f"cloudresourcemanager/v3/projects/{PROJECT}:testIamPermissions": echo,
        f"cloudbilling/v1/projects/{PROJECT}/billingInfo": {"billingEnabled": True, "billingAccountName": ACCOUNT},
        f"cloudbilling/v1/{ACCOUNT}": {"name": ACCOUNT, "open": True, "currencyCode": "USD"},
        f"cloudbilling/v1/{ACCOUNT}:testIamPermissions": echo,
        f"serviceusage/v1/projects/{PROJECT}/services:batchGet": {
            "services": [{"name": f"projects/1/services/{one}", "state": "ENABLED"} for one in needs.services]
        },
        f"serviceusage/v1beta1/projects/{PROJECT}/services/compute.googleapis.com/consumerQuotaMetrics": {
            "metrics": [
                metric("compute.googleapis.com/cpus", bucket(24)),
                metric("compute.googleapis.com/preemptible_tpu_v6e", bucket(0), bucket(8, region="us-east5")),
                metric("compute.googleapis.com/tpus_per_tpu_family", bucket(0, region="us-east5", tpu_family="CT6E")),
            ]
        },
        f"/compute/v1/projects/{PROJECT}": {"quotas": [{"metric": "NETWORKS", "limit": 5, "usage": 1}]},
        f"/compute/v1/projects/{PROJECT}/regions/us-east5": {
            "quotas": [
                {"metric": "CPUS", "limit": 24, "usage": 0},
                {"metric": "SSD_TOTAL_GB", "limit": 500, "usage": 100},
                {"metric": "INSTANCES", "limit": 24, "usage": 0},
            ]
        },
        f"/compute/v1/projects/{PROJECT}/zones/us-east5-a/machineTypes": {
            "items": [{"name": "ct6e-standard-1t"}, {"name": "ct6e-standard-4t"}]
        },
    } | {f"orgpolicy/v2/projects/{PROJECT}/policies/{one}:getEffectivePolicy": policy for one in policies.CONSTRAINTS}


@pytest.fixture
def look(needs: CloudNeeds) -> Callable[..., dict[str, Found]]:
    """Findings by what was checked; where one check has several, the gravest."""

    def inspect_with(answers: dict[str, Any], needs: CloudNeeds = needs) -> dict[str, Found]:
        order = ["ok", "warning", "unknown", "failed"]
        found: dict[str, Found] = {}
        for one in inspect(needs, connect=Cloud(answers)):
            if one.check not in found or order.index(one.level) > order.index(found[one.check].level):
                found[one.check] = one
        return found

    return inspect_with
