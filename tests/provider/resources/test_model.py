"""Models over the sandbox: versions uploaded once, aliases where they belong, what a killed run left is adopted, gone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from driver import PROJECT, AbortedError, Driver, Sandbox
from google.protobuf import json_format
from pulumi.runtime.proto import provider_pb2

from infra.provider.resources.model import LABEL
from infra.provider.values import UNKNOWN, encode
from infra.sandbox.cloud import Request
from infra.sandbox.faults import Fault
from infra.wire import HIDDEN

TOKEN = "accelform:vertex:Model"
PLACE = f"projects/{PROJECT}/locations/asia-east1"
NAME = f"{PLACE}/models/recommender"
HOST = "aiplatform.googleapis.com"
IMAGE = "asia-east1-docker.pkg.dev/shop-prod/images/serve@sha256:"
OLD, NEW, NEWER = (IMAGE + digit * 64 for digit in "abc")
BUCKET = "shop-models"


def ask(sandbox: Sandbox, method: str, host: str, path: str, body: Any = None, **query: str) -> Any:
    """Somebody else's call."""
    answer = sandbox.cloud.handle(Request(method, host, path, query, json.dumps(body).encode() if body is not None else b""))
    assert answer.status == 200, answer.body
    return answer.body


def vertex(sandbox: Sandbox, method: str, path: str, body: Any = None, **query: str) -> Any:
    """The same of Vertex AI, with its operation's end."""
    answer = ask(sandbox, method, f"asia-east1-{HOST}", f"/v1/{path}", body, **query)
    while "/operations/" in answer.get("name", "") and not answer.get("done"):
        answer = ask(sandbox, "GET", f"asia-east1-{HOST}", f"/v1/{answer['name']}")
    return answer


def versions(sandbox: Sandbox) -> dict[str, list[str]]:
    """Images by their last letter -> aliases, by version; every upload that runs has ended."""
    sandbox.cloud.clock.advance(7200)
    if not any(name == NAME for _, name, _ in sandbox.cloud.store.every(HOST, NAME)):
        return {}
    found = vertex(sandbox, "GET", f"{NAME}:listVersions").get("models", [])
    return {f"{one['versionId']}{one['containerSpec']['imageUri'][-1]}": sorted(one.get("versionAliases", [])) for one in found}


def deploy(sandbox: Sandbox, version: str) -> str:
    """Somebody deploys a version; the endpoint's name."""
    endpoint: str = vertex(sandbox, "POST", f"{PLACE}/endpoints", {"displayName": "e"})["response"]["name"]
    machines = {"machineSpec": {"machineType": "n1-standard-2"}, "minReplicaCount": 1}
    body = {"deployedModel": {"id": "7", "model": f"{NAME}@{version}", "dedicatedResources": machines}, "trafficSplit": {"7": 100}}
    vertex(sandbox, "POST", f"{endpoint}:deployModel", body)
    return endpoint


def undeploy(sandbox: Sandbox, endpoint: str) -> None:
    vertex(sandbox, "POST", f"{endpoint}:undeployModel", {"deployedModelId": "7"})


def calls(sandbox: Sandbox, method: str, ends: str) -> int:
    return sum(one["method"] == method and one["path"].endswith(ends) for one in sandbox.cloud.calls)


@pytest.fixture
def bucket(sandbox: Sandbox) -> Callable[..., None]:
    """Makes a bucket."""

    def make(name: str, location: str) -> None:
        ask(sandbox, "POST", "storage.googleapis.com", "/storage/v1/b", {"name": name, "location": location}, project=PROJECT)

    return make


@pytest.fixture
def inputs(provider: Driver, bucket: Callable[..., None]) -> dict[str, Any]:
    """A model with everything that a version is made of, as Check leaves it."""
    bucket(BUCKET, "ASIA-EAST1")
    return provider.checked(
        TOKEN,
        {
            "project": PROJECT,
            "location": "asia-east1",
            "modelId": "recommender",
            "displayName": "Recommender",
            "description": "What a shopper may want next",
            "labels": {"owner": "ml-team"},
            "imageUri": OLD,
            "artifactUri": f"gs://{BUCKET}/recommender/1/",
            "ports": [8080],
            "predictRoute": "/predict",
            "healthRoute": "/health",
            "command": ["serve"],
            "args": ["--batch", "8"],
            "env": {"A_KEY": "k-123456", "B": "$(A_KEY)"},
            "startupProbe": {"httpGet": {"path": "/start", "port": 8080}, "periodSeconds": 5, "failureThreshold": 60},
            "healthProbe": {"exec": {"command": ["true"]}},
            "livenessProbe": {"grpc": {"port": 8081}},
            "sharedMemorySizeMb": 512,
            "deploymentTimeout": "1800s",
            "versionDescription": "the first",
            "versionAliases": ["candidate"],
            "firstAliases": ["champion"],
        },
    )


def test_it_comes_stays_and_goes(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """What is read is what was written; nothing of it is asked for twice; all of it goes."""
    id, state = provider.create(TOKEN, inputs)
    assert id == NAME
    assert state == inputs | {
        "name": NAME,
        "versionId": "1",
        "versionName": f"{NAME}@1",
        "aliases": {"candidate": "1", "champion": "1", "default": "1"},
        "versions": [
            {
                "versionId": "1",
                "createTime": state["versions"][0]["createTime"],
                "imageUri": OLD,
                "aliases": ["candidate", "champion", "default"],
            }
        ],
    }
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)
    found = vertex(sandbox, "GET", NAME)
    assert (found["containerSpec"]["env"][0], found["containerSpec"]["sharedMemorySizeMb"]) == (
        {"name": "A_KEY", "value": "k-123456"},
        "512",
    )
    assert calls(sandbox, "POST", "models:upload") == 1
    assert calls(sandbox, "PATCH", "@1") == 0
    provider.delete(TOKEN, id, state)
    provider.delete(TOKEN, id, state)
    assert (versions(sandbox), provider.read(TOKEN, id, state, inputs)[0]) == ({}, "")


