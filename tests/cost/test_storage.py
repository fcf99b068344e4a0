"""Where things are kept: by what lies there, and who reads it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from costing import assuming, declared, estimated, lines, month, of, usd

from infra.cost.line import LineItem
from infra.declared import UNKNOWN, Declared

REGION = "us-central1"


def bucket(name: str = "archive", **change: Any) -> Declared:
    return declared("gcp:storage/bucket:Bucket", name, {"location": "US-CENTRAL1"} | change)


def found(name: str, *resources: Declared, **usage: Any) -> dict[str, LineItem]:
    return of(name, *resources, usage=assuming({name: usage} if usage else None), region=REGION)


@pytest.mark.parametrize(
    ("storage_class", "rate", "retrieval"),
    [
        (None, "0.02", None),
        ("STANDARD", "0.02", None),
        ("NEARLINE", "0.01", "0.01"),
        ("COLDLINE", "0.004", "0.02"),
        ("ARCHIVE", "0.0012", "0.05"),
    ],
)
def test_a_bucket_costs_what_lies_in_its_class_and_what_is_read_back(storage_class: Any, rate: str, retrieval: str | None) -> None:
    """100 GiB, of which 5 are read back; Standard asks nothing for that."""
    usage = {"gib": 100} | ({"retrieved_gib": 5} if retrieval else {})
    found_lines = found("archive", bucket(storageClass=storage_class), **usage)
    expected = {"archive bucket": usd(100 * Decimal(rate))} | ({"retrieval": usd(5 * Decimal(retrieval))} if retrieval else {})
    assert {what: month(line) for what, line in found_lines.items()} == expected


def test_operations_are_bounded_by_the_coldest_class() -> None:
    """Ten thousand writes: 0.005 a thousand in Standard, 0.1 in Archive."""
    usage = assuming({"archive": {"gib": 1, "retrieved_gib": 0}}, storage_class_a_thousands=10, storage_class_b_thousands=10)
    found_lines = lines(bucket(storageClass="ARCHIVE"), bucket("data"), usage=usage, region=REGION)
    assert month(found_lines["bucket writes"]) == usd(Decimal("0.05"), Decimal("0.05"), Decimal(1))
    assert month(found_lines["bucket reads"]) == usd(Decimal("0.004"), Decimal("0.004"), Decimal("0.5"))


@pytest.mark.parametrize(
    "change",
    [
        {"storageClass": "NOVEL"},
        {"storageClass": UNKNOWN},
        {"autoclass": {"enabled": True}},
        {"location": "EU"},
        {"storageClass": "NEARLINE"},
    ],
    ids=str,
)
def test_what_is_not_known_of_a_bucket_is_unknown(change: dict[str, Any]) -> None:
    """A class of no table, a place elsewhere, and what is read back from a colder class."""
    assert not estimated(bucket(**change), usage=assuming({"archive": {"gib": 1}}), region=REGION).complete


def test_the_free_part_of_the_repositories_is_taken_off_once() -> None:
    """Two repositories of 10 GiB: 19.5 GiB at 0.10."""
    usage = assuming({"other": {"gib": 10}}, images_gib=10)
    two = [declared("gcp:artifactregistry/repository:Repository", name, {"location": REGION}) for name in ("images", "other")]
    for order in (two, two[::-1]):
        found_lines = lines(*order, usage=usage, region=REGION)
        assert [month(found_lines[name]) for name in ("images", "other")] == [usd(Decimal("0.95")), usd(Decimal(1))]


def test_a_file_share_costs_its_capacity() -> None:
    """1,024 GiB of basic HDD at 0.20; no other tier has a price."""
    inputs = {"location": "us-central1-a", "tier": "BASIC_HDD", "fileShares": {"capacityGb": 1024}}
    kind = "gcp:filestore/instance:Instance"
    assert month(found("files", declared(kind, "files", inputs))["Filestore BASIC_HDD"]) == usd(1024 * Decimal("0.2"))
    for change in ({"tier": "ZONAL"}, {"fileShares": {"capacityGb": UNKNOWN}}, {"location": UNKNOWN}):
        assert not estimated(declared(kind, "files", inputs | change), region=REGION).complete


def test_secrets_cost_by_version_and_place_less_six() -> None:
    """Two versions of a secret in four places: eight, of which six are free."""
    places = [{"location": f"us-central{number}"} for number in range(4)]
    secret = declared("gcp:secretmanager/secret:Secret", "key", {"replication": {"userManaged": {"replicas": places}}})
    versions = [declared("gcp:secretmanager/secretVersion:SecretVersion", f"v{number}", {"secret": UNKNOWN}, secret) for number in range(2)]
    result = estimated(secret, *versions, usage=assuming({"key": {"requests_thousands": 30}}), region=REGION)
    assert sorted(month(line) for line in result.lines if line.what == "secret version") == [usd(Decimal(0)), usd(2 * Decimal("0.06"))]
    # thirty thousand accesses, ten thousand of them free
    assert month(next(line for line in result.lines if line.what == "secret accesses")) == usd(2 * Decimal("0.03"))
    automatic = declared(secret.type, "key", {"replication": {"auto": {}}})
    assert of("v0", automatic, versions[0], region=REGION)["secret version"].quantity == (0, 0, 0)
    assert of("v0", versions[0], region=REGION)["SecretVersion"].status == "unknown"


def test_keys_cost_by_version_and_operation() -> None:
    """Software 0.06 and 0.03; HSM with a P-256 key 2.50 and 0.15; what no source prices is unknown."""
    kind = "gcp:kms/cryptoKey:CryptoKey"
    software = found("state", declared(kind, "state", {"rotationPeriod": "7776000s"}), requests_thousands=100)
    assert [month(line) for line in software.values()] == [usd(Decimal("0.06")), usd(Decimal("0.3"))]
    assert "each rotation adds one" in software["key version"].note
    hsm = {"versionTemplate": {"protectionLevel": "HSM", "algorithm": "EC_SIGN_P256_SHA256"}}
    assert [month(line) for line in found("state", declared(kind, "state", hsm), requests_thousands=100).values()] == [
        usd(Decimal("2.5")),
        usd(Decimal("1.5")),
    ]
    for template in ({"protectionLevel": "HSM", "algorithm": "GOOGLE_SYMMETRIC_ENCRYPTION"}, {"protectionLevel": UNKNOWN}):
        assert not estimated(declared(kind, "state", {"versionTemplate": template}), region=REGION).complete


def test_tables_cost_what_they_hold_where_their_dataset_stands() -> None:
    """100 GiB in us-central1 at 0.023; a view holds nothing; a dataset is its tables."""
    dataset = declared("gcp:bigquery/dataset:Dataset", "billing", {"location": REGION})
    table = declared("gcp:bigquery/table:Table", "export", {"datasetId": UNKNOWN}, dataset)
    assert month(found("export", dataset, table, gib=100)["table"]) == usd(100 * Decimal("0.023"))
    assert found("export", dataset, table)["Table"].status == "unknown"
    assert found("export", table, gib=1)["Table"].status == "unknown"
    view = declared(table.type, "export", {"view": {"query": "select 1"}}, dataset)
    assert (found("export", dataset, view)["Table"].status, found("billing", dataset)["Dataset"].status) == ("free", "free")


def test_messages_cost_by_tib_both_ways_less_ten_gib() -> None:
    """A topic that is sent 1,034 GiB, and a subscription that delivers as much: 2,058 GiB of 2,068 at 40 a TiB."""
    topic = declared("gcp:pubsub/topic:Topic", "events", {})
    pull = declared("gcp:pubsub/subscription:Subscription", "guard", {"retainAckedMessages": True})
    usage = assuming({"events": {"traffic_gib": 1034}, "guard": {"traffic_gib": 1034, "gib": 10}})
    result = estimated(topic, pull, usage=usage, region=REGION)
    messages = [line.usd_month or (0, 0, 0) for line in result.lines if line.what.startswith("messages")]
    assert sum((one[1] for one in messages), Decimal(0)) == Decimal(2058) / 1024 * 40
    assert month(next(line for line in result.lines if line.what == "kept messages")) == usd(10 * Decimal("0.27"))
    to_bigquery = declared(pull.type, "guard", {"bigqueryConfig": {"table": "x"}})
    assert month(found("guard", to_bigquery, traffic_gib=1024)["messages delivered"]) == usd(Decimal(50))
    assert not estimated(declared(topic.type, "events", {"messageRetentionDuration": "86400s"}), region=REGION).complete


@pytest.mark.parametrize(("days", "status"), [(None, "free"), (30, "free"), (31, "unknown"), (UNKNOWN, "unknown"), ("30", "unknown")])
def test_logs_that_are_kept_longer_have_no_price(days: Any, status: str) -> None:
    """Thirty days are in the price of what is taken in."""
    logs = declared("gcp:logging/projectBucketConfig:ProjectBucketConfig", "audit", {"retentionDays": days})
    assert found("audit", logs)["ProjectBucketConfig"].status == status
