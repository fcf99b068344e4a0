"""`accelform:vertex:DeployedModels`: what is deployed on one endpoint, and each one's share of its traffic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infra.provider import deployed_check, deployed_set
from infra.provider.calls import GoogleError
from infra.provider.deployed_model import FIXED, SCALING, DeployedModel, needs_beta, normal, own_model, settings_of
from infra.provider.deployed_set import Goal, Held
from infra.provider.resource import Change, FailedAfterMadeError, Failure, Made, Note, Resource, differences
from infra.provider.schema import resource
from infra.provider.server import ProviderError
from infra.provider.serving import Look, NoSuchModelError, Serving, shared
from infra.provider.values import UNKNOWN, Unknown

DEFAULTS = {"update": "surge", "foreign": "refuse"}
HELD_KEYS = {"traffic": ("traffic",), "model": ("model",), "replicas": SCALING}
WAYS = ("update", "foreign", "held", "awaits")
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
        absent = (new.get("awaits") or {}).keys() - (state.get("deployed") or {}).keys()
        changed = [change.path for change in differences(resource(cls.token)["inputProperties"], old, new)]
        named = {str(path[1]) for path in changed if len(path) > 2 and path[2] in ("model", *FIXED) and not _is_held(path, held)}
        anew = sorted(named - absent)
        if not anew:
            return
        if state.get("oneModel") or new.get("update") == "in-place":
            why = "a private endpoint takes one model" if state.get("oneModel") else "update is in-place"
            alone = state.get("oneModel") or len(new.get("deployedModels", {})) == 1
            means = "nothing serves until the new one does: minutes" if alone else "the others take its traffic until the new one serves"
            yield Note(f"{', '.join(anew)}: undeployed, then deployed anew ({why}): {means}", warns=bool(alone))
        else:
            yield Note(f"{', '.join(anew)}: deployed anew beside the old one, which goes after it: until then both count against the quota")

    @classmethod
    def foreseen(cls, inputs: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
        """A name that is not deployed yet has an attachment only afterwards: until then nobody knows them all."""
        models, has = inputs.get("deployedModels"), state.get("deployed")
        same = isinstance(models, Mapping) and isinstance(has, Mapping) and models.keys() == has.keys()
        return super().foreseen(inputs, state) | ({} if same else {"attachments": UNKNOWN})

    def create(self, inputs: dict[str, Any]) -> Made:
        return self._reach(inputs, None)

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        return self._reach(new, old)

    def read(self, id: str, state: dict[str, Any], inputs: dict[str, Any]) -> Made | None:
        deployed_check.check_id(id)
        serving = Serving(self.google, id, self.seconds)
        try:
            look = serving.look(beta=not inputs or _beta(inputs))
        except GoogleError as error:
            if error.code == 404:
                return None
            raise
        given: dict[str, Any] = inputs or DEFAULTS | {"endpoint": id, "location": id.split("/")[3], "deployedModels": {}}
        names = [name for name in given["deployedModels"] if name in _awaits(given) or deployed_set.named(look, name)]
        meant = {name: serving.meant(given["deployedModels"][name]["model"]) for name in names}
        return _made(look, given, self.held(given), meant)

    def delete(self, id: str, state: dict[str, Any]) -> None:
        serving = Serving(self.google, id, self.seconds)
        try:
            serving.settle()
            look = serving.look()
        except GoogleError as error:
            if error.code == 404:
                return
            raise
        known = [one["id"] for one in (state.get("deployed") or {}).values()]
        deployed_set.take_away(serving, {*deployed_set.ours(look), *(id for id in known if id in look.deployed)})

    def _reach(self, inputs: dict[str, Any], old: dict[str, Any] | None) -> Made:
        """
        Makes the endpoint as the inputs say.

        Args:
            old: The inputs before; None where there is no resource yet.

        Raises:
            FailedAfterMadeError: Something of it is there, or may come yet.
        """
        held = self.held(inputs)
        serving = Serving(self.google, inputs["endpoint"], self.seconds)
        beta = _beta(inputs) or _beta(old or {})
        serving.settle()
        look = serving.look(beta=beta)
        meant: dict[str, str] = {}
        try:
            goal = _goal(serving, look, inputs, held)
            meant = {name: model.version for name, model in goal.models.items()}
            self._say_what_waits(inputs, meant)
            deployed_set.reach(serving, look, goal)
            look = serving.look(beta=beta)
        except ProviderError as error:
            if serving.began:
                quiet, look = _aftermath(serving, look, beta)
            elif old is not None:
                raise  # the state is as true as before
            else:
                quiet = True
            if quiet and old is None and not deployed_set.ours(look):
                raise  # nothing of it is there
            raise FailedAfterMadeError(str(error), _made(look, inputs, held, meant)) from None
        return _made(look, inputs, held, meant)

    def _say_what_waits(self, inputs: Mapping[str, Any], meant: Mapping[str, str]) -> None:
        for name, who in _awaits(inputs).items():
            if name not in meant:
                model = inputs["deployedModels"][name]["model"].rpartition("/")[2]
                serves = "nothing" if not meant else f"{', '.join(meant)} alone"
                self.say(Note(f"{serves} serves yet: {model} comes with the first accepted version of {who}"))


def _aftermath(serving: Serving, before: Look, beta: bool) -> tuple[bool, Look]:
    """Whether nothing runs any more, and what is there: as far as it can be asked still."""
    try:
        return not serving.running(), serving.look(beta=beta)
    except ProviderError:
        return False, serving.last or before


def _goal(serving: Serving, look: Look, inputs: Mapping[str, Any], held: Held) -> Goal:
    models = {}
    for name, given in inputs["deployedModels"].items():
        ids = deployed_set.named(look, name)
        model = None if "model" in held and ids else _wanted(serving, name, given, may_lack=name in _awaits(inputs))
        if model is None and ids:  # who brings the first version deploys it before its alias says so
            settings = {key: value for key, value in given.items() if key not in ("model", "traffic")}
            version = str(look.deployed[ids[0]]["modelVersionId"])
            model = DeployedModel(name, serving.endpoint, given["model"].partition("@")[0], version, settings)
        if model is not None:
            models[name] = model
    return Goal(models, _traffic(inputs, models), inputs.get("update") == "in-place", inputs.get("foreign", "refuse"), held)


def _wanted(serving: Serving, name: str, given: Mapping[str, Any], *, may_lack: bool) -> DeployedModel | None:
    """What is to be deployed under a name; None where its model has no version of that alias yet, and need not."""
    try:
        return serving.wanted(name, given)
    except NoSuchModelError:
        if not may_lack:
            raise
        return None


def _awaits(inputs: Mapping[str, Any]) -> Mapping[str, str]:
    """Names whose model may not be there yet, and who brings it."""
    return inputs.get("awaits") or {}


def _traffic(inputs: Mapping[str, Any], there: Iterable[str]) -> dict[str, int]:
    """Percent by name: what is not there yet has none, and the others have it in their proportions."""
    models = inputs["deployedModels"]
    given = {name: models[name]["traffic"] for name in there}
    return given if given.keys() == models.keys() else dict.fromkeys(given, 0) | shared(given)


def _made(look: Look, inputs: Mapping[str, Any], held: Held, meant: Mapping[str, str]) -> Made:
    """
    The resource as it is.

    Args:
        inputs: The program's: what is as they say is written as they write it.
        meant: The version that each one's `model` means now.
    """
    ids: dict[str, list[str]] = {}
    for live in deployed_set.ours(look).values():
        name = str(live["displayName"])
        ids[name] = deployed_set.named(look, name)
    wants = inputs["deployedModels"]
    absent = {name for name in _awaits(inputs) if name not in ids and not meant.get(name)}
    found: dict[str, Any] = {name: wants[name] for name in absent}
    shares = _traffic(inputs, [name for name in wants if name not in absent])
    deployed, attachments = {}, {}
    for name, (first, *_) in sorted(ids.items()):
        live, given = look.deployed[first], wants.get(name, {})
        share = sum(look.split.get(id, 0) for id in ids[name])
        as_given = look.one_model or share == shares.get(name)
        means = meant.get(name) or (str(live.get("modelVersionId", "")) if name in _awaits(inputs) else "")
        one = _settings(live, given) | {
            "traffic": given.get("traffic", 100) if as_given else share,
            "model": _model(live, look, str(inputs["endpoint"]), given.get("model"), means),
        }
        kept = [key for field in held for key in HELD_KEYS[field] if key in given]
        found[name] = one | {key: given[key] for key in kept}
        if attachment := live.get("privateEndpoints", {}).get("serviceAttachment"):
            attachments[name] = str(attachment)
        deployed[name] = {"id": first, "version": str(live.get("modelVersionId", ""))}
    now = {**inputs, "deployedModels": found}
    outputs = now | {
        "deployed": deployed,
        "attachments": attachments,
        "others": deployed_set.foreign(look),
        "leftovers": sorted(id for every in ids.values() for id in every[1:]),
        "oneModel": look.one_model,
    }
    return Made(str(inputs["endpoint"]), outputs, now)


def _settings(live: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """One deployed model's settings as a program would write them; a default is left out where the program leaves it out."""
    is_so = settings_of(live)
    wants, has = normal(given), normal(is_so)
    kept = {key: value for key, value in given.items() if key in wants and wants[key] == has[key]}
    return kept | {key: value for key, value in is_so.items() if not given or wants[key] != has[key]}


def _model(live: Mapping[str, Any], look: Look, endpoint: str, given: str | None, meant: str | None) -> str:
    """The model with its version: the program's words for it, while they mean what is deployed."""
    version = str(live.get("modelVersionId", ""))
    own = own_model(str(live["model"]), look.name)
    if given and _same_model(given, own, endpoint, look):
        return given if meant == version else f"{given.partition('@')[0]}@{version}"
    return f"{own if own.startswith('projects/') else '/'.join([*endpoint.split('/')[:2], own])}@{version}"


def _same_model(given: str, own: str, endpoint: str, look: Look) -> bool:
    """Whether both are one model, by the project's id or number; of a third project Google answers the number: there the rest decides."""
    wanted = own_model(own_model(given, endpoint), look.name)
    return wanted == own or (wanted.startswith("projects/") and own.startswith("projects/") and wanted.split("/")[2:] == own.split("/")[2:])


def _is_held(path: tuple[str | int, ...], held: Held) -> bool:
    return len(path) > 2 and path[0] == "deployedModels" and any(path[2] in HELD_KEYS[one] for one in held)


def _beta(inputs: Mapping[str, Any]) -> bool:
    return any(needs_beta(one) for one in inputs.get("deployedModels", {}).values())
