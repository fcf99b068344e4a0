"""What Google's front end says of a body before a service sees it."""

from __future__ import annotations

from typing import Any

import pytest

from infra.sandbox.discovery import document
from infra.sandbox.refused import Refused
from infra.sandbox.schema import checked, without_empty


def node(body: dict[str, Any]) -> dict[str, Any]:
    return checked(document("tpu.v2"), "Node", body)


def test_keeps_what_may_be_sent_and_drops_what_only_the_server_says() -> None:
    sent = {
        "acceleratorType": "v2-8",
        "state": "READY",
        "health_description": "fine",
        "networkConfig": {"enable_external_ips": "true"},
        "tags": None,
    }
    assert node(sent) == {"acceleratorType": "v2-8", "networkConfig": {"enableExternalIps": True}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"foo": 1}, 'Invalid JSON payload received. Unknown name "foo": Cannot find field.'),
        ({"networkConfig": {"foo": 1}}, "Invalid JSON payload received. Unknown name \"foo\" at 'networkConfig': Cannot find field."),
        ({"networkConfig": "default"}, "Invalid value at 'networkConfig' (TYPE_MESSAGE), \"default\""),
        ({"acceleratorType": 8}, "Invalid value at 'acceleratorType' (TYPE_STRING), 8"),
        ({"schedulingConfig": {"spot": 1}}, "Invalid value at 'schedulingConfig.spot' (TYPE_BOOL), 1"),
        ({"tags": ["a", 1]}, "Invalid value at 'tags[1]' (TYPE_STRING), 1"),
        ({"acceleratorConfig": {"type": "V99"}}, "Invalid value at 'acceleratorConfig.type' (TYPE_ENUM), \"V99\""),
    ],
)
def test_refuses_in_the_front_ends_words(body: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        node(body)
    assert refused.value.message == message
    assert refused.value.body("status")["error"]["code"] == 400


@pytest.mark.parametrize(("value", "kept"), [("12", "12"), (12, "12")])
def test_a_64_bit_number_is_text(value: object, kept: str) -> None:
    body = checked(document("billingbudgets.v1"), "GoogleTypeMoney", {"units": value})
    assert body == {"units": kept}


@pytest.mark.parametrize("value", ["1.5", 1.5, True, "", []])
def test_what_is_no_64_bit_number_is_refused(value: object) -> None:
    with pytest.raises(Refused):
        checked(document("billingbudgets.v1"), "GoogleTypeMoney", {"units": value})


def test_empty_values_vanish_and_a_set_message_stays() -> None:
    assert without_empty({"a": False, "b": 0, "c": "", "d": [], "e": {}, "f": {"g": False}, "h": [{"i": 0}]}) == {
        "e": {},
        "f": {},
        "h": [{}],
    }
