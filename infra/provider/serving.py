"""
One Vertex AI endpoint and what is deployed on it: the calls, each done once, whatever answer is lost.

- A deploy carries no traffic; the split is patched afterwards, with the endpoint's etag, anew when somebody else changed it meanwhile.
- What is undeployed has no traffic before. Neither call carries an etag or a split: its "0" stands only for what is being deployed.
- What is deployed is what the endpoint lists, never the keys of its split: a model without traffic is not among those.
- A call whose answer was lost is not sent again blindly: running operations are awaited, then the endpoint says what became of it.

An operation does not say which model it deploys (DeployModelOperationMetadata), so a later run waits for all that run there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.provider.calls import ATTEMPTS, FIRST_BACKOFF_SECONDS, GoogleError, OperationError, UnclearError, UnfinishedError
from infra.provider.deployed_model import BETA, V1, DeployedModel, Mutation, redeployable
from infra.provider.google import OPERATION_SECONDS, Google
from infra.provider.server import ProviderError

ENDPOINTS = "projects.locations.endpoints"
ALREADY = (409, 412)
"""It is there, it is in progress, or the etag is an old one."""

Split = Mapping[str, int]


class NoSuchModelError(ProviderError):
    """A model, or a version of it, is not there."""


@dataclass(frozen=True, slots=True)
class Look:
    """An endpoint at one moment."""

    name: str
    """Full name, with the project's number."""
    etag: str
    deployed: Mapping[str, dict[str, Any]]
    """Deployed models as the API has them, by id."""
    split: Split
    """Percent of the traffic by id; only what has some."""
    one_model: bool
    """Whether the endpoint is peered to a network: it takes one model and has no split. Source: Google's guide "Use private services access
    endpoints for online inference". An endpoint by Private Service Connect is not of that kind."""


