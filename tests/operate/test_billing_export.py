"""The client of the billing export against canned answers: dry first, then with a limit, to the last page."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import google.auth
import pytest
from google.auth.exceptions import DefaultCredentialsError

from infra.operate.billing_export import BYTES_LEAST, WAITS_MAX, BillingExportError, Reader

TABLE = "shop-billing.billing.gcp_billing_export_resource_v1_01ABCD_23EF45_67890A"
QUERIES = "bigquery/bigquery/v2/projects/shop-billing/queries"
JOB = {"projectId": "shop-billing", "jobId": "job_1", "location": "EU"}
COLUMNS = (
    "stack",
    "service",
    "sku_id",
    "sku",
    "cluster",
    "namespace",
    "cost_type",
    "currency",
    "cost",
    "credits",
    "usd",
    "without_rate",
    "earlier",
    "late",
    "last_export",
)
SCHEMA = {"fields": [{"name": name, "type": "STRING"} for name in COLUMNS]}
PARAMETERS = {"project": ("STRING", "tw-shop-ml"), "first_day": ("DATE", "2026-11-01")}


def row(stack: str | None, cost: str) -> dict[str, Any]:
    """A row as BigQuery's REST interface writes it: every value as text, without its name."""
    values = (
        stack,
        "Compute Engine",
        "AAAA",
        "TPU",
        None,
        None,
        "regular",
        "USD",
        cost,
        "-0.5",
        cost,
        "0",
        "0",
        "0",
        "2026-12-01",
    )
    return {"f": [{"v": value} for value in values]}


def page(*rows: dict[str, Any], more: str = "") -> dict[str, Any]:
    return {"jobComplete": True, "jobReference": JOB, "schema": SCHEMA, "rows": list(rows)} | ({"pageToken": more} if more else {})


class BigQuery:
    """Answers a dry run with bytes and a query with what it is given; keeps the bodies."""

    def __init__(self, first: Any, reads: str = "123456789") -> None:
        self.first = first
        self.reads = reads
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Any:
        self.bodies.append(body)
        return {"totalBytesProcessed": self.reads, "jobComplete": True, "schema": SCHEMA} if body.get("dryRun") else self.first


def read(cloud: SimpleNamespace, answers: dict[str, Any], told: list[int] | None = None) -> tuple[list[Any], Any]:
    transport = cloud.transport(answers)
    said: list[int] = [] if told is None else told
    return Reader.of(TABLE, transport).rows("SELECT 1", PARAMETERS, said.append), transport


def test_the_bytes_are_said_before_the_query_is_run(cloud: SimpleNamespace) -> None:
    """A dry run first; its bytes and a tenth are the limit of what may be billed; the parameters go with their types."""
    bigquery, told = BigQuery(page(row("us-east5", "1.5"))), []
    read(cloud, {QUERIES: bigquery}, told)
    dry, real = bigquery.bodies
    assert told == [123456789]
    assert (dry["dryRun"], "dryRun" in real) == (True, False)
    assert (real["maximumBytesBilled"], "maximumBytesBilled" in dry) == ("135802467", False)
    assert dry["useLegacySql"] is real["useLegacySql"] is False
    assert real["parameterMode"] == "NAMED"
    assert real["queryParameters"] == [
        {"name": "project", "parameterType": {"type": "STRING"}, "parameterValue": {"value": "tw-shop-ml"}},
        {"name": "first_day", "parameterType": {"type": "DATE"}, "parameterValue": {"value": "2026-11-01"}},
    ]


def test_a_small_table_is_billed_the_least_that_there_is(cloud: SimpleNamespace) -> None:
    """BigQuery bills 10 MB at least: a limit below that would refuse every small export."""
    bigquery = BigQuery(page(), reads="0")
    assert read(cloud, {QUERIES: bigquery})[0] == []
    assert bigquery.bodies[1]["maximumBytesBilled"] == str(BYTES_LEAST)


def test_reads_every_page(cloud: SimpleNamespace) -> None:
    """Two pages and an empty one between them, asked for where the job ran; amounts are exact, none is text `None`."""
    pages = iter([page(more="b"), page(row(None, "0.30"))])
    rows, transport = read(
        cloud,
        {QUERIES: BigQuery(page(row("us-east5", "1234567890.123456789"), more="a")), f"{QUERIES}/job_1": lambda body: next(pages)},
    )
    assert [(one.stack, one.cost, one.credits) for one in rows] == [
        ("us-east5", Decimal("1234567890.123456789"), Decimal("-0.5")),
        (None, Decimal("0.30"), Decimal("-0.5")),
    ]
    assert "location=EU" in transport.queries[f"{QUERIES}/job_1"]
    assert "pageToken=b" in transport.queries[f"{QUERIES}/job_1"]


