"""`doctor --cloud` against canned answers: it only reads, each check fails by itself, and nothing heavy is loaded for it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import googleapiclient
import httplib2
import pytest

from infra import documents
from infra.findings import Found
from infra.operate import doctor_cloud
from infra.operate.doctor_cloud import CloudNeeds, inspect
from infra.operate.refused import READERS

Look = Callable[..., dict[str, Found]]

DOCUMENTS = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"


def calls() -> list[tuple[list[str], set[str]]]:
    """
    Every call that the package's source makes of `operate.google`: its literal arguments, API and version first, and the names of the others.
    The provider's client, which takes both as one, is held to the documents by Google's own.
    """
    found = []
    for path in Path(doctor_cloud.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("call", "items", "pages")
                and len(node.args) > 2
            ):
                names = {one.arg for one in node.keywords if one.arg}
                found.append(([ast.literal_eval(one) for one in node.args if isinstance(one, ast.Constant)], names))
    return [(literals, names) for literals, names in found if len(literals) > 2 and "." not in literals[0]]


def method_of(document: dict[str, Any], name: str) -> dict[str, Any]:
    """A method of a discovery document."""
    *collections, verb = name.split(".")
    for collection in collections:
        document = document["resources"][collection]
    method: dict[str, Any] = document["methods"][verb]
    return method


@pytest.mark.parametrize(("literals", "names"), calls(), ids=lambda value: ".".join(value) if isinstance(value, list) else "")
def test_every_method_is_in_googles_documents_and_only_reads(literals: list[str], names: set[str]) -> None:
    """Each method called, its parameters and the list it answers with are in the packaged document; all are GET but those that ask."""
    api, version, name, *items = literals
    path = documents.find(f"{api}.{version}") or DOCUMENTS / f"{api}.{version}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    method = method_of(document, name)
    assert method["httpMethod"] == "GET" or name.endswith((".testIamPermissions", ".getIamPolicy", "jobs.query"))  # the query is one SELECT
    assert names - {"body"} <= set(method["parameters"])
    if items or {"maxResults", "pageSize"} & names:
        answered = set(document["schemas"][method["response"]["$ref"]]["properties"])
        assert set(items) <= answered
        assert {"nextPageToken", "pageToken"} & answered  # BigQuery calls it by the second name
    assert f"{api}.{name.split('.')[0]}" in READERS


def test_the_source_is_read_for_its_calls() -> None:
    """The test above sees what `inspect` and `catalog refresh` call."""
    assert len(calls()) >= 18


def test_a_ready_project_is_ready(answers: dict[str, Any], look: Look) -> None:
    """Nothing fails, and the only thing that is not known is said: whether it is a trial."""
    assert {name: one.level for name, one in look(answers).items() if one.level != "ok"} == {"free trial": "warning"}


def test_only_reads(answers: dict[str, Any], needs: CloudNeeds, cloud: SimpleNamespace) -> None:
    """Every call is a GET, but for asking what one may do."""
    transport = cloud.transport(answers)
    inspect(needs, connect=transport)
    assert all(method == "GET" or path.endswith(":testIamPermissions") for method, path in transport.asked)
    assert {path.split("/")[0] for _, path in transport.asked} == {"cloudresourcemanager", "cloudbilling", "serviceusage", "orgpolicy", ""}


def test_one_refusal_spoils_nothing_else(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """Whichever call is refused, every other finding stays as it was."""
    usual = look(answers)
    for path in answers:
        found = look(answers | {path: cloud.error(403, "PERMISSION_DENIED", "no")})
        changed = {name for name in usual | found if found.get(name) != usual.get(name)}
        own = {
            f"cloudresourcemanager/v3/projects/{cloud.project}": {"project"},
            f"cloudresourcemanager/v3/projects/{cloud.project}:testIamPermissions": {"permissions"},
            f"cloudbilling/v1/projects/{cloud.project}/billingInfo": {"billing", "currency", "budgets", "free trial"},
            f"cloudbilling/v1/{cloud.account}": {"currency"},
            f"cloudbilling/v1/{cloud.account}:testIamPermissions": {"budgets"},
            f"serviceusage/v1/projects/{cloud.project}/services:batchGet": {"APIs"},
            f"/compute/v1/projects/{cloud.project}": {"quota, project"},
            f"/compute/v1/projects/{cloud.project}/regions/us-east5": {"quota, us-east5"},
            f"/compute/v1/projects/{cloud.project}/zones/us-east5-a/machineTypes": {"v6e-1 in us-east5-a"},
        }.get(
            path, {"quota of v6e-1"} if "consumerQuotaMetrics" in path else {"organisation policies", path.split("/")[-1].partition(":")[0]}
        )
        assert changed
        assert changed <= own, path
        assert {found[name].level for name in changed if name in found} <= {"unknown", "ok"}


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (TimeoutError("timed out"), "did not answer within 20 s"),
        (httplib2.ServerNotFoundError("Unable to find the server"), "could not be reached: Unable to find the server"),
        (ConnectionRefusedError("refused"), "could not be reached: refused"),
        (b"<html>sign in</html>", "something that is not JSON"),
    ],
)
def test_no_answer_is_a_finding(raised: Any, said: str, answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """A time-out, no network and a sign-in page are findings of their own check, never a traceback."""
    answers[f"cloudresourcemanager/v3/projects/{cloud.project}"] = raised
    found = look(answers)
    assert found["project"].level == "unknown"
    assert said in found["project"].message
    assert found["billing"].level == "ok"


def test_tells_what_it_looks_at(answers: dict[str, Any], needs: CloudNeeds, cloud: SimpleNamespace) -> None:
    """Each check is told of once, as it begins."""
    told: list[str] = []
    inspect(needs, connect=cloud.transport(answers), progress=told.append)
    checks = ("project", "billing", "permissions", "APIs", "organisation policies", "quota", "accelerator types", "queue")
    assert sorted(told) == sorted(f"{cloud.project}: {check}" for check in checks)


def test_importing_it_loads_no_client() -> None:
    """Google's clients and the engine's SDK are loaded only when a cloud is looked at."""
    program = (
        "import sys, infra.operate.doctor_cloud;"
        "print([name for name in sys.modules if name.startswith(('googleapiclient', 'google.auth', 'pulumi', 'pydantic'))])"
    )
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip() == "[]"


def test_an_answer_in_another_shape_is_a_finding(answers: dict[str, Any], look: Look) -> None:
    """What is not understood spoils its own check alone, and never ends in a traceback."""
    key = next(name for name in answers if name.endswith("/zones/us-east5-a/machineTypes"))
    answers[key] = {"items": [{"nonsense": True}]}
    found = look(answers)
    assert any(one.level == "unknown" and "was not understood" in one.message for one in found.values())
    assert found["project"].level == "ok"
