"""A model and an endpoint that serves two of its versions, by the real engine: up, nothing to do, changes of each kind, drift, gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.engine.region import STACK, Region
from tests.engine.vertex import Vertex, model

OPTIONS = ("--stack", STACK, "--non-interactive")


def served(champion: int, **more: Any) -> dict[str, Any]:
    """The endpoint of the stack file."""
    return {
        "callers": [],
        "deployed_models": {
            "champion": {"model": "recommender@champion", "machine_type": "n1-standard-2", "traffic": champion, **more},
            "challenger": {"model": "recommender@candidate", "machine_type": "n1-standard-2", "traffic": 100 - champion},
        },
    }


def versions(endpoint: Vertex) -> dict[str, tuple[str, list[str]]]:
    """Version -> last letter of its image, its aliases."""
    return {one["versionId"]: (one["containerSpec"]["imageUri"][-1], sorted(one["versionAliases"])) for one in endpoint.versions}


def nothing(here: Region, *command: str) -> None:
    """Runs a command that is to change nothing."""
    done = here.pulumi(*command, "--expect-no-changes", *OPTIONS)
    assert done.code == 0, done.out + done.err


def outputs(here: Region) -> dict[str, Any]:
    """Outputs of the stack."""
    done = here.pulumi("stack", "output", "--json", "--stack", STACK)
    assert done.code == 0, done.out + done.err
    found: dict[str, Any] = done.json
    return found


def test_models_come_up_stay_change_and_go(base: dict[str, Any], region: Callable[[dict[str, Any]], Region]) -> None:
    """
    Shares and replicas change in place, a machine beside the old one, which the plan says; another image is another version in place, and
    one run uploads and deploys it; a destroy undeploys before the endpoint goes, and leaves no version.
    """
    base["accelform:models"] = {"recommender": model("a", env={"BATCH": "8"})}
    base["accelform:endpoints"] = {"recommend": served(90)}
    here = region(base)
    first = here.accelform("up", "--json")
    assert first.code == 0, first.out + first.err
    assert set(first.changes) == {"create"}
    endpoint = Vertex(here)
    assert endpoint.shares == {"champion": 90, "challenger": 10}
    assert versions(endpoint) == {"1": ("a", ["candidate", "champion", "default"])}
    nothing(here, "preview")
    # The endpoint's own resource notes the split that it got after it was made, once: and then nobody takes the split away for that.
    assert here.pulumi("refresh", "--yes", "--skip-preview", *OPTIONS).code == 0
    nothing(here, "refresh", "--yes", "--skip-preview")

    here.write(base | {"accelform:endpoints": {"recommend": served(50, max_replicas=2)}})
    before = {one["id"] for one in endpoint.deployed}
    changes = here.accelform("up", "--json").changes
    assert (set(changes), changes["update"]) == ({"same", "update"}, 1)  # of what the refresh noted, nothing is to be done
    assert endpoint.shares == {"champion": 50, "challenger": 50}
    assert {one["id"] for one in endpoint.deployed} == before

    other = served(50)
    other["deployed_models"]["champion"]["machine_type"] = "n1-standard-4"
    here.write(base | {"accelform:endpoints": {"recommend": other}})
    done = here.pulumi("up", "--yes", *OPTIONS)
    assert done.code == 0, done.out + done.err
    planned, _, updated = done.out.partition("Updating (")
    assert "champion: deployed anew beside the old one" in planned
    assert "~ 1 updated" in updated
    assert len({one["id"] for one in endpoint.deployed} - before) == 1
    assert endpoint.shares == {"champion": 50, "challenger": 50}

    # Drift: somebody gives all to one; a refresh sees it, and the next up puts it back.
    endpoint.give({one["id"]: 100 for one in endpoint.deployed if one["displayName"] == "challenger"})
    drift = here.pulumi("refresh", "--yes", "--skip-preview", *OPTIONS)
    assert drift.code == 0, drift.out + drift.err
    assert here.accelform("up", "--json").changes["update"] == 1
    assert endpoint.shares == {"champion": 50, "challenger": 50}

    base["accelform:models"] = {"recommender": model("b", env={"BATCH": "8"})}
    here.write(base | {"accelform:endpoints": {"recommend": other}})
    assert here.accelform("up", "--json").changes["update"] == 2
    assert versions(endpoint) == {"1": ("a", ["champion", "default"]), "2": ("b", ["candidate"])}
    assert {one["displayName"]: one["modelVersionId"] for one in endpoint.deployed} == {"champion": "1", "challenger": "2"}
    assert set(here.accelform("up", "--json").changes) == {"same"}

    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err


def test_another_endpoint_takes_its_models_along(base: dict[str, Any], region: Callable[[dict[str, Any]], Region]) -> None:
    """What makes the endpoint anew undeploys its models before, and deploys them on the new one; where it is reached is an output."""
    base["accelform:models"] = {"recommender": model()}
    one = {"callers": [], "model": "recommender", "machine_type": "n1-standard-2"}
    base["accelform:endpoints"] = {"recommend": one}
    here = region(base)
    assert set(here.accelform("up", "--json").changes) == {"create"}
    reached = outputs(here)
    assert reached["endpoint_dns"] == {"recommend": Vertex(here).endpoint["dedicatedEndpointDns"]}
    assert reached["endpoint_attachments"] == {}

    private = one | {"private_service_connect": {"projects": ["tw-shop-web"]}}
    here.write(base | {"accelform:endpoints": {"recommend": private}})
    changed = here.accelform("up", "--json")
    assert changed.changes["replace"] == 2, changed.out + changed.err
    assert Vertex(here).shares == {"champion": 100}
    (deployed,) = Vertex(here).deployed
    reached = outputs(here)
    assert reached["endpoint_dns"] == {}
    assert reached["endpoint_attachments"] == {"recommend": {"champion": deployed["privateEndpoints"]["serviceAttachment"]}}
    nothing(here, "preview")

    # Another list of projects is another endpoint, though the official provider would try to change it.
    private["private_service_connect"]["projects"].append("tw-shop-app")
    here.write(base | {"accelform:endpoints": {"recommend": private}})
    changed = here.accelform("up", "--json")
    assert changed.changes["replace"] == 2, changed.out + changed.err
    assert Vertex(here).endpoint["privateServiceConnectConfig"]["projectAllowlist"] == ["tw-shop-app", "tw-shop-web"]
