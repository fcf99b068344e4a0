"""Where Cloud Run and Cloud Scheduler are, and how sure that is."""

from __future__ import annotations

import pytest

from infra.catalog import places, services, tables


@pytest.mark.parametrize(
    ("service", "region", "kind"),
    [
        ("cloud-run", "asia-east1", "works"),
        ("cloud-scheduler", "asia-east1", "works"),
        ("cloud-run", "us-east5", "works"),
        ("cloud-scheduler", "us-east5", "unconfirmed"),
        ("cloud-run", "us-central2", "impossible"),
        ("cloud-scheduler", "us-central2", "impossible"),
        ("cloud-scheduler", "southamerica-west1", "impossible"),
        ("cloud-run", "europe-north2", "unknown"),
        ("cloud-run", "nowhere1", "unknown"),
    ],
)
def test_judges(service: services.Service, region: str, kind: str) -> None:
    """A list that was read as a whole refuses, a weak one does not, and a region that no list is new enough for is unknown."""
    assert services.judge(service, region) == kind


def test_each_row_is_of_a_known_service_and_region() -> None:
    """A misspelt service or region would be unknown for ever; a cell that is neither yes nor no would be a no."""
    rows = tables.rows("services")
    assert {row["service"] for row in rows} == set(services.NAMES) == set(services.LIST) == set(services.JOBS)
    assert {row["region"] for row in rows} <= set(places.regions())
    assert {row["there"] for row in rows} == {"yes", "no"}


def test_doubts_say_what_to_do() -> None:
    """One line for what is not sure, with the command that asks Google; none where both are, and none where a job is refused anyway."""
    (line,) = services.doubts("us-east5")
    assert line.startswith("unconfirmed: us-east5 is not in the list of Cloud Scheduler's regions that was read (2026-07-29, of low trust)")
    assert line.endswith("gcloud scheduler locations list")
    assert services.doubts("europe-north2")[0].startswith("unconfirmed: no list that was read says whether Cloud Run is in europe-north2")
    assert services.doubts("asia-east1") == services.doubts("us-central2") == ()
    assert services.missing("us-central2") == ("cloud-run", "cloud-scheduler")
    assert services.missing("us-east5") == ()
