"""What a version is made of: there and back in Google's form, and known by one mark however it is written."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from infra.provider import container
from infra.provider.values import UNKNOWN

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
PORT = st.integers(1, 65535)
PROBE = st.one_of(
    st.fixed_dictionaries(
        {"exec": st.fixed_dictionaries({"command": st.lists(TEXT, min_size=1)})}, optional={"periodSeconds": st.integers(1)}
    ),
    st.fixed_dictionaries({"httpGet": st.fixed_dictionaries({"path": TEXT, "port": PORT})}, optional={"failureThreshold": st.integers(1)}),
    st.fixed_dictionaries({"tcpSocket": st.fixed_dictionaries({"port": PORT})}),
)
INPUTS = st.fixed_dictionaries(
    {"imageUri": TEXT, "ports": st.lists(PORT, min_size=1, max_size=1), "predictRoute": TEXT, "healthRoute": TEXT},
    optional={
        "artifactUri": st.sampled_from(["gs://b", "gs://b/x/", "gs://b/x"]),
        "command": st.lists(TEXT, min_size=1),
        "args": st.lists(TEXT, min_size=1),
        "env": st.dictionaries(st.from_regex(r"[A-Z_]{1,3}", fullmatch=True), TEXT, min_size=1),
        "startupProbe": PROBE,
        "healthProbe": PROBE,
        "livenessProbe": PROBE,
        "sharedMemorySizeMb": st.integers(1, 10**6),
        "deploymentTimeout": st.sampled_from(["1s", "7200s"]),
    },
)


@given(INPUTS)
def test_what_is_sent_comes_back(inputs: dict[str, Any]) -> None:
    """By the wire's own form: what is read is what was written, and it has the same mark."""
    sent = json.loads(json.dumps(container.body(inputs)))
    assert container.inputs_of(sent) == inputs
    assert container.fingerprint(container.inputs_of(sent)) == container.fingerprint(inputs)
    assert re.fullmatch(r"[0-9a-f]{40}", container.fingerprint(inputs))


@given(INPUTS, INPUTS)
def test_two_have_one_mark_only_if_they_are_made_of_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """A folder with a slash at its end is the folder without."""

    def plain(inputs: dict[str, Any]) -> dict[str, Any]:
        return inputs | {"artifactUri": inputs.get("artifactUri", "").rstrip("/")}

    assert (container.fingerprint(one) == container.fingerprint(other)) == (plain(one) == plain(other))


def test_what_surrounds_it_is_no_part_of_it() -> None:
    inputs = {"imageUri": "i", "ports": [1], "predictRoute": "/p", "healthRoute": "/h"}
    more = inputs | {"displayName": "d", "labels": {"a": "b"}, "versionAliases": ["x"], "env": {}, "command": []}
    assert container.fingerprint(more) == container.fingerprint(inputs)
    assert (container.is_known(more | {"labels": UNKNOWN}), container.is_known(more | {"env": {"A": UNKNOWN}})) == (True, False)


def test_a_model_without_a_container_has_inputs_too() -> None:
    """One of AutoML, which an import may meet."""
    assert container.inputs_of({"name": "m"}) == {"imageUri": "", "ports": [], "predictRoute": "", "healthRoute": ""}