class Serving:
    """
    One endpoint.

    Args:
        google: Google's APIs.
        endpoint: Full name: `projects/P/locations/R/endpoints/E`.
        seconds: How long all operations together may take. (default: an hour each)
    """

    def __init__(self, google: Google, endpoint: str, seconds: float | None = None) -> None:
        self.google = google
        self.endpoint = endpoint
        self.place = endpoint.split("/")[3]
        self.began = False
        """Whether anything was sent that changes the endpoint."""
        self.last: Look | None = None
        """What was seen last."""
        self._deadline = google.now() + seconds if seconds else None

    def look(self, *, beta: bool = False) -> Look:
        """
        The endpoint now.

        Args:
            beta: Whether to ask for the fields that only v1beta1 has, too. (default: where replicas may be none: it has some)

        Raises:
            GoogleError: There is no such endpoint (404), or Google refused.
        """
        body = self.google.call(V1, f"{ENDPOINTS}.get", place=self.place, name=self.endpoint)
        deployed = {one["id"]: one for one in body.get("deployedModels", [])}
        if deployed and (beta or any(_scales_to_zero(one) for one in deployed.values())):
            wide = self.google.call(BETA, f"{ENDPOINTS}.get", place=self.place, name=self.endpoint)
            for one in wide.get("deployedModels", []):
                if one["id"] in deployed:
                    more = {key: one["dedicatedResources"][key] for key in _BETA_FIELDS if key in one.get("dedicatedResources", {})}
                    if more:
                        first = deployed[one["id"]]
                        deployed[one["id"]] = first | {"dedicatedResources": first.get("dedicatedResources", {}) | more}
        split = {id: share for id, share in body.get("trafficSplit", {}).items() if share}
        self.last = Look(str(body.get("name", self.endpoint)), str(body.get("etag", "")), deployed, split, bool(body.get("network")))
        return self.last

    def settle(self) -> None:
        """
        Waits for every operation that runs on the endpoint, whoever began it and however it ends.

        Raises:
            UnfinishedError: One of them did not end in time.
        """
        for operation in self.running():
            try:
                self.google.finished(V1, operation, place=self.place, seconds=self._left())
            except UnfinishedError:
                raise
            except OperationError:
                continue  # whoever began it is told; here only its end counts

    def running(self) -> list[dict[str, Any]]:
        """Operations on the endpoint that have not ended."""
        every = self.google.pages(V1, f"{ENDPOINTS}.operations.list", "operations", place=self.place, name=self.endpoint)
        return [operation for operation in every if not operation.get("done")]

    def resolve(self, reference: str) -> str:
        """
        The version that `projects/P/locations/R/models/M@alias` means now.

        Raises:
            NoSuchModelError: There is no such model, or no such version.
        """
        try:
            found = self.google.call(V1, "projects.locations.models.get", place=reference.split("/")[3], name=reference)
        except GoogleError as error:
            if error.code == 404:
                raise NoSuchModelError(f"{reference}: there is no such model, or no version of that alias\n  {error}") from None
            raise
        return str(found["versionId"])

    def meant(self, reference: str) -> str:
        """The same; empty where it means none any more."""
        try:
            return self.resolve(reference)
        except NoSuchModelError:
            return ""

    def wanted(self, name: str, given: Mapping[str, Any]) -> DeployedModel:
        """One of the resource's `deployedModels` as it is to be deployed now: its alias resolved."""
        model, _, _ = str(given["model"]).partition("@")
        settings = {key: value for key, value in given.items() if key not in ("model", "traffic")}
        return DeployedModel(name, self.endpoint, model, self.resolve(str(given["model"])), settings)

    def deploy(self, model: DeployedModel) -> dict[str, Any]:
        """
        Deploys a model, without traffic, and answers it as it stands. One of its id that is there is it: an earlier run was cut off.

        Raises:
            GoogleError: Google refused the call: nothing began.
            UnfinishedError: It did not end in time; it may end yet, and the next run finds it.
            OperationError: It failed, and nothing of it is left.
        """
        self._deploy(model.api, model.body())
        found = self.look().deployed.get(model.id)
        if found is None:
            raise ProviderError(f"{model.name}: {model.id} was deployed, and somebody undeployed it at once")
        if found.get("modelVersionId") != model.version:
            raise ProviderError(
                f"{model.name}: {model.id} is the id of version {found.get('modelVersionId')} too, by chance\n  fix: give it another name"
            )
        return found

    def restore(self, live: Mapping[str, Any]) -> None:
        """Deploys once more what was undeployed."""
        self._deploy(*redeployable(live))

    def mutate(self, id: str, mutation: Mutation) -> None:
        """Changes a deployed model in place. Doing it twice is doing it once, so a lost answer costs nothing."""
        body = {"deployedModel": {"id": id, **mutation.fields}, "updateMask": ",".join(mutation.mask)}
        self._run(mutation.api, "mutateDeployedModel", body, lambda look: False, safe=True)

    def split(self, wanted: Split | Callable[[Look], Split]) -> None:
        """
        Gives the traffic by whole percent: 100 together, or none at all. A private endpoint has none to give.

        Args:
            wanted: Percent by id, or how it follows from what is there.

        Raises:
            ProviderError: It names what is not deployed.
        """
        backoff = FIRST_BACKOFF_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            look = self.look()
            if look.one_model:
                return
            goal = {id: share for id, share in (wanted(look) if callable(wanted) else wanted).items() if share}
            if missing := sorted(set(goal) - set(look.deployed)):
                raise ProviderError(f"{self.endpoint}: {', '.join(missing)} is to get traffic and is not deployed any more")
            if goal == look.split:
                return
            body = {"trafficSplit": goal} | ({"etag": look.etag} if look.etag else {})
            self.began = True
            try:
                self.google.call(V1, f"{ENDPOINTS}.patch", place=self.place, name=self.endpoint, updateMask="trafficSplit", body=body)
                return
            except GoogleError as error:
                if error.code not in ALREADY or attempt == ATTEMPTS:
                    raise
            self.google.wait(backoff)
            backoff *= 2

    def undeploy(self, id: str) -> None:
        """
        Undeploys one, and gives its traffic to those that have some already, before. That it is not there is well.

        Raises:
            OperationError: It failed.
        """
        look = self.look()
        if id not in look.deployed:
            return
        if id in look.split:
            self.split(lambda now: without(now.split, [id]))
        try:
            self._run(V1, "undeployModel", {"deployedModelId": id}, lambda now: id not in now.deployed)
        except GoogleError as error:
            if error.code != 404:
                raise

    def _deploy(self, api: str, body: dict[str, Any]) -> None:
        id = body["id"]
        if id in self.look().deployed:
            return
        try:
            self._run(api, "deployModel", {"deployedModel": body}, lambda look: id in look.deployed)
        except UnfinishedError:
            raise
        except OperationError:
            self.undeploy(id)
            raise

    def _run(self, api: str, verb: str, body: dict[str, Any], is_done: Callable[[Look], bool], *, safe: bool = False) -> None:
        """Does a call of the endpoint that begins an operation, and waits for its end."""
        backoff = FIRST_BACKOFF_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            self.began = True
            try:
                operation = self.google.call(api, f"{ENDPOINTS}.{verb}", place=self.place, safe=safe, endpoint=self.endpoint, body=body)
                self.google.finished(api, operation, place=self.place, seconds=self._left())
                return
            except (UnclearError, GoogleError) as error:
                if attempt == ATTEMPTS or (isinstance(error, GoogleError) and error.code not in ALREADY):
                    raise
            self.google.wait(backoff)
            backoff *= 2
            self.settle()
            if is_done(self.look()):
                return

    def _left(self) -> float | None:
        """Seconds until the deadline; at least a glance at what has ended."""
        return None if self._deadline is None else min(max(self._deadline - self.google.now(), 0.001), OPERATION_SECONDS)


def _scales_to_zero(live: Mapping[str, Any]) -> bool:
    return "dedicatedResources" in live and not live["dedicatedResources"].get("minReplicaCount")


_BETA_FIELDS = ("scaleToZeroSpec", "initialReplicaCount", "flexStart")


def without(split: Split, ids: Iterable[str]) -> dict[str, int]:
    """A split without some: the rest gets theirs, in its proportions; whole percent that make 100, or none where nothing is left."""
    gone = set(ids)
    return shared({id: share for id, share in split.items() if share and id not in gone})


def shared(weights: Mapping[str, int], total: int = 100) -> dict[str, int]:
    """*total* in whole parts, as near to *weights* as they can be."""
    whole = sum(weights.values())
    if not whole:
        return {}
    found = {id: weight * total // whole for id, weight in weights.items()}
    by_rest = sorted(weights, key=lambda id: (-(weights[id] * total % whole), id))
    for id in by_rest[: total - sum(found.values())]:
        found[id] += 1
    return {id: share for id, share in found.items() if share}