@pytest.mark.parametrize(
    "change",
    [
        {"imageUri": NEW},
        {"artifactUri": f"gs://{BUCKET}/recommender/2/"},
        {"env": {"A_KEY": "other"}},
        {"ports": [9090]},
        {"predictRoute": "/p"},
        {"livenessProbe": {"tcpSocket": {"port": 1}}},
        {"command": None},
    ],
)
def test_what_it_is_made_of_makes_a_version(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], change: dict[str, Any]) -> None:
    """Never a replacement: the endpoints that serve the old one go on."""
    id, state = provider.create(TOKEN, inputs)
    new = {key: value for key, value in (inputs | change).items() if value is not None}
    found = provider.diff(TOKEN, inputs, new, state)
    assert (len(found.detailedDiff) > 0, list(found.replaces)) == (True, [])
    made = provider.update(TOKEN, id, state, inputs, new)
    assert (made["versionId"], made["aliases"]) == ("2", {"candidate": "2", "champion": "1", "default": "1"})
    assert provider.read(TOKEN, id, made, new) == (id, made, new)


def test_what_surrounds_it_changes_in_place(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Names and description on every version, labels and the version's own description on the described one."""
    id, state = provider.create(TOKEN, inputs)
    second = inputs | {"imageUri": NEW}
    state = provider.update(TOKEN, id, state, inputs, second)
    new = second | {"displayName": "R", "description": "d", "labels": {"owner": "others", "x": "1"}, "versionDescription": "the second"}
    made = provider.update(TOKEN, id, state, second, new)
    assert made == state | {key: new[key] for key in ("displayName", "description", "labels", "versionDescription")}
    assert calls(sandbox, "POST", "models:upload") == 2
    listed = vertex(sandbox, "GET", f"{NAME}:listVersions")["models"]
    assert [one["displayName"] for one in listed] == ["R", "R"]
    assert [one["versionDescription"] for one in listed] == ["the first", "the second"]
    assert [one["labels"]["owner"] for one in listed] == ["ml-team", "others"]
    less = {key: value for key, value in new.items() if key not in ("labels", "description")}
    made = provider.update(TOKEN, id, made, new, less)
    assert not {"labels", "description"} & made.keys()
    assert provider.read(TOKEN, id, made, less) == (id, made, less)


def test_only_its_name_makes_another(provider: Driver, inputs: dict[str, Any]) -> None:
    elsewhere = inputs | {"modelId": "other", "location": "us-east5", "project": "shop-dev"}
    assert sorted(provider.diff(TOKEN, inputs, elsewhere).replaces) == ["location", "modelId", "project"]


def test_going_back_moves_the_alias_and_uploads_nothing(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    id, state = provider.create(TOKEN, inputs)
    new = inputs | {"imageUri": NEW}
    state = provider.update(TOKEN, id, state, inputs, new)
    state = provider.update(TOKEN, id, state, new, inputs)
    assert (state["versionId"], state["aliases"]["candidate"]) == ("1", "1")
    assert versions(sandbox) == {"1a": ["candidate", "champion", "default"], "2b": []}


# Aliases


def test_an_alias_that_others_moved_stays_there(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """A gate made the second version champion: the third upload, an update and going back leave it."""
    id, state = provider.create(TOKEN, inputs)
    second, third = inputs | {"imageUri": NEW}, inputs | {"imageUri": NEWER}
    state = provider.update(TOKEN, id, state, inputs, second)
    vertex(sandbox, "POST", f"{NAME}@2:mergeVersionAliases", {"versionAliases": ["champion"]})
    state = provider.update(TOKEN, id, state, second, third)
    state = provider.update(TOKEN, id, state, third, inputs)
    assert versions(sandbox) == {"1a": ["candidate", "default"], "2b": ["champion"], "3c": []}
    assert provider.read(TOKEN, id, state, inputs)[2] == inputs


def test_an_own_alias_that_others_moved_is_drift(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Refresh sees it, and the next update gives it back."""
    id, state = provider.create(TOKEN, inputs)
    new = inputs | {"imageUri": NEW}
    state = provider.update(TOKEN, id, state, inputs, new)
    vertex(sandbox, "POST", f"{NAME}@1:mergeVersionAliases", {"versionAliases": ["candidate"]})
    _, state, read = provider.read(TOKEN, id, state, new)
    assert list(provider.diff(TOKEN, read, new, state).diffs) == ["versionAliases"]
    provider.update(TOKEN, id, state, read, new)
    assert versions(sandbox) == {"1a": ["champion", "default"], "2b": ["candidate"]}


def test_an_alias_that_left_the_list_goes_unless_somebody_moved_it(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    before = inputs | {"versionAliases": ["candidate", "nightly", "default"]}
    id, state = provider.create(TOKEN, before)
    new = inputs | {"imageUri": NEW, "versionAliases": ["fresh"]}
    state = provider.update(TOKEN, id, state, before, before | {"imageUri": NEW})
    vertex(sandbox, "POST", f"{NAME}@1:mergeVersionAliases", {"versionAliases": ["nightly"]})
    provider.update(TOKEN, id, state, before | {"imageUri": NEW}, new)
    assert versions(sandbox) == {"1a": ["champion", "nightly"], "2b": ["default", "fresh"]}


def test_an_alias_that_is_handed_over_stays(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """From the resource's to whoever moves it."""
    id, state = provider.create(TOKEN, inputs)
    new = inputs | {"imageUri": NEW, "versionAliases": [], "firstAliases": ["champion", "candidate"]}
    provider.update(TOKEN, id, state, inputs, new)
    assert versions(sandbox) == {"1a": ["candidate", "champion", "default"], "2b": []}


# Versions that go


def test_old_versions_that_nobody_uses_go(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """What is deployed or has an alias stays, however old; so does the described one."""
    old = inputs | {"firstAliases": []}
    id, state = provider.create(TOKEN, old)
    for letter in "bcdef":
        new = old | {"imageUri": IMAGE + letter * 64}
        state = provider.update(TOKEN, id, state, old, new)
        old = new
    endpoint = deploy(sandbox, "2")
    new = old | {"keepVersions": 2}
    state = provider.update(TOKEN, id, state, old, new)
    assert versions(sandbox) == {"1a": ["default"], "2b": [], "5e": [], "6f": ["candidate"]}
    assert [one["versionId"] for one in state["versions"]] == ["1", "2", "5", "6"]
    undeploy(sandbox, endpoint)
    back = new | {"imageUri": NEW, "keepVersions": 1}
    provider.update(TOKEN, id, state, new, back)
    assert versions(sandbox) == {"1a": ["default"], "2b": ["candidate"], "6f": []}


def test_a_deployed_model_is_not_deleted_and_it_is_said_where(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    id, state = provider.create(TOKEN, inputs)
    endpoint = deploy(sandbox, "1")
    provider.waits.clear()
    with pytest.raises(AbortedError, match=f"is deployed, and cannot be deleted\n  deployed on: {endpoint}\n"):
        provider.delete(TOKEN, id, state)
    assert sum(provider.waits) == 0
    undeploy(sandbox, endpoint)
    provider.delete(TOKEN, id, state)
    assert versions(sandbox) == {}


LATE = Fault(
    do="error",
    at=1,
    method="DELETE",
    path="models/recommender$",
    code=400,
    status="FAILED_PRECONDITION",
    message='The Model "m" is deployed or being deployed at the following Endpoint(s): e.',
)


def test_what_was_undeployed_a_moment_ago_is_waited_for(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Vertex AI refuses for a while after an undeploy: https://github.com/googleapis/python-aiplatform/issues/2807."""
    id, state = provider.create(TOKEN, inputs)
    provider.waits.clear()
    sandbox.cloud.faults.add(LATE)
    sandbox.cloud.faults.add(LATE)
    provider.delete(TOKEN, id, state)
    assert (versions(sandbox), [wait for wait in provider.waits if wait >= 1]) == ({}, [1, 2])


def test_that_wait_has_an_end(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Five minutes; then it is said in Google's words."""
    id, state = provider.create(TOKEN, inputs)
    provider.waits.clear()
    sandbox.cloud.faults.add(Fault(do="error", method="DELETE", code=400, status="FAILED_PRECONDITION", message=LATE.message))
    with pytest.raises(AbortedError, match="deployed at the following Endpoint"):
        provider.delete(TOKEN, id, state)
    assert sum(provider.waits) == 300


# What goes wrong


@pytest.mark.parametrize("do", ["lost", "drop", "error"])
@pytest.mark.parametrize("at", range(1, 9))
def test_a_call_that_fails_makes_no_second_version(do: str, at: int, sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Whichever call it is: the answer lost, the connection cut, the service away."""
    id, state = provider.create(TOKEN, inputs)
    new = inputs | {"imageUri": NEW, "displayName": "R", "labels": {"owner": "others"}}
    sandbox.cloud.faults.add(Fault(do=do, at=at))
    state = provider.update(TOKEN, id, state, inputs, new)
    assert versions(sandbox) == {"1a": ["champion", "default"], "2b": ["candidate"]}
    assert provider.read(TOKEN, id, state, new) == (id, state, new)


@pytest.mark.parametrize("do", ["lost", "drop", "error"])
def test_a_first_upload_whose_answer_is_lost(do: str, sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """The upload still runs, and nothing is listed yet: it is found by its operation, and waited for."""
    sandbox.cloud.faults.add(Fault(do=do, at=1, method="POST", path="models:upload"))
    _, state = provider.create(TOKEN, inputs)
    assert (state["versionId"], versions(sandbox)) == ("1", {"1a": ["candidate", "champion", "default"]})


def test_an_upload_that_nobody_answers_for_is_kept_in_the_state(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """It may have begun: a destroy takes away what came of it, a refresh says what did."""
    sandbox.cloud.faults.add(Fault(do="drop", method="POST", path="models:upload"))
    with pytest.raises(AbortedError, match="no answer") as error:
        provider.create(TOKEN, inputs)
    assert error.value.detail.id == NAME
    assert calls(sandbox, "POST", "models:upload") == 4
    state = json_format.MessageToDict(error.value.detail.properties)
    assert (state["versionId"], state["versions"]) == ("", [])
    assert provider.read(TOKEN, NAME, state, inputs)[0] == ""
    sandbox.cloud.faults.clear()
    assert provider.update(TOKEN, NAME, state, inputs, inputs)["versionId"] == "1"


def test_a_run_that_was_killed_is_taken_up(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """After the upload began: the state knows nothing, and the next create waits for it."""
    sandbox.cloud.faults.add(Fault(do="drop", at=1, method="GET", path="/operations/", times=99))
    with pytest.raises(AbortedError) as error:
        provider.create(TOKEN, inputs)
    assert error.value.detail.id == NAME
    sandbox.cloud.faults.clear()
    _, state = provider.create(TOKEN, inputs)
    assert (state["versionId"], calls(sandbox, "POST", "models:upload")) == ("1", 1)


def test_what_a_killed_run_left_is_told(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Nothing, an upload that runs, a model; and one of others is not it. What runs stays in the state over a refresh."""
    from infra.provider.resources.model import Model

    google = provider.provider._google
    assert google is not None
    assert Model(google).there(inputs) == ""
    sandbox.cloud.faults.add(Fault(do="drop", at=1, method="GET", path="/operations/", times=99))
    with pytest.raises(AbortedError):
        provider.create(TOKEN, inputs)
    sandbox.cloud.faults.clear()
    assert Model(google).there(inputs) == NAME
    id, state, read = provider.read(TOKEN, NAME, {}, inputs)
    assert (id, state["versionId"], read) == (NAME, "", inputs)
    assert provider.update(TOKEN, NAME, state, inputs, inputs)["versionId"] == "1"
    assert Model(google).there(inputs) == NAME
    vertex(sandbox, "PATCH", NAME, {"labels": {}}, updateMask="labels")
    assert Model(google).there(inputs) == ""


def test_an_upload_that_fails_leaves_what_was(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """In Google's words; nothing for the state to keep."""
    sandbox.cloud.faults.add(Fault(do="fail", at=1, path="models/recommender", message="The image is not there"))
    with pytest.raises(AbortedError, match="The image is not there") as error:
        provider.create(TOKEN, inputs)
    assert (error.value.detail, versions(sandbox)) == (None, {})
    id, state = provider.create(TOKEN, inputs)
    sandbox.cloud.faults.add(Fault(do="fail", at=1, path="models/recommender", message="The image is not there"))
    with pytest.raises(AbortedError, match="The image is not there") as error:
        provider.update(TOKEN, id, state, inputs, inputs | {"imageUri": NEW})
    assert (error.value.detail, list(versions(sandbox))) == (None, ["1a"])


def test_a_cancel_keeps_the_upload_in_the_state(sandbox: Sandbox, inputs: dict[str, Any]) -> None:
    """The upload goes on at Google's side: the state has its model, and the next run takes the version."""
    provider = Driver(sandbox.http(), lambda seconds: calls(sandbox, "POST", "models:upload") > 0)
    with pytest.raises(AbortedError, match="cancelled") as error:
        provider.create(TOKEN, inputs)
    state = json_format.MessageToDict(error.value.detail.properties)
    assert (error.value.detail.id, state["versionId"]) == (NAME, "")
    again = Driver(sandbox.http())
    assert again.read(TOKEN, NAME, state, inputs)[0] == NAME
    assert again.update(TOKEN, NAME, state, inputs, inputs)["versionId"] == "1"
    assert calls(sandbox, "POST", "models:upload") == 1


def test_a_cancel_before_anything_began_keeps_nothing(sandbox: Sandbox, inputs: dict[str, Any]) -> None:
    provider = Driver(sandbox.http(), lambda seconds: True)
    with pytest.raises(AbortedError, match="cancelled") as error:
        provider.create(TOKEN, inputs)
    assert error.value.detail is None


def test_a_slow_upload_runs_into_the_programs_timeout(sandbox: Sandbox, inputs: dict[str, Any]) -> None:
    """It is not lost: a destroy waits for it and takes it away."""
    sandbox.cloud.clock.manual = True
    seconds = iter(range(0, 10**6, 20))
    provider = Driver(sandbox.http(), now=lambda: float(next(seconds)))
    request = provider_pb2.CreateRequest(urn=provider.urn(TOKEN), properties=encode(inputs), timeout=60)
    from driver import Context

    with pytest.raises(AbortedError, match="has not ended within 1 minutes") as error:
        provider.provider.Create(request, Context())
    assert (error.value.detail.id, list(versions(sandbox))) == (NAME, ["1a"])
    provider.delete(TOKEN, NAME, json_format.MessageToDict(error.value.detail.properties))
    assert versions(sandbox) == {}


def test_a_version_whose_aliases_fail_is_in_the_state_as_it_is(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Uploaded, yet the alias it was to lose is still there: the next update takes it away, and uploads nothing."""
    before = inputs | {"versionAliases": ["candidate", "nightly"]}
    id, state = provider.create(TOKEN, before)
    new = inputs | {"imageUri": NEW}
    sandbox.cloud.faults.add(Fault(do="error", at=1, path="mergeVersionAliases", code=403, status="PERMISSION_DENIED", message="no"))
    with pytest.raises(AbortedError, match="403: no") as error:
        provider.update(TOKEN, id, state, before, new)
    kept = json_format.MessageToDict(error.value.detail.properties)
    assert (kept["versionId"], kept["aliases"]["nightly"], kept["versionAliases"]) == ("2", "1", ["candidate", "nightly"])
    provider.update(TOKEN, id, kept, new, new)
    assert versions(sandbox) == {"1a": ["champion", "default"], "2b": ["candidate"]}


def test_two_programs_at_once_leave_one_version(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Both upload the same: the older one stays, with all aliases, in both states."""
    id, state = provider.create(TOKEN, inputs)
    new = inputs | {"imageUri": NEW}
    made: list[dict[str, Any]] = []
    together = threading.Barrier(2, timeout=20)
    http = sandbox.http()

    def upload_together(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("models:upload"):
            together.wait()
        return sandbox(request)

    def run() -> None:
        other = Driver(httpx.Client(transport=httpx.MockTransport(upload_together)))
        made.append(other.update(TOKEN, id, state, inputs, new))

    programs = [threading.Thread(target=run) for _ in range(2)]
    for one in programs:
        one.start()
    for one in programs:
        one.join(timeout=30)
    assert [one["versionId"] for one in made] == ["2", "2"]
    assert calls(sandbox, "POST", "models:upload") == 3
    assert versions(sandbox) == {"1a": ["champion", "default"], "2b": ["candidate"]}
    assert Driver(http).read(TOKEN, id, made[0], new)[1]["versions"] == made[-1]["versions"]


def test_two_first_uploads_at_once(sandbox: Sandbox, inputs: dict[str, Any]) -> None:
    """One is told that the model is there, and takes what the other one uploads."""
    made: list[dict[str, Any]] = []
    together = threading.Barrier(2, timeout=20)

    def upload_together(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("models:upload") and not together.broken and calls(sandbox, "POST", "models:upload") == 0:
            together.wait()
        return sandbox(request)

    def run() -> None:
        made.append(Driver(httpx.Client(transport=httpx.MockTransport(upload_together))).create(TOKEN, inputs)[1])

    programs = [threading.Thread(target=run) for _ in range(2)]
    for one in programs:
        one.start()
    for one in programs:
        one.join(timeout=30)
    assert [one["versionId"] for one in made] == ["1", "1"]
    assert versions(sandbox) == {"1a": ["candidate", "champion", "default"]}


# What others did


def test_a_model_of_others_is_not_taken(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    body = {"model": {"displayName": "theirs", "containerSpec": {"imageUri": OLD}}, "modelId": "recommender"}
    vertex(sandbox, "POST", f"{PLACE}/models:upload", body)
    with pytest.raises(AbortedError, match=r"modelId: .* is there, and nothing says that accelform uploaded it\n  fix: import it"):
        provider.create(TOKEN, inputs)
    assert list(versions(sandbox)) == ["1a"]


def test_it_is_imported_by_its_name(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Also one that others uploaded: a program that says the same changes nothing. What may be secret is kept as a secret."""
    spec = {
        "imageUri": OLD,
        "ports": [{"containerPort": 8080}],
        "predictRoute": "/predict",
        "healthRoute": "/health",
        "env": [{"name": "A_KEY", "value": "k-123456"}],
        "healthProbe": {"exec": {"command": ["true"]}},
    }
    model = {"displayName": "theirs", "versionAliases": ["nightly"], "containerSpec": spec}
    vertex(sandbox, "POST", f"{PLACE}/models:upload", {"modelId": "recommender", "model": model})
    id, state, read = provider.read(TOKEN, NAME)
    assert read == {
        "project": PROJECT,
        "location": "asia-east1",
        "modelId": "recommender",
        "displayName": "theirs",
        "allowTag": False,
        "imageUri": OLD,
        "ports": [8080],
        "predictRoute": "/predict",
        "healthRoute": "/health",
        "env": {"A_KEY": "k-123456"},
        "healthProbe": {"exec": {"command": ["true"]}},
        "versionAliases": ["nightly"],
    }
    answer = provider.provider.Read(provider_pb2.ReadRequest(urn=provider.urn(TOKEN), id=NAME), None)
    for one in (answer.inputs, answer.properties):
        assert HIDDEN in json.dumps(json_format.MessageToDict(one)["env"])
    assert provider.checked(TOKEN, read) == read
    made = provider.update(TOKEN, id, state, read, read | {"displayName": "ours"})
    assert (made["versionId"], list(versions(sandbox))) == ("1", ["1a"])
    assert LABEL in vertex(sandbox, "GET", NAME)["labels"]


@pytest.mark.parametrize("id", ["recommender", f"{NAME}@1", NAME.replace(PROJECT, "123456"), ""])
def test_no_other_name_is_imported(provider: Driver, id: str) -> None:
    with pytest.raises(AbortedError, match="is no name of a model here\n  allowed: projects/shop-prod/locations/asia-east1/models/"):
        provider.read(TOKEN, id)


def test_drift_is_seen_and_mended(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Labels that somebody changed, ours too; Google's own are nobody's."""
    id, state = provider.create(TOKEN, inputs)
    body = {"labels": {"owner": "somebody", "goog-x": "y"}, "displayName": "theirs"}
    vertex(sandbox, "PATCH", NAME, body, updateMask="labels,displayName")
    _, state, read = provider.read(TOKEN, id, state, inputs)
    assert (read["labels"], read["imageUri"]) == ({"owner": "somebody"}, OLD)
    assert sorted(provider.diff(TOKEN, read, inputs, state).detailedDiff) == ["displayName", "labels.owner"]
    provider.update(TOKEN, id, state, read, inputs)
    found = vertex(sandbox, "GET", NAME)
    assert (found["labels"]["owner"], found["labels"]["goog-x"], found["displayName"]) == ("ml-team", "y", "Recommender")
    changes = calls(sandbox, "PATCH", "@1")
    provider.update(TOKEN, id, state, inputs, inputs)
    assert (calls(sandbox, "PATCH", "@1"), list(versions(sandbox))) == (changes, ["1a"])


def test_a_version_that_somebody_deleted_is_uploaded_again(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Refresh describes the newest that is left: the next update differs from it."""
    id, state = provider.create(TOKEN, inputs)
    new = inputs | {"imageUri": NEW, "env": {"A_KEY": "second"}}
    state = provider.update(TOKEN, id, state, inputs, new)
    vertex(sandbox, "DELETE", f"{NAME}@2:deleteVersion")
    _, state, read = provider.read(TOKEN, id, state, new)
    assert (state["versionId"], read["imageUri"], read["env"]["A_KEY"]) == ("1", OLD, "k-123456")
    assert "imageUri" in provider.diff(TOKEN, read, new, state).diffs
    assert provider.update(TOKEN, id, state, read, new)["versionId"] == "3"


def test_a_model_that_somebody_deleted_comes_again(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    id, state = provider.create(TOKEN, inputs)
    vertex(sandbox, "DELETE", NAME)
    new = inputs | {"displayName": "R"}
    assert provider.update(TOKEN, id, state, inputs, new)["versionId"] == "1"
    assert versions(sandbox) == {"1a": ["candidate", "champion", "default"]}


def test_a_change_between_read_and_patch_is_read_again(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """By its etag; nothing of anybody is written over unseen."""
    id, state = provider.create(TOKEN, inputs)
    refused = Fault(do="error", at=1, method="PATCH", code=409, status="ABORTED", message="The etag does not match")
    sandbox.cloud.faults.add(refused)
    made = provider.update(TOKEN, id, state, inputs, inputs | {"displayName": "R"})
    assert (made["displayName"], calls(sandbox, "PATCH", "@1")) == ("R", 2)


# Where it stands


@pytest.mark.parametrize(
    ("location", "said"),
    [("US-EAST5", "stands in us-east5\n"), ("ASIA", "stands in asia, a multi-region\n"), ("ASIA1", "stands in asia1, a dual-region\n")],
)
def test_files_must_be_in_the_models_region(
    location: str, said: str, sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], bucket: Callable[..., None]
) -> None:
    """It is said before the upload, with the way out."""
    bucket("elsewhere", location)
    with pytest.raises(AbortedError) as error:
        provider.create(TOKEN, inputs | {"artifactUri": "gs://elsewhere/x"})
    assert str(error.value).startswith(f"artifactUri: gs://elsewhere {said}")
    assert "fix: copy the files to a bucket in asia-east1" in str(error.value)
    assert calls(sandbox, "POST", "models:upload") == 0


@pytest.mark.parametrize(("code", "said"), [(403, "Error 403"), (404, "Error 404")])
def test_a_bucket_that_nobody_may_look_at_is_said(code: int, said: str, sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    sandbox.cloud.faults.add(Fault(do="error", path="storage.*/b/", code=code, message="no"))
    with pytest.raises(
        AbortedError, match=f"artifactUri: where gs://{BUCKET} stands is not known: .*{said}.*\n  fix: grant storage.buckets.get"
    ):
        provider.create(TOKEN, inputs)


def test_calls_go_to_the_models_region() -> None:
    """The host is made from the location, and nothing else can say it."""
    hosts: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        hosts.append(request.url.host)
        return httpx.Response(404, json={"error": {"message": "no"}})

    from infra.provider.google import Google, Settings
    from infra.provider.registry import Registry

    google = Google(Settings(), lambda seconds: False, http=httpx.Client(transport=httpx.MockTransport(answer)))
    google._authorize = lambda request, headers: None  # type: ignore[method-assign]
    assert Registry(google, PROJECT, "europe-west4", "m").versions() == []
    assert hosts == ["europe-west4-aiplatform.googleapis.com"]


# Before anything is called


def test_a_preview_calls_nobody(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """The image is not built yet."""
    before = len(sandbox.cloud.calls)
    _, state = provider.create(TOKEN, inputs | {"imageUri": UNKNOWN}, preview=True)
    assert (state["name"], state["versionId"], state["imageUri"], state["ports"]) == (NAME, UNKNOWN, UNKNOWN, [8080])
    assert len(sandbox.cloud.calls) == before


def test_a_preview_knows_what_stays(provider: Driver, inputs: dict[str, Any]) -> None:
    """A description uploads nothing, so that what refers to the version sees no change; an image does."""
    id, state = provider.create(TOKEN, inputs)
    said = provider.update(TOKEN, id, state, inputs, inputs | {"description": "d"}, preview=True)
    assert said == state | {"description": "d"}
    moved = provider.update(TOKEN, id, state, inputs, inputs | {"versionAliases": ["x"]}, preview=True)
    assert (moved["versionId"], moved["aliases"]) == ("1", UNKNOWN)
    for image in (NEW, UNKNOWN):
        new = provider.update(TOKEN, id, state, inputs, inputs | {"imageUri": image}, preview=True)
        assert (new["name"], new["versionId"], new["versionName"], new["versions"]) == (NAME, UNKNOWN, UNKNOWN, UNKNOWN)


def test_secrets_stay_secret(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """In the state, in a refresh, and in Google's words."""
    from driver import Context

    path = {("env", "A_KEY")}
    made = provider.provider.Create(provider_pb2.CreateRequest(urn=provider.urn(TOKEN), properties=encode(inputs, path)), Context())
    request = provider_pb2.ReadRequest(urn=provider.urn(TOKEN), id=NAME, properties=made.properties, inputs=encode(inputs, path))
    read = provider.provider.Read(request, Context())
    for one in (made.properties, read.properties, read.inputs):
        env = json_format.MessageToDict(one)["env"]
        assert (HIDDEN in json.dumps(env["A_KEY"]), env["B"]) == (True, "$(A_KEY)")
    sandbox.cloud.faults.add(Fault(do="error", path="models:upload", code=400, message="bad value k-123456 of A_KEY"))
    request = provider_pb2.UpdateRequest(
        urn=provider.urn(TOKEN),
        id=NAME,
        olds=made.properties,
        old_inputs=encode(inputs, path),
        news=encode(inputs | {"imageUri": NEW}, path),
    )
    with pytest.raises(AbortedError, match=r"bad value \[secret\] of A_KEY"):
        provider.provider.Update(request, Context())


def test_routes_and_port_have_no_default(provider: Driver, inputs: dict[str, Any]) -> None:
    """All that is missing at once."""
    bare = {key: inputs[key] for key in ("project", "location", "modelId", "displayName", "imageUri")}
    _, failures = provider.check(TOKEN, bare)
    assert sorted(failures) == ["healthRoute", "ports", "predictRoute"]
    assert all("is missing" in reason for reason in failures.values())


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        ({"project": "My First Project"}, "project", "the project's id"),
        ({"project": "123456789012"}, "project", "not its number"),
        ({"location": "global"}, "location", "a region"),
        ({"modelId": "9lives"}, "modelId", "a letter or _ first"),
        ({"displayName": ""}, "displayName", "has 0 characters"),
        ({"displayName": "x" * 129}, "displayName", "has 129 characters"),
        ({"labels": {"Owner": "x"}}, "labels.Owner", "no key of a label"),
        ({"labels": {"goog-x": "x"}}, "labels.goog-x", "no key of a label"),
        ({"labels": {LABEL: "x"}}, f"labels.{LABEL}", "no key of a label"),
        ({"labels": {"owner": "ML Team"}}, "labels.owner", "is no label"),
        ({"labels": {f"k{n}": "v" for n in range(64)}}, "labels", "has 64 labels"),
        ({"imageUri": "serve:latest"}, "imageUri", "no image of Artifact Registry"),
        ({"imageUri": "asia-east1-docker.pkg.dev/p/r/serve:7"}, "imageUri", "has no digest"),
        ({"imageUri": OLD.replace("asia-east1", "us")}, "imageUri", "stands in us, not in asia-east1"),
        ({"artifactUri": "/recommender/1"}, "artifactUri", "no folder of a bucket"),
        ({"ports": []}, "ports", "has 0 ports"),
        ({"ports": [8080, 8081]}, "ports", "to the first alone"),
        ({"ports": [0]}, "ports[0]", "1 to 65535"),
        ({"predictRoute": "predict"}, "predictRoute", "begins with /"),
        ({"healthRoute": ""}, "healthRoute", "begins with /"),
        ({"env": {"1A": "x"}}, "env.1A", "no name of a variable"),
        ({"env": {"A": "$(B)", "B": "x"}}, "env.A", "refers to B"),
        ({"env": {"A": "x" * 200_000}}, "env.A", "has 200002 bytes"),
        ({"env": {f"A{n}": "x" for n in range(201)}}, "env", "has 201 variables"),
        ({"env": {f"A{n}": "x" * 120_000 for n in range(5)}}, "env", "bytes\n  allowed: 524288"),
        ({"healthProbe": {}}, "healthProbe", "asks in 0 ways"),
        ({"healthProbe": {"exec": {"command": []}, "grpc": {"port": 1}}}, "healthProbe", "asks in 2 ways"),
        ({"startupProbe": {"grpc": {"port": 70000}}}, "startupProbe.grpc.port", "1 to 65535"),
        ({"startupProbe": {"grpc": {"port": 1}, "periodSeconds": 0}}, "startupProbe.periodSeconds", "1 or more"),
        ({"sharedMemorySizeMb": 0}, "sharedMemorySizeMb", "no size"),
        ({"deploymentTimeout": "30m"}, "deploymentTimeout", "1s to 7200s"),
        ({"deploymentTimeout": "0060s"}, "deploymentTimeout", "1s to 7200s"),
        ({"deploymentTimeout": "0s"}, "deploymentTimeout", "1s to 7200s"),
        ({"healthProbe": {"exec": {"command": []}}}, "healthProbe.exec.command", "runs nothing"),
        ({"env": {'a"b': "x"}}, 'env["a\\"b"]', "is no name of a variable"),
        ({"deploymentTimeout": "7201s"}, "deploymentTimeout", "1s to 7200s"),
        ({"versionAliases": ["1"]}, "versionAliases[0]", "is no alias"),
        ({"firstAliases": ["default"]}, "firstAliases[0]", "is Google's"),
        ({"firstAliases": ["candidate"]}, "firstAliases[0]", "is in versionAliases too"),
        ({"keepVersions": 0}, "keepVersions", "keeps none"),
        ({"keepVersions": "3"}, "keepVersions", "is not a whole number"),
    ],
)
def test_what_is_refused(provider: Driver, inputs: dict[str, Any], change: dict[str, Any], path: str, reason: str) -> None:
    """Before any call, in one place each."""
    _, failures = provider.check(TOKEN, inputs | change)
    assert list(failures) == [path]
    assert failures[path].startswith(f"{path}: ")
    assert reason in failures[path]


def test_no_message_shows_a_variable(provider: Driver, inputs: dict[str, Any]) -> None:
    """Also one that no program marked as secret."""
    _, failures = provider.check(TOKEN, inputs | {"env": {"1": "hunter2", "A": "hunter2$(Z)", "B": "hunter2" * 20_000, "Z": "y"}})
    assert len(failures) == 3
    assert "hunter2" not in str(failures)


def test_a_tag_is_allowed_where_it_is_asked_for(provider: Driver, inputs: dict[str, Any]) -> None:
    _, failures = provider.check(TOKEN, inputs | {"imageUri": "asia-east1-docker.pkg.dev/p/r/serve:7", "allowTag": True})
    assert failures == {}


def test_what_is_not_known_yet_is_not_judged(provider: Driver, inputs: dict[str, Any]) -> None:
    _, failures = provider.check(TOKEN, dict.fromkeys(inputs, UNKNOWN) | {"ports": [UNKNOWN], "versionAliases": [UNKNOWN]})
    assert failures == {}


# Versions that a job uploads


@pytest.fixture
def trained(provider: Driver) -> dict[str, Any]:
    """A model that has no version until a job's first night."""
    place = {"project": PROJECT, "location": "asia-east1", "modelId": "recommender", "displayName": "Recommender"}
    return provider.checked(TOKEN, place | {"labels": {"owner": "ml-team"}, "uploadedBy": "job train"})


def trains(sandbox: Sandbox, run: str, *aliases: str) -> None:
    """A job's runner registers a version."""
    there = any(name == NAME for _, name, _ in sandbox.cloud.store.every(HOST, NAME))
    labels = {"accelform-job": "train", "accelform-run": run}
    body = {"displayName": "Recommender", "containerSpec": {"imageUri": OLD}, "labels": labels, "versionAliases": list(aliases)}
    where = {"parentModel": NAME} if there else {"modelId": "recommender"}
    assert "error" not in vertex(sandbox, "POST", f"{PLACE}/models:upload", {"model": body, **where})


def test_a_job_uploads_what_the_program_does_not(sandbox: Sandbox, provider: Driver, trained: dict[str, Any]) -> None:
    """Nothing is asked of the registry but what is there; versions that come are shown and are no drift; all of them go."""
    empty = {"name": NAME, "versionId": "", "versionName": "", "aliases": {}, "versions": []}
    id, state = provider.create(TOKEN, trained)
    assert (id, state) == (NAME, trained | empty)
    assert calls(sandbox, "POST", "models:upload") == 0
    assert provider.read(TOKEN, id, state, trained) == (id, state, trained)

    trains(sandbox, "20261201t180000z", "candidate", "champion")
    trains(sandbox, "20261202t180000z", "candidate")
    id, state, found = provider.read(TOKEN, id, state, trained)
    assert found == trained
    assert state["aliases"] == {"default": "1", "champion": "1", "candidate": "2"}
    assert [(one["versionId"], one["aliases"]) for one in state["versions"]] == [("1", ["champion", "default"]), ("2", ["candidate"])]
    assert not provider.diff(TOKEN, trained, found, state).detailedDiff
    asked = sum(one["method"] != "GET" for one in sandbox.cloud.calls)
    assert provider.update(TOKEN, id, state, trained, trained | {"displayName": "Other"}) == state | {"displayName": "Other"}
    assert sum(one["method"] != "GET" for one in sandbox.cloud.calls) == asked

    provider.delete(TOKEN, id, state)
    assert versions(sandbox) == {}
    provider.delete(TOKEN, id, state)


def test_a_model_without_a_version_is_deleted_well(provider: Driver, trained: dict[str, Any], sandbox: Sandbox) -> None:
    id, state = provider.create(TOKEN, trained)
    provider.delete(TOKEN, id, state)
    assert all(one["method"] == "GET" for one in sandbox.cloud.calls if HOST in one["host"])


def test_a_preview_knows_its_name(provider: Driver, trained: dict[str, Any]) -> None:
    _, state = provider.create(TOKEN, trained, preview=True)
    assert (state["name"], state["versionId"]) == (NAME, "")
    assert state["versions"] is UNKNOWN


def test_what_is_of_a_version_is_the_jobs_to_say(provider: Driver, trained: dict[str, Any]) -> None:
    more = {"imageUri": OLD, "ports": [8080], "versionAliases": ["candidate"], "keepVersions": 3}
    _, failures = provider.check(TOKEN, trained | more)
    assert sorted(failures) == sorted(more)
    assert "goes not with uploadedBy" in failures["imageUri"]
    _, failures = provider.check(TOKEN, {name: value for name, value in trained.items() if name != "uploadedBy"})
    assert sorted(failures) == ["healthRoute", "imageUri", "ports", "predictRoute"]


def test_an_import_finds_whose_it_is(sandbox: Sandbox, provider: Driver, trained: dict[str, Any]) -> None:
    trains(sandbox, "20261201t180000z", "candidate")
    id, state, found = provider.read(TOKEN, NAME)
    assert found == {name: value for name, value in trained.items() if name != "labels"}
    assert provider.read(TOKEN, id, state, found) == (id, state, found)


def test_an_earlier_night_is_adopted_and_somebody_elses_model_is_not(
    sandbox: Sandbox, provider: Driver, trained: dict[str, Any], inputs: dict[str, Any]
) -> None:
    vertex(sandbox, "POST", f"{PLACE}/models:upload", {"model": {"displayName": "theirs"}, "modelId": "recommender"})
    with pytest.raises(AbortedError, match="nothing says that accelform uploaded it"):
        provider.create(TOKEN, trained)
    trains(sandbox, "20261201t180000z")
    assert len(provider.create(TOKEN, trained)[1]["versions"]) == 2


def test_a_program_hands_a_model_to_a_job_and_takes_it_back(
    sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], trained: dict[str, Any]
) -> None:
    """What it uploaded stays, and its aliases too."""
    id, state = provider.create(TOKEN, inputs)
    state = provider.update(TOKEN, id, state, inputs, trained)
    assert versions(sandbox) == {"1a": ["candidate", "champion", "default"]}
    trains(sandbox, "20261201t180000z", "candidate")
    state = provider.update(TOKEN, id, state, trained, inputs | {"imageUri": NEW})
    assert versions(sandbox) == {"1a": ["champion", "default"], "2a": [], "3b": ["candidate"]}
