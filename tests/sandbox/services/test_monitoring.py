"""Alerting, checks, objectives, dashboards and metrics of the sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from infra.sandbox.cloud import Cloud
from tests.sandbox.conftest import NOON

HOST = "monitoring.googleapis.com"
CHANNELS = "v3/projects/{project}/notificationChannels"
POLICIES = "v3/projects/{project}/alertPolicies"
CHANNEL = {"type": "email", "displayName": "ops", "labels": {"email_address": "ops@shop.example"}}
CONDITION = {
    "displayName": "idle",
    "conditionThreshold": {"filter": 'metric.type="a"', "comparison": "COMPARISON_LT", "thresholdValue": 70},
}


def _channel(ask: Any, **fields: Any) -> str:
    name: str = ask("POST", HOST, CHANNELS, CHANNEL | fields).body["name"]
    return name


def _policy(ask: Any, *channels: str) -> Any:
    body = {"displayName": "TPU idle", "combiner": "OR", "conditions": [CONDITION], "notificationChannels": list(channels)}
    return ask("POST", HOST, POLICIES, body)


def test_channel_is_enabled_and_remembers_its_changes(ask: Any, cloud: Cloud) -> None:
    made = ask("POST", HOST, CHANNELS, CHANNEL).body
    cloud.clock.advance(60)

    after = ask("PATCH", HOST, f"v3/{made['name']}", CHANNEL | {"displayName": "ops team"}).body

    assert made["enabled"] is True
    assert "verificationStatus" not in made
    assert (after["displayName"], after["name"], after["creationRecord"]) == ("ops team", made["name"], made["creationRecord"])
    assert after["mutationRecords"] != made["mutationRecords"]


def test_channel_without_a_mask_is_replaced_and_false_stays(ask: Any) -> None:
    name = _channel(ask, description="old", userLabels={"a": "b"})

    after = ask("PATCH", HOST, f"v3/{name}", CHANNEL | {"enabled": False}).body

    assert after["enabled"] is False
    assert not {"description", "userLabels"} & set(after)


@pytest.mark.parametrize("body", [{"displayName": "ops"}, {"type": "email", "labels": {"address": "x"}}])
def test_channel_has_a_type_and_an_address(ask: Any, body: dict[str, Any]) -> None:
    assert ask("POST", HOST, CHANNELS, body).status == 400


def test_channels_are_counted_and_filtered(ask: Any) -> None:
    first, second = _channel(ask), _channel(ask, labels={"email_address": "two@shop.example"})

    assert ask("GET", HOST, CHANNELS).body["totalSize"] == 2
    found = ask("GET", HOST, CHANNELS, filter='labels.email_address="two@shop.example" AND type="email"').body
    assert ([one["name"] for one in found["notificationChannels"]], found["totalSize"]) == ([second], 1)
    assert ask("GET", HOST, CHANNELS, filter='display_name=has_substring("none")').body == {}
    assert ask("GET", HOST, CHANNELS, filter='type="email" OR type="sms"').status == 501
    assert first != second


def test_policy_and_its_conditions_are_named_by_the_server(ask: Any) -> None:
    made = _policy(ask, _channel(ask)).body

    assert made["enabled"] is True
    assert made["conditions"][0]["name"].startswith(f"{made['name']}/conditions/")
    assert made["creationRecord"]["mutatedBy"] == made["mutationRecord"]["mutatedBy"] == "user@example.com"
    assert ask("GET", HOST, POLICIES).body == {"alertPolicies": [made], "totalSize": 1}


def test_policy_is_changed_by_mask_or_replaced(ask: Any) -> None:
    made = _policy(ask, _channel(ask)).body
    path = f"v3/{made['name']}"

    off = ask("PATCH", HOST, path, {"enabled": False, "displayName": "no"}, updateMask="enabled").body
    whole = ask("PATCH", HOST, path, {"displayName": "Two", "conditions": made["conditions"]}).body

    assert (off["enabled"], off["displayName"]) == (False, "TPU idle")
    assert whole["conditions"] == made["conditions"]
    assert (whole["enabled"], whole.get("notificationChannels"), whole["creationRecord"]) == (True, None, made["creationRecord"])


@pytest.mark.parametrize(
    "change", [{"displayName": ""}, {"conditions": []}, {"conditions": [CONDITION] * 7}, {"conditions": [CONDITION] * 2, "combiner": None}]
)
def test_what_a_policy_may_not_be(ask: Any, change: dict[str, Any]) -> None:
    body = {"displayName": "TPU idle", "combiner": "OR", "conditions": [CONDITION]} | change

    assert ask("POST", HOST, POLICIES, body).status == 400


def test_policy_tells_channels_that_are_there(ask: Any, cloud: Cloud) -> None:
    name = _channel(ask)

    assert _policy(ask, name.replace("shop-prod", cloud.projects.number("shop-prod"))).status == 200
    assert _policy(ask, "ops").status == 400
    assert _policy(ask, "projects/shop-prod/notificationChannels/111").status == 404


def test_channel_that_a_policy_tells_is_deleted_by_force_only(ask: Any) -> None:
    name = _channel(ask)
    policy = _policy(ask, name).body["name"]

    refused = ask("DELETE", HOST, f"v3/{name}", force="false").body["error"]
    said = f'Could not delete "{name}" because it is still being referenced by: "{policy}"'
    assert (refused["code"], refused["message"]) == (400, said)
    assert ask("DELETE", HOST, f"v3/{name}", force="true").body == {}
    assert "notificationChannels" not in ask("GET", HOST, f"v3/{policy}").body
    assert ask("GET", HOST, f"v3/{name}").body["error"]["message"] == "Requested entity was not found."


CHECKS = "v3/projects/{project}/uptimeCheckConfigs"
CHECK = {"displayName": "shop", "timeout": "10s", "monitoredResource": {"type": "uptime_url", "labels": {"host": "shop.example"}}}


def test_uptime_check_hides_what_is_secret(ask: Any) -> None:
    http = {"useSsl": True, "authInfo": {"username": "u", "password": "p"}, "headers": {"Token": "t"}, "maskHeaders": True, "body": "YQ=="}

    made = ask("POST", HOST, CHECKS, CHECK | {"httpCheck": http}).body

    assert (made["period"], made["httpCheck"]["port"], made["httpCheck"]["path"]) == ("60s", 443, "/")
    assert made["httpCheck"]["authInfo"] == {"username": "u", "password": "******"}
    assert made["httpCheck"]["headers"] == {"Content-Length": "******", "Token": "******"}


@pytest.mark.parametrize("change", [{"timeout": "61s"}, {"timeout": ""}, {"timeout": "soon"}, {"period": "10s"}, {"displayName": ""}])
def test_what_an_uptime_check_may_not_be(ask: Any, change: dict[str, str]) -> None:
    assert ask("POST", HOST, CHECKS, CHECK | change).status == 400


def test_uptime_check_of_a_policy_is_not_deleted(ask: Any) -> None:
    check = ask("POST", HOST, CHECKS, CHECK | {"tcpCheck": {"port": 80}}).body["name"]
    condition = {"displayName": "down", "conditionThreshold": {"filter": f'metric.label.check_id="{check.rpartition("/")[2]}"'}}
    policy = ask("POST", HOST, POLICIES, {"displayName": "down", "conditions": [condition]}).body["name"]

    assert ask("DELETE", HOST, f"v3/{check}").body["error"]["status"] == "FAILED_PRECONDITION"
    ask("DELETE", HOST, f"v3/{policy}")
    assert ask("DELETE", HOST, f"v3/{check}").body == {}
    missing = ask("GET", HOST, f"v3/{check}").body["error"]["message"]
    assert missing == f"Config not found for check {check.rpartition('/')[2]} in project shop-prod"


def test_groups_are_a_tree(ask: Any) -> None:
    groups = "v3/projects/{project}/groups"
    upper = ask("POST", HOST, groups, {"displayName": "a", "filter": "x=y"}).body["name"]
    lower = ask("POST", HOST, groups, {"displayName": "b", "filter": "x=y", "parentName": upper}).body["name"]

    assert ask("PUT", HOST, f"v3/{upper}", {"displayName": "a", "filter": "x=y", "parentName": lower}).status == 400
    assert ask("POST", HOST, groups, {"displayName": "c", "filter": "x=y", "parentName": "projects/shop-prod/groups/1"}).status == 404
    assert ask("DELETE", HOST, f"v3/{upper}").status == 400
    assert ask("DELETE", HOST, f"v3/{upper}", recursive="true").status == 200
    missing = ask("GET", HOST, f"v3/{lower}").body["error"]["message"]
    assert missing == f"Could not find group definition for '{lower.rpartition('/')[2]}'."


OBJECTIVE = {"goal": 0.99, "rollingPeriod": "86400s", "serviceLevelIndicator": {"basicSli": {"availability": {}}}}


def test_objective_of_a_service(ask: Any, cloud: Cloud) -> None:
    services, number = "v3/projects/{project}/services", cloud.projects.number("shop-prod")
    objectives = f"{services}/ranker/serviceLevelObjectives"

    assert ask("POST", HOST, objectives, OBJECTIVE, serviceLevelObjectiveId="up").status == 404
    service = ask("POST", HOST, services, {"custom": {}}, serviceId="ranker").body
    made = ask("POST", HOST, objectives, OBJECTIVE, serviceLevelObjectiveId="up").body

    assert service == {"custom": {}, "name": f"projects/{number}/services/ranker"}
    assert made["name"] == f"projects/{number}/services/ranker/serviceLevelObjectives/up"
    assert made["serviceLevelIndicator"] == {"basicSli": {"availability": {}}}
    assert ask("POST", HOST, objectives, OBJECTIVE, serviceLevelObjectiveId="up").status == 409
    assert ask("PATCH", HOST, f"v3/{made['name']}", {"goal": 0.9}, updateMask="goal").body == made | {"goal": 0.9}
    assert ask("POST", HOST, objectives, OBJECTIVE).body["name"] != made["name"]
    missing = ask("GET", HOST, f"{objectives}/down").body["error"]["message"]
    assert missing == f'There is no slo with id "down" under service "ranker" in project "{number}"'
    assert ask("GET", HOST, f"{services}/none").body["error"]["message"] == f"There is no service with id 'none' in project '{number}'"


@pytest.mark.parametrize(
    "change", [{"goal": 1}, {"goal": 0}, {"rollingPeriod": "90s"}, {"rollingPeriod": "a day"}, {"calendarPeriod": "DAY"}]
)
def test_what_an_objective_may_not_be(ask: Any, change: dict[str, Any]) -> None:
    ask("POST", HOST, "v3/projects/{project}/services", {"custom": {}}, serviceId="ranker")

    assert ask("POST", HOST, "v3/projects/{project}/services/ranker/serviceLevelObjectives", OBJECTIVE | change).status == 400


DASHBOARDS = "v1/projects/{project}/dashboards"


def test_dashboard_is_replaced_by_whoever_read_it_last(ask: Any, cloud: Cloud) -> None:
    made = ask("POST", HOST, DASHBOARDS, {"displayName": "acc", "gridLayout": {}, "name": "projects/shop-prod/dashboards/acc"}).body
    path = f"{DASHBOARDS}/acc"

    assert made["name"] == f"projects/{cloud.projects.number('shop-prod')}/dashboards/acc"
    assert ask("PATCH", HOST, path, {"displayName": "two"}).status == 400
    after = ask("PATCH", HOST, path, {"displayName": "two", "etag": made["etag"]}).body
    assert {**after, "etag": ""} == {"name": made["name"], "displayName": "two", "etag": ""}
    assert ask("PATCH", HOST, path, {"displayName": "late", "etag": made["etag"]}).body["error"]["status"] == "ABORTED"
    assert ask("POST", HOST, DASHBOARDS, {"gridLayout": {}}).status == 400
    assert ask("DELETE", HOST, path).body == {}
    assert ask("GET", HOST, path).body["error"]["message"] == "Requested entity was not found."


def test_project_sees_metrics_of_those_that_it_monitors(ask: Any, cloud: Cloud) -> None:
    scope, other = "v1/locations/global/metricsScopes/shop-prod", cloud.projects.make("shop-test")["projectNumber"]
    own = cloud.projects.number("shop-prod")

    added = ask("POST", HOST, f"{scope}/projects", {"name": "locations/global/metricsScopes/shop-prod/projects/shop-test"}).body

    assert added["done"] is True
    assert added["metadata"]["state"] == "DONE"
    seen = [one["name"].rpartition("/")[2] for one in ask("GET", HOST, scope).body["monitoredProjects"]]
    assert seen == [own, other]
    assert ask("DELETE", HOST, f"{scope}/projects/shop-test").body["done"] is True
    assert len(ask("GET", HOST, scope).body["monitoredProjects"]) == 1
    assert ask("POST", HOST, f"{scope}/projects", {"name": "locations/global/metricsScopes/shop-prod/projects/none-such"}).status == 403


SERIES = "v3/projects/{project}/timeSeries"
METRIC = "custom.googleapis.com/shop/queue"


def _point(ask: Any, second: int, value: dict[str, Any], host: str = "one") -> Any:
    point = {"interval": {"endTime": _time(second)}, "value": value}
    return ask("POST", HOST, SERIES, {"timeSeries": [{"metric": {"type": METRIC, "labels": {"host": host}}, "points": [point]}]})


def _time(second: int) -> str:
    return f"2026-11-30T12:{second // 60:02}:{second % 60:02}Z"


def _read(ask: Any, **more: str) -> Any:
    interval = {"interval.startTime": _time(0), "interval.endTime": _time(600)}
    return ask("GET", HOST, SERIES, **({"filter": f'metric.type="{METRIC}"'} | interval | more))


def test_points_are_read_as_they_were_written_newest_first(ask: Any, cloud: Cloud) -> None:
    for second in (60, 120, 660):
        assert _point(ask, second, {"doubleValue": 0.0}).body == {}

    series = _read(ask).body["timeSeries"]

    assert [point["interval"]["endTime"] for point in series[0]["points"]] == [_time(120), _time(60)]
    assert series[0]["points"][0]["value"] == {"doubleValue": 0.0}
    assert (series[0]["metricKind"], series[0]["valueType"]) == ("GAUGE", "DOUBLE")
    assert series[0]["resource"] == {"type": "global", "labels": {"project_id": "shop-prod"}}
    assert cloud.clock.now() == NOON
    assert all(one["own"] for one in cloud.resources())


def test_series_are_told_apart_by_their_labels(ask: Any) -> None:
    _point(ask, 60, {"int64Value": "1"}, host="one")
    _point(ask, 60, {"int64Value": "2"}, host="two")

    assert len(_read(ask).body["timeSeries"]) == 2
    found = _read(ask, filter=f'metric.type="{METRIC}" AND metric.labels.host!="one"').body["timeSeries"]
    assert [one["metric"]["labels"]["host"] for one in found] == ["two"]
    assert "points" not in _read(ask, view="HEADERS").body["timeSeries"][0]


def test_points_are_written_in_order(ask: Any) -> None:
    _point(ask, 60, {"doubleValue": 1})

    refused = _point(ask, 60, {"doubleValue": 2})

    assert refused.status == 400
    assert "Points must be written in order" in refused.body["error"]["message"]


def test_points_are_aligned(ask: Any) -> None:
    for second, value in ((310, 1), (590, 3), (600, 8)):
        _point(ask, second, {"int64Value": str(value)})

    aligned = {"aggregation.alignmentPeriod": "300s", "aggregation.perSeriesAligner": "ALIGN_MEAN"}
    (series,) = _read(ask, **aligned).body["timeSeries"]

    assert series["points"] == [{"interval": {"startTime": _time(600), "endTime": _time(600)}, "value": {"doubleValue": 4.0}}]
    assert _read(ask, **(aligned | {"aggregation.alignmentPeriod": "1s"})).status == 400
    assert _read(ask, **(aligned | {"aggregation.perSeriesAligner": "ALIGN_RATE"})).status == 501
    assert _read(ask, **(aligned | {"aggregation.crossSeriesReducer": "REDUCE_SUM"})).status == 501


@pytest.mark.parametrize("query", [{"filter": 'resource.type="global"'}, {"interval.endTime": ""}, {"interval.endTime": "noon"}])
def test_series_are_asked_for_by_metric_and_time(ask: Any, query: dict[str, str]) -> None:
    assert _read(ask, **query).status == 400


def test_metric_is_described_once_it_is_written(ask: Any) -> None:
    _point(ask, 60, {"int64Value": "1"})
    descriptors = "v3/projects/{project}/metricDescriptors"

    described = ask("GET", HOST, f"{descriptors}/{METRIC}").body

    assert described == {
        "name": f"projects/shop-prod/metricDescriptors/{METRIC}",
        "type": METRIC,
        "labels": [{"key": "host"}],
        "metricKind": "GAUGE",
        "valueType": "INT64",
    }
    inside = ask("POST", HOST, descriptors, {"type": f"{METRIC}/depth", "metricKind": "GAUGE", "valueType": "INT64"}).body
    assert ask("DELETE", HOST, f"{descriptors}/{METRIC}").body == {}
    found = ask("GET", HOST, descriptors, filter='metric.type = starts_with("custom.googleapis.com/")').body
    assert found == {"metricDescriptors": [inside]}
    assert ask("POST", HOST, descriptors, {"type": "tpu.googleapis.com/mine"}).status == 400


def test_lists_of_googles_own_are_not_said_to_be_empty(ask: Any) -> None:
    assert ask("GET", HOST, "v3/projects/{project}/monitoredResourceDescriptors").status == 501
