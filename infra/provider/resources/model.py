"""
`accelform:vertex:Model`: a model in Vertex AI's registry, with its versions.

A version is known by a label that says what it is made of: what a killed run uploaded is adopted, and an old image's version is found
again. Two versions that are made of the same, as two programs at once bring them about, become the older one.

Whose an alias is: one in `versionAliases` is the resource's and is given to the described version at each update; one that left the list
is taken away, unless somebody moved it meanwhile. One in `firstAliases` is given where no version has it, and never moved. `default` is
Google's: the first version has it, and it moves if it is in `versionAliases`.

With `uploadedBy` nothing is uploaded or changed: versions come from a job, and there may be none yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.labels import RUN_LABEL
from infra.provider import container, schema, trained
from infra.provider.calls import FIRST_BACKOFF_SECONDS, GoogleError, OperationError, UnclearError
from infra.provider.registry import DEFAULT, Registry, Version, aliases_of
from infra.provider.resource import FailedAfterMadeError, Failure, Made, Resource
from infra.provider.server import ProviderError
from infra.provider.values import UNKNOWN, Path, Unknown, has_unknown, is_empty

LABEL = "accelform-made-of"
"""Label of a version that says what it is made of."""
NAME = re.compile(r"projects/([^/]+)/locations/([^/@]+)/models/([^/@]+)")
FORMS = {
    "project": (r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]", "the project's id, such as shop-prod: not its name, not its number"),
    "location": (container.REGION.pattern, "a region, such as asia-east1"),
    "modelId": (r"[a-z_][a-z0-9_-]{0,62}", "1 to 63 of a-z, 0-9, _ and -, a letter or _ first"),
}
"""Source of the id: `modelId` in the discovery document aiplatform v1, revision 20261106, as of the limits below."""
ALIAS = re.compile(r"[a-z][a-z0-9-]{0,126}[a-z0-9]")
NAME_LETTERS = 128
LABEL_LETTERS = 64
LABELS = 63
"""Labels besides ours: a resource has at most 64. Source: https://cloud.google.com/resource-manager/docs/labels-overview, read 2026-11."""
SHOWN = ("displayName", "description", "versionDescription")
TRIES = 4
"""How often an upload that may not have begun, or a change that somebody else's came before, is begun again."""
RELEASE_SECONDS = (1, 2, 4, 8, 15, 30, 30, 30, 30, 30, 30, 30, 30, 30)
"""Waits for Vertex AI to see that what was deployed is no more: five minutes. It refuses a delete for a while after an undeploy:
https://github.com/googleapis/python-aiplatform/issues/2807, read 2026-11."""