def test_a_query_that_still_runs_is_asked_for_again(cloud: SimpleNamespace) -> None:
    """Until it is done, without a page that it has not named."""
    running = {"jobComplete": False, "jobReference": JOB}
    later = iter([running, page(row("us-east5", "2"))])
    rows, transport = read(cloud, {QUERIES: BigQuery(running), f"{QUERIES}/job_1": lambda body: next(later)})
    assert [one.cost for one in rows] == [Decimal(2)]
    assert "pageToken" not in transport.queries[f"{QUERIES}/job_1"]


def test_fails_on_a_query_that_never_ends(cloud: SimpleNamespace) -> None:
    """After five minutes it is given up, and the job is named."""
    running = {"jobComplete": False, "jobReference": JOB}
    transport = cloud.transport({QUERIES: BigQuery(running), f"{QUERIES}/job_1": running})
    with pytest.raises(BillingExportError, match="still ran after 300 s: job job_1"):
        Reader.of(TABLE, transport).rows("SELECT 1", PARAMETERS, lambda reads: None)
    assert len(transport.asked) == 2 + WAITS_MAX


@pytest.mark.parametrize(
    ("code", "status", "message", "fix"),
    [
        (
            403,
            "PERMISSION_DENIED",
            "Access Denied: Project shop-billing: User does not have bigquery.jobs.create permission in project shop-billing.",
            "gcloud projects add-iam-policy-binding shop-billing --member=user:YOUR_EMAIL --role=roles/bigquery.jobUser",
        ),
        (
            403,
            "PERMISSION_DENIED",
            "Access Denied: Table shop-billing:billing.gcp: User does not have permission to query table, or perhaps it does not exist.",
            "gcloud projects add-iam-policy-binding shop-billing --member=user:YOUR_EMAIL --role=roles/bigquery.dataViewer",
        ),
        (404, "NOT_FOUND", "Not found: Dataset shop-billing:billing was not found in location US", "bq ls shop-billing.billing"),
        (403, "PERMISSION_DENIED", "BigQuery API has not been used in project 1", "gcloud services enable bigquery.googleapis.com"),
        (400, "INVALID_ARGUMENT", "Query exceeded limit for bytes billed: 20000000.", ""),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_a_refusal_is_a_sentence_with_what_mends_it(
    code: int, status: str, message: str, fix: str, dry: bool, cloud: SimpleNamespace
) -> None:
    """Of the dry run and of the query alike; the exit code is the cloud's."""
    refusal = cloud.error(code, status, message)
    bigquery = (lambda body: refusal) if dry else BigQuery(refusal)
    with pytest.raises(BillingExportError) as refused:
        read(cloud, {QUERIES: bigquery})
    assert fix in str(refused.value)
    assert ("fix: " in str(refused.value)) == bool(fix)
    assert refused.value.exit_code == 6


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"jobComplete": True, "jobReference": JOB},
        page({"f": [{"v": "short"}]}),
        page(row("us-east5", "no amount")),
        page(row("us-east5", "NaN")),
        page({"f": [{"v": None}] * len(COLUMNS)}),
        page({"f": [{}] * len(COLUMNS)}),
    ],
)
def test_fails_on_an_answer_in_another_shape(answer: dict[str, Any], cloud: SimpleNamespace) -> None:
    """What is not understood is said, and never taken for nothing."""
    with pytest.raises(BillingExportError, match="was not understood"):
        read(cloud, {QUERIES: BigQuery(answer)})


def test_fails_where_nothing_answers(cloud: SimpleNamespace) -> None:
    """No network and a time-out are sentences."""
    for raised, said in ((ConnectionRefusedError("refused"), "could not be reached"), (TimeoutError(), "did not answer within 20 s")):
        with pytest.raises(BillingExportError, match=said):
            read(cloud, {QUERIES: raised})


def test_fails_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that makes them is named."""

    def none(**ignored: Any) -> Any:
        raise DefaultCredentialsError("none")

    monkeypatch.setattr(google.auth, "default", none)
    with pytest.raises(BillingExportError, match="fix: gcloud auth application-default login"):
        Reader.of(TABLE)


def test_a_project_with_a_domain_pays_by_its_whole_name(cloud: SimpleNamespace) -> None:
    """Old projects have dots before their name."""
    transport = cloud.transport({})
    reader = Reader.of(f"shop.example:{TABLE}", transport)
    with pytest.raises(BillingExportError):
        reader.rows("SELECT 1", PARAMETERS, lambda reads: None)
    assert "shop.example" in transport.asked[0][1]
    assert "shop-billing/queries" in transport.asked[0][1]
