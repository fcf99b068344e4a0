"""
Recorded answers of Google Cloud against the sandbox's, case by case, in this process.

The recordings and the comparison are beside the repository, and are not part of it: without them these tests are skipped. Cases that do
not pass are listed, each with its reason, in `conformance.yaml`; the list is held exact both ways.
"""

from __future__ import annotations

import importlib.util
import json
import random
import re
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from ruamel.yaml import YAML

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Answer, Cloud, Request
from infra.sandbox.services import SERVICES

RECORDED = Path(__file__).parents[3] / "shared" / "conformance"
TABLE = Path(__file__).with_name("conformance.yaml")
HOSTS = {"billing": "billingbudgets", "resourcemanager": "cloudresourcemanager"}
"""Services that the recordings call otherwise than their host."""
UNFIT = ("ambiguous_names", "stale_read", "op_error")
"""Flags of cases that no server can pass."""
MADE_BY_NOBODY = re.compile(r"/global/networks/\$\{(\w+)\}(?:\?|$)")
"""A network that a case reads before all else: the recorder took the name of the project's `default` for an id."""
OF_A_PROJECT = re.compile(r"cloudresourcemanager\.googleapis\.com/v\d/projects/[^/:?]+(?:\?|$)")
JOB = re.compile(r'/jobs/([^/"$]+\$\{uniqueId\})"')
"""Name of a Cloud Run job in answers; in paths the recorder wrote a placeholder of its own for it."""
PROJECT = "conformance-project"
BESIDE = "shared-reservations-project"
"""A project of the recorder's that cases name without making it."""
MASK = "abcdef0123A="
NOON = 1_796_040_000.0


def cases() -> list[Any]:
    """The cases of the sandbox's services, each by its id."""
    ours = {service.host.partition(".")[0] for service in SERVICES}
    found = []
    for file in sorted(RECORDED.glob("*.json")):
        for case in json.loads(file.read_text(encoding="utf-8"))["cases"]:
            if HOSTS.get(case["service"], case["service"]) in ours and case["rest_only"] and not any(case[flag] for flag in UNFIT):
                found.append(pytest.param(case, id=case["id"]))
    return found or [pytest.param(None, marks=pytest.mark.skip(reason=f"no recordings in {RECORDED}"))]


