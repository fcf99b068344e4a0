"""`accelform:vertex:DeployedModels`: what is deployed on one endpoint, and each one's share of its traffic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infra.provider import deployed_check, deployed_set
from infra.provider.deployed_model import FIXED, SCALING, DeployedModel, needs_beta, normal, own_model, settings_of
from infra.provider.deployed_set import Goal, Held
from infra.provider.google import GoogleError
from infra.provider.resource import Change, FailedAfterMadeError, Failure, Made, Note, Resource, differences
from infra.provider.schema import resource
from infra.provider.server import ProviderError
from infra.provider.serving import Look, Serving
from infra.provider.values import Unknown

DEFAULTS = {"update": "surge", "foreign": "refuse"}
HELD_KEYS = {"traffic": ("traffic",), "model": ("model",), "replicas": SCALING}
WAYS = ("update", "foreign", "held")
"""Inputs that say how something is changed, and are no change themselves."""


class DeployedModels(Resource):
    """What is deployed on one endpoint."""

    token = "accelform:vertex:DeployedModels"  # noqa: S105 - a type's name

    @classmethod
    def held(cls, inputs: Mapping[str, Any]) -> Held:
        """
        What a controller decides for now: neither compared nor changed.

        The one place that says so. By itself it is the input `held`; whoever keeps holds elsewhere adds them here.
        """
        given = inputs.get("held")
        return frozenset(str(one) for one in given if not isinstance(one, Unknown)) if isinstance(given, list) else frozenset()

    @classmethod
    def check(cls, inputs: Mapping[str, Any]) -> Iterator[Failure]:
        return deployed_check.failures(inputs)

    @classmethod
    def changes(cls, old: Mapping[str, Any], new: Mapping[str, Any], state: Mapping[str, Any]) -> Iterable[Change]:
        """Differences by name, and what an earlier run or somebody else left on the endpoint."""
        held = cls.held(new)
        for change in differences(resource(cls.token)["inputProperties"], old, new):
            if change.path[0] not in WAYS and not _is_held(change.path, held):
                yield change
        if state.get("leftovers") and "traffic" not in held:
            yield Change(("leftovers",), "DELETE", input=False)
        if state.get("others") and new.get("foreign") != "keep":
            yield Change(("others",), "DELETE", input=False)

    @classmethod
    def notes(cls, old: Mapping[str, Any], new: Mapping[str, Any], state: Mapping[str, Any]) -> Iterator[Note]:
        """What a new deployment means for quota and service."""
        held = cls.held(new)
        changed = [change.path for change in differences(resource(cls.token)["inputProperties"], old, new)]
        anew = sorted({str(path[1]) for path in changed if len(path) > 2 and path[2] in ("model", *FIXED) and not _is_held(path, held)})
        if not anew:
            return
        if state.get("oneModel") or new.get("update") == "in-place":
            why = "a private endpoint takes one model" if state.get("oneModel") else "update is in-place"
            alone = state.get("oneModel") or len(new.get("deployedModels", {})) == 1
            means = "nothing serves until the new one does: minutes" if alone else "the others take its traffic until the new one serves"
            yield Note(f"{', '.join(anew)}: undeployed, then deployed anew ({why}): {means}", warns=bool(alone))
        else:
            yield Note(f"{', '.join(anew)}: deployed anew beside the old one, which goes after it: until then both count against the quota")

    def create(self, inputs: dict[str, Any]) -> Made:
        return self._reach(inputs)

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        return self._reach(new, is_there=True)

    def read(self, id: str, state: dict[str, Any], inputs: dict[str, Any]) -> Made | None:
        deployed_check.check_id(id)
        serving = Serving(self.google, id, self.seconds)
        try:
            look = serving.look(beta=not inputs or _beta(inputs))
        except GoogleError as error:
            if error.code == 404:
                return None
            raise
        return _made(look, inputs or DEFAULTS | {"endpoint": id, "deployedModels": {}}, self.held(inputs), serving)

    def delete(self, id: str, state: dict[str, Any]) -> None:
        serving = Serving(self.google, id, self.seconds)
        try:
            serving.settle()
            look = serving.look()
        except GoogleError as error:
            if error.code == 404:
                return
            raise
        deployed_set.take_away(serving, look, [one["id"] for one in (state.get("deployed") or {}).values()])

    def _reach(self, inputs: dict[str, Any], *, is_there: bool = False) -> Made:
        """
        Raises:
            FailedAfterMadeError: Something of it is there, or may come yet.
        """
        held = self.held(inputs)
        serving = Serving(self.google, inputs["endpoint"], self.seconds)
        try:
            serving.settle()
            look = serving.look(beta=_beta(inputs))
            deployed_set.reach(serving, look, _goal(serving, look, inputs, held))
            look = serving.look(beta=_beta(inputs))
        except ProviderError as error:
            raise self._failed(serving, inputs, error, is_there) from None
        return _made(look, inputs, held)

    def _failed(self, serving: Serving, inputs: dict[str, Any], error: ProviderError, is_there: bool) -> ProviderError:
        """What the engine is told: with the true state, unless nothing was done, or nothing is left of a create."""
        if not serving.began or serving.last is None:
            return error
        look, quiet = serving.last, False
        try:
            quiet = not serving.running()
            look = serving.look(beta=_beta(inputs))
        except ProviderError:
            quiet = False  # the error that is told is the first one
        if quiet and not is_there and not deployed_set.ours(look):
            return error
        return FailedAfterMadeError(str(error), _made(look, inputs, self.held(inputs)))


def _goal(serving: Serving, look: Look, inputs: Mapping[str, Any], held: Held) -> Goal:
    models = {}
    for name, given in inputs["deployedModels"].items():
        ids = deployed_set.named(look, name)
        if "model" in held and ids:
            settings = {key: value for key, value in given.items() if key not in ("model", "traffic")}
            version = str(look.deployed[ids[0]]["modelVersionId"])
            models[name] = DeployedModel(name, serving.endpoint, given["model"].partition("@")[0], version, settings)
        else:
            models[name] = serving.wanted(name, given)
    traffic = {name: given["traffic"] for name, given in inputs["deployedModels"].items()}
    return Goal(models, traffic, inputs.get("update") == "in-place", inputs.get("foreign", "refuse"), held)


def _made(look: Look, inputs: Mapping[str, Any], held: Held, serving: Serving | None = None) -> Made:
    """
    The resource as it is.

    Args:
        inputs: The program's: what is as they say is written as they write it.
        serving: Asked whether an alias still means what is deployed. (default: it does, as after an update)
    """
    names = sorted({str(live["displayName"]) for live in deployed_set.ours(look).values()})
    given: Mapping[str, Any] = inputs["deployedModels"]
    ids = {name: deployed_set.named(look, name) for name in names}
    found = {}
    for name in names:
        live = look.deployed[ids[name][0]]
        share = sum(look.split.get(id, 0) for id in ids[name])
        traffic = given.get(name, {}).get("traffic", 100) if look.one_model else share
        found[name] = _one(live, look, inputs, given.get(name, {}), traffic, held, serving)
    now = {**inputs, "deployedModels": found}
    outputs = now | {
        "deployed": {name: {"id": ids[name][0], "version": str(look.deployed[ids[name][0]].get("modelVersionId", ""))} for name in names},
        "others": deployed_set.foreign(look),
        "leftovers": sorted(id for name in names for id in ids[name][1:]),
        "oneModel": look.one_model,
    }
    return Made(str(inputs["endpoint"]), outputs, now)


def _one(
    live: Mapping[str, Any],
    look: Look,
    inputs: Mapping[str, Any],
    given: Mapping[str, Any],
    traffic: int,
    held: Held,
    serving: Serving | None,
) -> dict[str, Any]:
    """One deployed model as a program would write it; a default is left out where the program leaves it out."""
    is_so = settings_of(live)
    wants, has = normal(given), normal(is_so)
    found = {key: value for key, value in given.items() if key in wants and wants[key] == has[key]}
    found |= {key: value for key, value in is_so.items() if wants[key] != has[key]}
    found |= {"traffic": traffic, "model": _model(live, look, str(inputs["endpoint"]), given.get("model"), "model" in held, serving)}
    for one in held:
        found |= {key: given[key] for key in HELD_KEYS[one] if key in given}
    return found


def _model(live: Mapping[str, Any], look: Look, endpoint: str, given: str | None, held: bool, serving: Serving | None) -> str:
    """The model with its version: the program's words for it, while they mean what is deployed."""
    version = str(live.get("modelVersionId", ""))
    own = own_model(str(live["model"]), look.name)
    name = own if own.startswith("projects/") else "/".join([*endpoint.split("/")[:2], own])
    if given and (held or _same_model(given, own, endpoint)):
        name = given.partition("@")[0]
        if held or serving is None:
            return given
        try:
            if serving.resolve(given) == version:
                return given
        except GoogleError:
            raise
        except ProviderError:
            pass  # the alias is gone: what is deployed is told by its version
    return f"{name}@{version}"


def _same_model(given: str, own: str, endpoint: str) -> bool:
    """Whether both are one model; of another project Google answers the number, so there the rest decides."""
    wanted = own_model(given, endpoint)
    return wanted == own or (wanted.startswith("projects/") and own.startswith("projects/") and wanted.split("/")[2:] == own.split("/")[2:])


def _is_held(path: tuple[str | int, ...], held: Held) -> bool:
    return len(path) > 2 and path[0] == "deployedModels" and any(path[2] in HELD_KEYS[one] for one in held)


def _beta(inputs: Mapping[str, Any]) -> bool:
    return any(needs_beta(one) for one in inputs.get("deployedModels", {}).values())
