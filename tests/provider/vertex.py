"""Vertex AI in the sandbox, as tests of what is deployed there need it: endpoints, models, and what others do to them."""

from __future__ import annotations

from typing import Any

from driver import BASE, PROJECT, Sandbox

HOST = "aiplatform.googleapis.com"
REGION = "us-central1"
PLACE = f"projects/{PROJECT}/locations/{REGION}"
ENDPOINT = f"{PLACE}/endpoints/77"
MODEL = f"{PLACE}/models/recommender"


class Vertex:
    """Somebody else at the same cloud. Faults that a test sets do not strike them."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.cloud = sandbox.cloud
        self._http = sandbox.http()
        self.seen = 0

    def ask(self, method: str, path: str, body: Any = None, *, version: str = "v1", **query: str) -> dict[str, Any]:
        faults, self.cloud.faults = self.cloud.faults, type(self.cloud.faults)()
        try:
            answer = self._http.request(method, f"{BASE}/{HOST}/{version}/{path}", json=body, params=query)
            assert answer.status_code == 200, answer.text
            found: dict[str, Any] = answer.json()
            if "/operations/" in found.get("name", ""):
                for _ in range(2):  # the first look moves the clock to its end
                    found = self._http.get(f"{BASE}/{HOST}/v1/{found['name']}").json()
                assert "error" not in found, found
        finally:
            self.cloud.faults = faults
        return found

    def endpoint(self, name: str = ENDPOINT, **more: Any) -> None:
        where, _, id = name.rpartition("/")
        self.ask("POST", where, {"displayName": "recommend", **more}, endpointId=id)

    def upload(self, *aliases: str, model: str = MODEL) -> str:
        """A new version with the aliases."""
        where, _, id = model.rpartition("/")
        body = {"displayName": id, "containerSpec": {"imageUri": "us-docker.pkg.dev/p/r/i"}, "versionAliases": list(aliases)}
        there = self.cloud.store.get(HOST, model) is not None
        parent = {"parentModel": model} if there else {"modelId": id}
        return str(self.ask("POST", f"{where}:upload", {"model": body, **parent})["response"]["modelVersionId"])

    def alias(self, alias: str, version: str, model: str = MODEL) -> None:
        self.ask("POST", f"{model}@{version}:mergeVersionAliases", {"versionAliases": [alias]})

    def deploy(self, id: str = "", shown: str = "somebody's", endpoint: str = ENDPOINT, split: dict[str, int] | None = None) -> str:
        """A deployed model that no program of ours made."""
        resources = {"machineSpec": {"machineType": "n1-standard-4"}, "minReplicaCount": 1}
        body = {"model": MODEL, "displayName": shown, "dedicatedResources": resources} | ({"id": id} if id else {})
        return str(
            self.ask("POST", f"{endpoint}:deployModel", {"deployedModel": body, "trafficSplit": split or {}})["response"]["deployedModel"][
                "id"
            ]
        )

    def undeploy(self, id: str, endpoint: str = ENDPOINT) -> None:
        split = self.split(endpoint)
        if split.pop(id, None):
            if split:
                split[next(iter(split))] += 100 - sum(split.values())
            self.give(split, endpoint)
        self.ask("POST", f"{endpoint}:undeployModel", {"deployedModelId": id})

    def settle(self, endpoint: str = ENDPOINT) -> None:
        """Waits for what runs on the endpoint, however it ends."""
        for operation in self.ask("GET", f"{endpoint}/operations").get("operations", []):
            if not operation.get("done"):
                for _ in range(2):
                    self._http.get(f"{BASE}/{HOST}/v1/{operation['name']}")

    def body(self, endpoint: str = ENDPOINT) -> dict[str, Any]:
        """The endpoint as it is kept: nothing that runs is awaited."""
        return self.cloud.store.get(HOST, endpoint) or {}

    def deployed(self, endpoint: str = ENDPOINT) -> dict[str, dict[str, Any]]:
        return {one["id"]: one for one in self.body(endpoint).get("deployedModels", [])}

    def shares(self, endpoint: str = ENDPOINT) -> dict[str, int]:
        """Percent by display name."""
        split = self.split(endpoint)
        return {one["displayName"]: split[id] for id, one in self.deployed(endpoint).items() if id in split}

    def split(self, endpoint: str = ENDPOINT) -> dict[str, int]:
        return dict(self.body(endpoint).get("trafficSplit", {}))

    def give(self, split: dict[str, int], endpoint: str = ENDPOINT) -> None:
        self.ask("PATCH", endpoint, {"trafficSplit": split}, updateMask="trafficSplit")

    def calls(self) -> list[tuple[str, str]]:
        """Method and last word of the path of every call that changes something, since last asked."""
        every = list(self.cloud.calls)
        found, self.seen = every[self.seen :], len(every)
        return [(one["method"], one["path"].rpartition(":")[2].rpartition("/")[2]) for one in found if one["method"] != "GET"]