@pytest.fixture(scope="module")
def replay() -> ModuleType:
    """The comparison that comes with the recordings."""
    spec = importlib.util.spec_from_file_location("recorded_replay", RECORDED / "replay.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Of times it ignores the values, but does not know these two of Cloud Storage; nor a version of GKE's, and counts of nodes and of steps
    # there, which lag behind or follow no rule.
    own = "timeCreated|updated|resourceVersion|currentNodeCount|podIpv4RangeUtilization|defaultPodIpv4RangeUtilization|intValue"
    module.VOLATILE = re.compile(rf"{module.VOLATILE.pattern}|^({own})$")
    return module


@pytest.fixture(scope="module")
def known() -> dict[str, str]:
    """Cases that do not pass -> why."""
    return dict(YAML(typ="safe").load(TABLE.read_text(encoding="utf-8")))


def differences(replay: ModuleType, case: Any) -> list[str]:
    """What the sandbox answers unlike the recording."""
    cloud = Cloud(clock=Clock(start=NOON, real=lambda: NOON), masked=[MASK])
    for project in (PROJECT, BESIDE):
        cloud.projects.make(project)
    bind = replay.Bindings(PROJECT, random.Random(case["id"]))
    first = case["steps"][0]
    if first["method"] == "GET" and first["status"] == 200 and (network := MADE_BY_NOBODY.search(first["url"])):
        bind[network[1]] = "default"
    if job := JOB.search(json.dumps(case)):
        bind["jobID"] = bind.fill(job[1])
    if not any(step["method"] == "POST" and step["url"].partition("?")[0].endswith("/projects") for step in case["steps"]):
        bind["projectNumber"] = cloud.projects.number(PROJECT)  # else it is the number of the project that the case makes
    found: list[str] = []
    names: dict[str, str] = {}
    for number, recorded in enumerate(case["steps"]):
        step = renamed(recorded, names)
        answer = asked(cloud, step, bind)
        polls = step.get("lro") == "poll" and step.get("lro_done")
        while polls and answer.status < 400 and not replay.finished(answer.body):
            answer = asked(cloud, step, bind)
        where = f"{number} {step['method']} {step['url'].partition('?')[0]}"
        if answer.status != step["status"]:
            return [*found, f"{where}: {answer.status} for {step['status']}: {json.dumps(answer.body)}"]
        if step.get("lro") == "start":
            # One placeholder stands for all operations of a case: each that starts has its own value, as has what it makes.
            for name in names_in(step["response_body"]["name"]) - names_in(step["url"]):
                bind.pop(name, None)
        if OF_A_PROJECT.search(step["url"]):
            bind.pop("projectNumber", None)  # one placeholder, too, for the numbers of all projects of a case
        unlike: list[Any] = []
        learn(names, recorded["response_body"], answer.body)
        step = renamed(recorded, names)
        if step["response_body"] is not None:
            replay.compare(step["response_body"], answer.body, bind, "", unlike, case["recorded_from"] == "real")
        found += [f"{where} {path}: {kind}: {json.dumps(want)} is {json.dumps(got)}" for path, kind, want, got in unlike]
    return found


def renamed(step: Any, names: dict[str, str]) -> Any:
    """A step with the names that this server made up, in place of the recorded ones."""
    text = json.dumps(step)
    for was, becomes in names.items():
        text = text.replace(was, becomes)
    return json.loads(text)


def learn(names: dict[str, str], recorded: Any, answered: Any) -> None:
    """Takes note of names that GKE makes up: of the nodes' groups, and of the range of the pods."""
    if isinstance(recorded, dict) and isinstance(answered, dict):
        for key in recorded.keys() & answered.keys():
            if key == "instanceGroupUrls":
                for was, becomes in zip(recorded[key], answered[key], strict=False):
                    if was.endswith("-grp"):
                        names[was.rpartition("/")[2].removesuffix("-grp")] = becomes.rpartition("/")[2].removesuffix("-grp")
            elif key == "instanceTemplate" and "/gke-" in str(recorded[key]):
                names[recorded[key].rpartition("/")[2]] = answered[key].rpartition("/")[2]
            elif key == "clusterSecondaryRangeName" and recorded[key].startswith("gke-"):
                names[recorded[key][-8:]] = answered[key][-8:]
            else:
                learn(names, recorded[key], answered[key])
    elif isinstance(recorded, list) and isinstance(answered, list):
        for was, becomes in zip(recorded, answered, strict=False):
            learn(names, was, becomes)


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\$\{(\w+)\}", text))


def asked(cloud: Cloud, step: Any, bind: Any) -> Answer:
    url = urlsplit(bind.fill(step["url"]).replace(":443", ""))
    query = {key: value for key, value in parse_qsl(url.query, keep_blank_values=True) if key not in ("prettyPrint", "alt")}
    # The recorder wrote some paths decoded: what is quoted already stays as it is.
    path = quote(re.sub(r"^/ui/", "/v1/", url.path), safe="/:@$,~+=%").lstrip("/")
    body = b"" if step["request_body"] is None else json.dumps(bind.fill(step["request_body"])).encode()
    return cloud.handle(Request(step["method"], url.netloc, path, query, body))


@pytest.mark.parametrize("case", cases())
def test_answers_as_recorded(case: Any, replay: ModuleType, known: dict[str, str]) -> None:
    found = differences(replay, case)
    if case["id"] in known:
        assert found, f"passes now: take {case['id']} out of {TABLE.name}"
    else:
        assert not found, "\n".join(found)


def test_the_list_names_cases_that_are_there(known: dict[str, str]) -> None:
    ids = {case.id for case in cases()}
    if None in ids:
        pytest.skip(f"no recordings in {RECORDED}")
    assert known.keys() <= ids
    assert all(known.values())