class Model(Resource):
    """A model and its versions."""

    token = "accelform:vertex:Model"  # noqa: S105 - a type's name

    @classmethod
    def check(cls, inputs: Mapping[str, Any]) -> Iterator[Failure]:
        for name, (form, allowed) in FORMS.items():
            value = inputs.get(name)
            if isinstance(value, str) and not re.fullmatch(form, value):
                yield Failure((name,), f"{value!r} is not of its form\n  allowed: {allowed}")
        shown = inputs.get("displayName")
        if isinstance(shown, str) and not 0 < len(shown) <= NAME_LETTERS:
            yield Failure(("displayName",), f"has {len(shown)} characters\n  allowed: 1 to {NAME_LETTERS}")
        if isinstance(labels := inputs.get("labels"), dict):
            yield from _labels(labels)
        yield from _aliases(inputs)
        keep = inputs.get("keepVersions")
        if isinstance(keep, int) and keep < 1:
            yield Failure(("keepVersions",), f"{keep} keeps none\n  allowed: 1 or more; without it, all stay")
        yield from trained.failures(inputs, cls.token)
        yield from container.check(inputs)

    @classmethod
    def foreseen(cls, inputs: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
        """An update that uploads nothing leaves the version, so that what refers to it sees no change."""
        found = {**inputs, **dict.fromkeys(("name", "versionId", "versionName", "aliases", "versions"), UNKNOWN)}
        place = (inputs["project"], inputs["location"], inputs["modelId"])
        if not has_unknown(list(place)):
            found["name"] = "projects/{}/locations/{}/models/{}".format(*place)
        if trained.is_so(inputs):
            return found | {"versionId": "", "versionName": ""} | {name: state[name] for name in ("aliases", "versions") if name in state}
        if state.get("versionId") and container.is_known(inputs) and container.fingerprint(inputs) == container.fingerprint(state):
            found |= {name: state[name] for name in ("versionId", "versionName")}
            if all(inputs.get(name) == state.get(name) for name in ("versionAliases", "firstAliases", "keepVersions")):
                found |= {name: state[name] for name in ("aliases", "versions")}
        return found

    def create(self, inputs: dict[str, Any]) -> Made:
        return self._as_asked(self._registry(inputs), inputs, {})

    def there(self, inputs: dict[str, Any]) -> str:
        registry = self._registry(inputs)
        ours = any(_is_ours(one) for one in registry.versions())
        return registry.name if ours or (not registry.seen and registry.uploads()) else ""

    def read(self, id: str, state: dict[str, Any], inputs: dict[str, Any]) -> Made | None:
        match = NAME.fullmatch(id)
        if match is None or match[1].isdigit():
            allowed = "projects/shop-prod/locations/asia-east1/models/recommender: the project by its id, no version"
            raise ProviderError(f"{id!r} is no name of a model here\n  allowed: {allowed}")
        place = {"project": match[1], "location": match[2], "modelId": match[3]}
        registry = self._registry(place)
        versions = registry.versions()
        given = inputs or state or (trained.inputs_of(versions[-1]) if versions else None) or {}
        if trained.is_so(given):
            return _made(registry, None, place | given, [], [])
        if not versions:
            uploaded = bool(given) and bool(registry.uploads())
            return _made(registry, None, given, [], given.get("versionAliases") or []) if uploaded else None
        same = [one for one in versions if one["versionId"] == state.get("versionId")]
        version = (same or versions)[-1]
        names = version.get("versionAliases", [])
        owned = given.get("versionAliases") or [] if given else sorted({*names} - {DEFAULT})
        given = given or {"allowTag": "@" not in container.inputs_of(version)["imageUri"]}
        return _made(registry, version, place | given, [inputs, state], [alias for alias in owned if alias in names])

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        return self._as_asked(self._registry(new), new, state)

    def delete(self, id: str, state: dict[str, Any]) -> None:
        registry = self._registry(state)
        registry.await_uploads()
        for wait in (*RELEASE_SECONDS, None):
            if not registry.versions():
                return
            if holders := registry.holders():
                where = "\n".join(f"  deployed on: {holder}" for holder in holders)
                raise ProviderError(f"{registry.name} is deployed, and cannot be deleted\n{where}\n  fix: undeploy it there first")
            try:
                registry.delete()
                return
            except (GoogleError, OperationError) as error:
                if wait is None or not _is_in_use(error):
                    raise
                self.google.wait(wait)

    # One version, as it is asked for

    def _registry(self, inputs: Mapping[str, Any]) -> Registry:
        return Registry(self.google, inputs["project"], inputs["location"], inputs["modelId"], self.seconds)

    def _as_asked(self, registry: Registry, new: dict[str, Any], state: dict[str, Any]) -> Made:
        """
        Makes the version that the inputs describe, and what surrounds it.

        Raises:
            FailedAfterMadeError: It stands, or may stand, and not all of it is as it was asked for.
            ProviderError: Nothing changed.
        """
        if trained.is_so(new):
            registry.versions()
            if not state:
                self._check_ours(registry)
            return _made(registry, None, new, [], [])
        kept = [*(new.get("versionAliases") or []), *(new.get("firstAliases") or [])]
        dropped = [alias for alias in state.get("versionAliases") or [] if alias not in kept]
        version: Version | None = None
        try:
            version = self._uploaded(registry, new, state)
            self._give_aliases(registry, version, new, {alias: state["aliases"].get(alias, "") for alias in dropped})
            self._describe(registry, version, new)
            self._prune(registry, version, new.get("keepVersions"))
            version = _of(registry, version["versionId"]) or registry.version(version["versionId"])
            return _made(registry, version, new, [new], new.get("versionAliases") or [])
        except ProviderError as error:
            if version is None and not registry.pending:
                raise
            stands = _of(registry, version["versionId"] if version else state.get("versionId", "")) or version
            made = _made(registry, stands, new, [new, state], [*(new.get("versionAliases") or []), *dropped])
            raise FailedAfterMadeError(str(error), made) from None

    def _uploaded(self, registry: Registry, new: dict[str, Any], state: dict[str, Any]) -> Version:
        """The version that the inputs describe: found, or uploaded. Whether an upload began is looked up before it is begun again."""
        unclear: ProviderError = UnclearError(f"{registry.name}: no upload was begun")
        for attempt in range(TRIES):
            if attempt:
                self.google.wait(FIRST_BACKOFF_SECONDS * 2**attempt)
            found = self._found(registry, new, state)
            if found is None and registry.await_uploads():
                found = self._found(registry, new, state)
            if found is not None:
                return found
            registry.pending = False  # what may have begun did not
            if not state:
                self._check_ours(registry)
            self._check_bucket(new)
            try:
                version_id = registry.upload(self._body(registry, new))
            except UnclearError as error:
                unclear = error
            except GoogleError as error:
                if error.code != 409:  # somebody uploads the first version of this model right now
                    raise
                unclear = error
            else:
                return self._found(registry, new, state) or registry.version(version_id)
        raise unclear

    def _check_ours(self, registry: Registry) -> None:
        """
        Raises:
            ProviderError: Somebody else's model has the name.
        """
        if registry.seen and not any(map(_is_ours, registry.seen)):
            fix = "import it, or choose another modelId"
            raise ProviderError(f"modelId: {registry.name} is there, and nothing says that accelform uploaded it\n  fix: {fix}")

    def _found(self, registry: Registry, new: dict[str, Any], state: dict[str, Any]) -> Version | None:
        """The version that is made of what the inputs say; of several, the oldest, and the others go."""
        wanted = container.fingerprint(new)
        same = [one for one in registry.versions() if _made_of(one, state) == wanted]
        for other in same[1:]:
            registry.merge(same[0]["versionId"], other.get("versionAliases", []))
            self._delete_version(registry, other["versionId"])
        if same[1:]:
            registry.versions()
        return _of(registry, same[0]["versionId"]) if same else None

    def _body(self, registry: Registry, new: dict[str, Any]) -> Version:
        taken = aliases_of(registry.seen)
        first = [alias for alias in new.get("firstAliases") or [] if alias not in taken]
        return {
            **{name: new[name] for name in SHOWN if new.get(name)},
            "labels": _marked(new),
            "versionAliases": [*(new.get("versionAliases") or []), *first],
            **container.body(new),
        }

    def _check_bucket(self, new: dict[str, Any]) -> None:
        """
        Raises:
            ProviderError: The files stand elsewhere, or nobody says where. Vertex AI refuses a bucket that is not in its one region:
                https://github.com/googleapis/python-aiplatform/issues/885, read 2026-11.
        """
        if not new.get("artifactUri"):
            return
        bucket, location = container.bucket_of(new["artifactUri"]), new["location"]
        try:
            found = self.google.call("storage.v1", "buckets.get", bucket=bucket)
        except GoogleError as error:
            fix = f"grant storage.buckets.get on it, or copy the files to a bucket in {location}"
            raise ProviderError(f"artifactUri: where gs://{bucket} stands is not known: {error}\n  fix: {fix}") from None
        place, kind = str(found.get("location", "")), str(found.get("locationType", "region"))
        if place.lower() != location or kind != "region":
            what = f"in {place.lower() or 'no stated place'}" + ("" if kind == "region" else f", a {kind}")
            fix = f"copy the files to a bucket in {location}"
            raise ProviderError(f"artifactUri: gs://{bucket} stands {what}\n  allowed: a bucket in {location} alone\n  fix: {fix}")

    def _give_aliases(self, registry: Registry, version: Version, new: dict[str, Any], dropped: Mapping[str, str]) -> None:
        """Gives the resource's aliases to the version; takes those it has no more (*dropped*) from the versions where it left them."""
        has, version_id = aliases_of(registry.seen), version["versionId"]
        given = [alias for alias in new.get("versionAliases") or [] if has.get(alias) != version_id]
        first = [alias for alias in new.get("firstAliases") or [] if alias not in has]
        gone = {alias: left for alias, left in dropped.items() if alias != DEFAULT and has.get(alias) == left}
        registry.merge(version_id, [*given, *first])
        for left in sorted({*gone.values()}):
            registry.merge(left, [f"-{alias}" for alias in gone if gone[alias] == left])
        if given or first or gone:
            registry.versions()

    def _describe(self, registry: Registry, version: Version, new: dict[str, Any]) -> None:
        """Names, descriptions and labels. Name and description are the model's: where each version has its own, all get them."""
        others = {name: new[name] for name in ("displayName", "description") if new.get(name)}
        own = {name: new.get(name) or "" for name in SHOWN} | {"labels": _marked(new)}
        changed = [self._patched(registry, one, own if one["versionId"] == version["versionId"] else others) for one in registry.seen]
        if any(changed):
            registry.versions()

    def _patched(self, registry: Registry, version: Version, wanted: Mapping[str, Any]) -> bool:
        """Whether it was otherwise. Somebody else's change in between, or a lost answer to ours, is read before the next try."""
        for attempt in range(TRIES):
            has = {name: version.get(name, "") for name in SHOWN} | {"labels": version.get("labels", {})}
            differs = {name: value for name, value in _with_googles(wanted, has["labels"]).items() if has[name] != value}
            if not differs:
                return attempt > 0
            try:
                registry.patch(version, differs)
                return True
            except GoogleError as error:
                if error.code != 409 or attempt == TRIES - 1:
                    raise
            version = registry.version(version["versionId"])
        raise AssertionError("the last try returns or raises")

    def _prune(self, registry: Registry, version: Version, keep: int | None) -> None:
        """Deletes old versions that nobody uses."""
        old = registry.seen[:-keep] if keep else []
        for one in old:
            if one["versionId"] != version["versionId"] and not one.get("versionAliases") and not one.get("deployedModels"):
                self._delete_version(registry, one["versionId"])
        if old:
            registry.versions()

    def _delete_version(self, registry: Registry, version_id: str) -> None:
        """Deletes a version; one that is in use after all stays."""
        try:
            registry.delete_version(version_id)
        except (GoogleError, OperationError) as error:
            if not _is_in_use(error):
                raise


def _of(registry: Registry, version_id: str) -> Version | None:
    return next((one for one in registry.seen if one["versionId"] == version_id), None)


def _is_ours(version: Version) -> bool:
    return bool({LABEL, RUN_LABEL} & version.get("labels", {}).keys())


def _made_of(version: Version, state: Mapping[str, Any]) -> str:
    """By its label. A version without one, which others uploaded or changed, by what the state says of it, or by what it has."""
    if label := version.get("labels", {}).get(LABEL):
        return str(label)
    return container.fingerprint(state if version["versionId"] == state.get("versionId") else container.inputs_of(version))


def _marked(new: Mapping[str, Any]) -> dict[str, str]:
    return {**(new.get("labels") or {}), LABEL: container.fingerprint(new)}


def _with_googles(wanted: Mapping[str, Any], has: Mapping[str, str]) -> dict[str, Any]:
    """*wanted*, with the labels that Google gave: a change writes all labels."""
    googles = {key: value for key, value in has.items() if _is_googles(key)}
    return {**wanted} | ({"labels": wanted["labels"] | googles} if "labels" in wanted else {})


def _is_in_use(error: ProviderError) -> bool:
    return "deployed" in str(error)


def _made(registry: Registry, version: Version | None, given: Mapping[str, Any], written: list[dict[str, Any]], owned: list[str]) -> Made:
    """
    The model as it is, in the words of whoever described the version.

    Args:
        version: The described version; None while its upload runs, and where the inputs describe none.
        given: Inputs: what the model does not say of itself is as in them.
        written: Inputs and state that may describe the version.
        owned: Aliases that are the resource's.
    """
    known = schema.resource(Model.token)["inputProperties"]
    inputs = {name: value for name, value in given.items() if name in known}
    secrets: set[Path] = set()
    if version is not None:
        described = next((one for one in written if one and container.fingerprint(one) == _made_of(version, one)), None)
        if described is None:
            described = container.inputs_of(version)
            secrets = {("env", name) for name in described.get("env", {})}
        labels = {key: value for key, value in version.get("labels", {}).items() if key != LABEL and not _is_googles(key)}
        said = {name: version.get(name) for name in SHOWN} | {"labels": labels} | {name: described.get(name) for name in container.MADE_OF}
        inputs = _worded(inputs, said | {"versionAliases": owned})
    version_id = version["versionId"] if version else ""
    outputs = {
        "name": registry.name,
        "versionId": version_id,
        "versionName": f"{registry.name}@{version_id}" if version else "",
        "aliases": aliases_of(registry.seen),
        "versions": [
            {
                "versionId": one["versionId"],
                "createTime": one.get("versionCreateTime", ""),
                "imageUri": one.get("containerSpec", {}).get("imageUri", ""),
                "aliases": sorted(one.get("versionAliases", [])),
            }
            for one in registry.seen
        ],
    }
    return Made(registry.name, inputs | outputs, inputs, frozenset(secrets))


def _worded(given: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """*found* over *given*: what is empty in both stays as it was written."""
    inputs = dict(given)
    for name, value in found.items():
        if not is_empty(value):
            inputs[name] = value
        elif not is_empty(inputs.get(name)):
            del inputs[name]
    return inputs


def _is_googles(label: str) -> bool:
    return label.startswith("goog-") or "/" in label


def _labels(labels: Mapping[str, Any]) -> Iterator[Failure]:
    if len(labels) > LABELS:
        yield Failure(("labels",), f"has {len(labels)} labels\n  allowed: {LABELS}")
    for key, value in labels.items():
        if not key or not _is_label(key) or key == LABEL or _is_googles(key):
            yield Failure(("labels", key), "is no key of a label here\n  allowed: 1 to 64 small letters, digits, _ and -, not goog-")
        if isinstance(value, str) and not _is_label(value):
            yield Failure(("labels", key), f"{value!r} is no label\n  allowed: up to 64 small letters, digits, _ and -")


def _is_label(text: str) -> bool:
    """Letters of any script, in small."""
    return len(text) <= LABEL_LETTERS and all((letter.isalnum() and letter == letter.lower()) or letter in "_-" for letter in text)


def _aliases(inputs: Mapping[str, Any]) -> Iterator[Failure]:
    own = inputs.get("versionAliases")
    for name in ("versionAliases", "firstAliases"):
        aliases = inputs.get(name)
        for index, alias in enumerate(aliases if isinstance(aliases, list) else []):
            if isinstance(alias, Unknown):
                continue
            if not ALIAS.fullmatch(alias):
                yield Failure((name, index), f"{alias!r} is no alias\n  allowed: 2 to 128 of a-z, 0-9, -; a letter first, no - last")
            elif name == "firstAliases" and alias == DEFAULT:
                yield Failure((name, index), f"{DEFAULT} is Google's: the first version has it\n  fix: leave it out")
            elif name == "firstAliases" and isinstance(own, list) and alias in own:
                yield Failure((name, index), f"{alias} is in versionAliases too\n  fix: say it once: does it move with each version?")
