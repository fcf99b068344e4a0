"""
How an endpoint comes from what is deployed on it to what shall be: in an order in which somebody always serves, where that can be.

`surge`: what is new is deployed beside the old, gets the traffic, then the old goes: for a while both count against the quota. `in-place`,
and always where an endpoint takes one model only: the old goes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from infra.provider.calls import GoogleError, OperationError, UnfinishedError
from infra.provider.deployed_model import SCALING, DeployedModel, is_ours
from infra.provider.server import ProviderError
from infra.provider.serving import Look, Serving, without

Held = frozenset[str]
"""Of `traffic`, `model` (which version an alias means) and `replicas`: what a controller decides meanwhile."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What shall be deployed on one endpoint."""

    models: Mapping[str, DeployedModel]
    """By name."""
    traffic: Mapping[str, int]
    """Percent by name."""
    in_place: bool = False
    foreign: Literal["refuse", "keep", "undeploy"] = "refuse"
    """What is done with deployed models that are not ours. Those that are kept have no traffic, unless there are none of ours."""
    held: Held = frozenset()


def ours(look: Look) -> dict[str, dict[str, Any]]:
    """What programs of ours deployed, by id."""
    return {id: live for id, live in look.deployed.items() if is_ours(live)}


def named(look: Look, name: str) -> list[str]:
    """Ids of what is deployed under a name of ours. The first is the one that counts: the most traffic, then the newest."""
    found = [live for live in ours(look).values() if live.get("displayName") == name]
    return [live["id"] for live in sorted(found, key=lambda one: (-look.split.get(one["id"], 0), _backwards(one.get("createTime", ""))))]


def foreign(look: Look) -> dict[str, str]:
    """What others deployed: name to show by id."""
    return {id: str(live.get("displayName", "")) for id, live in sorted(look.deployed.items()) if not is_ours(live)}


def reach(serving: Serving, look: Look, goal: Goal) -> None:
    """
    Makes the endpoint as the goal says.

    Args:
        look: The endpoint now; nothing runs on it.

    Raises:
        ProviderError: It cannot be made so; `serving.began` says whether anything was done. The last split that served stands.
    """
    _refuse(look, goal)
    wanted = {model.id for model in goal.models.values()}
    new = [model for model in goal.models.values() if model.id not in look.deployed]
    held = frozenset(SCALING) if "replicas" in goal.held else frozenset[str]()
    for model in goal.models.values():
        if model.id in look.deployed:
            for mutation in model.mutations(look.deployed[model.id], held):
                serving.mutate(model.id, mutation)
    if look.one_model:
        _one_after_the_other(serving, look, new, [id for id in ours(look) if id not in wanted], goal)
    elif goal.in_place:
        for model in new:
            _one_after_the_other(serving, look, [model], named(look, model.name), goal)
    else:
        _beside(serving, new)
    if goal.models and ("traffic" not in goal.held or not look.deployed):  # where nothing was, nobody holds a split
        serving.split({goal.models[name].id: share for name, share in goal.traffic.items()})
    take_away(serving, [id for id in ours(serving.look()) if id not in wanted and not _is_held(look, goal, id)])
    if goal.foreign == "undeploy":
        take_away(serving, foreign(look))


def take_away(serving: Serving, ids: Iterable[str]) -> None:
    """Undeploys some, and gives their traffic to those that stay and have some."""
    gone = sorted(ids)
    if gone:
        serving.split(lambda now: without(now.split, gone))
    for id in gone:
        serving.undeploy(id)


def _refuse(look: Look, goal: Goal) -> None:
    """
    Raises:
        ProviderError: Something stands against the goal; nothing was done.
    """
    others = foreign(look)
    if others and goal.foreign == "refuse":
        listed = ", ".join(f"{id} ({shown})" for id, shown in others.items())
        raise ProviderError(
            f"{look.name}: deployed models that are not of this program: {listed}\n"
            "  fix: set foreign to keep (they stay without traffic) or undeploy, or undeploy them yourself"
        )
    kept = others if goal.foreign == "keep" else {}
    if look.one_model and len(goal.models) + len(kept) > 1:
        listed = ", ".join([*goal.models, *kept])
        raise ProviderError(f"{look.name}: a private endpoint takes one deployed model; got {listed}\n  fix: an endpoint for each")
    ids = [model.id for model in goal.models.values()]
    if len(set(ids)) != len(ids):
        raise ProviderError(f"{look.name}: two of {', '.join(goal.models)} have the same id, by chance\n  fix: rename one")
    if "traffic" not in goal.held:
        return
    again = [name for name, model in goal.models.items() if named(look, name) and model.id not in look.deployed]
    left = [str(live["displayName"]) for id, live in ours(look).items() if id in look.split]
    said = [f"{name}: cannot be deployed anew" for name in again]
    said += [f"{name}: cannot be removed" for name in sorted(set(left) - set(goal.models))]
    if said:
        lines = "\n".join(f"{one} while its traffic is held by a controller" for one in said)
        raise ProviderError(f"{lines}\n  fix: wait until it is released")


def _is_held(look: Look, goal: Goal, id: str) -> bool:
    """Whether a controller keeps it beside the one of the same name."""
    return "traffic" in goal.held and str(look.deployed.get(id, {}).get("displayName")) in goal.models


def _beside(serving: Serving, new: Iterable[DeployedModel]) -> None:
    begun: list[str] = []
    for model in new:
        try:
            serving.deploy(model)
        except UnfinishedError:
            raise
        except (OperationError, GoogleError) as error:
            _undo(serving, begun, error)
            raise
        begun.append(model.id)


def _one_after_the_other(serving: Serving, look: Look, new: list[DeployedModel], old: list[str], goal: Goal) -> None:
    before = dict(look.split)
    if look.one_model and goal.foreign == "undeploy":
        for id in foreign(look):
            serving.undeploy(id)
    for id in old:
        serving.undeploy(id)
    for model in new:
        try:
            serving.deploy(model)
        except UnfinishedError:
            raise
        except (OperationError, GoogleError):
            for id in old:
                serving.restore(look.deployed[id])
            serving.split(lambda now: before if set(before) <= set(now.deployed) else now.split)
            raise


def _undo(serving: Serving, begun: Iterable[str], error: ProviderError) -> None:
    """Takes away what this run deployed: it would cost, and serve nobody."""
    for id in begun:
        try:
            serving.undeploy(id)
        except ProviderError as second:
            raise ProviderError(f"{error}\n  {id}, deployed before without traffic, is left: {second}") from None


def _backwards(moment: str) -> tuple[int, ...]:
    """A key that sorts later moments first."""
    return tuple(-ord(letter) for letter in moment)
