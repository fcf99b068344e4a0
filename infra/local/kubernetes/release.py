"""
Helm releases (`kubernetes:helm.sh/v3:Release`), as Helm itself keeps them: a Secret for each revision.

The stand-in cannot render a chart: what would be in one is not made. The cluster of the sandbox takes from the Secret which kinds a chart
brings. Source: Helm 3, `pkg/storage/driver/secrets.go` and `pkg/action`; pulumi-kubernetes at 2026-07 (`helm_release.go`).
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infra.errors import nearest
from infra.local.kubernetes.diff import ABSENT, Change, Found, differing
from infra.local.kubernetes.kinds import Kind
from infra.local.kubernetes.manifest import INPUTS, Data, dig, name_of
from infra.local.kubernetes.paths import parsed, within
from infra.local.kubernetes.rest import Client, KubernetesError
from infra.provider.calls import UnclearError
from infra.provider.server import ProviderError
from infra.provider.values import UNKNOWN, Path, Unknown

KEEPER = Kind("", "v1", "Secret")
NAMESPACE = Kind("", "v1", "Namespace")
TYPE = "helm.sh/release.v1"
DEPLOYED, SUPERSEDED, UNINSTALLED = "deployed", "superseded", "uninstalled"
TIMEOUT_SECONDS = 300
"""Source: the official provider: of a release that is waited for."""
OUTPUTS = ("status", "resourceNames")
DEPRECATED = ("checksum", "resourceNames", "manifest", "compat")
"""Inputs that say nothing."""
KNOWN = {
    "allowNullValues": bool,
    "atomic": bool,
    "chart": str,
    "cleanupOnFail": bool,
    "createNamespace": bool,
    "dependencyUpdate": bool,
    "description": str,
    "devel": bool,
    "disableCRDHooks": bool,
    "disableOpenapiValidation": bool,
    "disableWebhooks": bool,
    "forceUpdate": bool,
    "keyring": str,
    "lint": bool,
    "maxHistory": int,
    "name": str,
    "namespace": str,
    "postrender": str,
    "recreatePods": bool,
    "renderSubchartNotes": bool,
    "replace": bool,
    "repositoryOpts": dict,
    "resetValues": bool,
    "reuseValues": bool,
    "skipAwait": bool,
    "skipCrds": bool,
    "timeout": int,
    "values": dict,
    "verify": bool,
    "version": str,
    "waitForJobs": bool,
}
"""Source: `pulumi_kubernetes.helm.v3.ReleaseArgs` 4.34.2."""
NOT_DONE = {
    "valueYamlFiles": "the stand-in provider reads no value files: write them as values",
    "postrender": "the stand-in provider renders nothing, and runs nothing over it",
    "dependencyUpdate": "the stand-in provider fetches no charts",
    "verify": "the stand-in provider fetches no charts, so it can verify none",
}
WORDS = {bool: "true or false", str: "a string", int: "a whole number", dict: "an object"}
EXACT = re.compile(r"v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*")
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST_NAME = 53
"""Letters of a release's name. Source: Helm, `pkg/chartutil/validate_name.go`."""
ENDING = re.compile(r"/+$")


def checked(news: Data, namespace: str) -> tuple[Data, list[tuple[str, str]]]:
    """
    The inputs as they are kept in the state, and what is wrong with them.

    Args:
        namespace: Of who names none.
    """
    found: Data = {key: value for key, value in news.items() if value is not None and key not in DEPRECATED}
    faults = list(_faults(found))
    if not found.get("namespace"):
        found["namespace"] = namespace or "default"
    if found.get("skipAwait") is not True:
        found.setdefault("timeout", TIMEOUT_SECONDS)
    return found, [(key, f"{key}: {reason}") for key, reason in faults]


def _faults(found: Data) -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        if key in NOT_DONE and value:
            yield key, NOT_DONE[key]
        elif key not in KNOWN and key not in NOT_DONE:
            yield key, f"there is no such property; nearest: {', '.join(nearest(key, KNOWN) or sorted(KNOWN)[:8])}"
        elif key in KNOWN and not isinstance(value, Unknown) and not _is(value, KNOWN[key]):
            yield key, f"is not {WORDS[KNOWN[key]]}; got {type(value).__name__}"
    for key, why in (
        ("chart", "is missing"),
        ("name", "is missing: names are not made up here; the official provider makes one of the resource's"),
        ("version", "is missing: the newest one is asked of the chart's repository, and the stand-in provider asks none"),
    ):
        if not found.get(key):
            yield key, why
    name, version, chart = (found.get(key) for key in ("name", "version", "chart"))
    if isinstance(name, str) and name and not (NAME.fullmatch(name) and len(name) <= LONGEST_NAME):
        yield "name", f"{name!r} is no release's name: at most {LONGEST_NAME} small letters, digits, dashes and dots"
    if isinstance(version, str) and version and not EXACT.fullmatch(version):
        yield "version", f"{version!r} is no one version, such as 0.14.2: the stand-in provider asks no repository which ones there are"
    if isinstance(chart, str) and chart.startswith((".", "/", "~")):
        yield "chart", f"{chart!r} is a folder or file: the stand-in provider reads none, and renders none"
    elif isinstance(chart, str) and chart and "/" not in chart and not _named_elsewhere(found):
        yield "chart", f"{chart!r} is in no repository: write oci://HOST/PATH/{chart}, or repositoryOpts.repo"


def _named_elsewhere(found: Data) -> bool:
    """Whether the repository is written, or may be, beside the chart."""
    options = found.get("repositoryOpts")
    return isinstance(options, Unknown) or bool(dig(options, "repo"))


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def changes(state: Data, new: Data, ignored: Iterable[str] = ()) -> Found:
    """Every change: what is written otherwise than it is, and what was written and is not any more."""
    old = {key: value for key, value in (state.get(INPUTS) or {}).items() if key not in DEPRECATED}
    unseen = [parsed(path) for path in ignored]
    found = [
        Change(path, how, path in (("name",), ("namespace",)))
        for path, how in _three_ways(old, state, new, ())
        if not any(within(path, hidden) for hidden in unseen)
    ]
    return Found(found, same_name=False)


def _three_ways(old: Data, state: Data, new: Data, path: Path) -> Iterator[tuple[Path, str]]:
    for key in sorted({*old, *new}):
        was, now, becomes = (part.get(key, ABSENT) for part in (old, state, new))
        if isinstance(now, dict) and isinstance(becomes, dict):
            yield from _three_ways(was if isinstance(was, dict) else {}, now, becomes, (*path, key))
        elif becomes is not ABSENT or now is not ABSENT:
            yield from ((one, how) for one, how, _ in differing(now, becomes, (*path, key)))


class Releases:
    """The releases of a cluster."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def create(self, inputs: Data) -> Data:
        """
        Installs, and answers the state.

        Raises:
            ProviderError: The name is taken, or the namespace is not there.
        """
        name, namespace = inputs["name"], inputs["namespace"]
        if any(dig(one, "info", "status") != UNINSTALLED for one in self._history(namespace, name).values()):
            raise ProviderError(f"{id_of(inputs)}: cannot re-use a name that is still in use")
        if inputs.get("createNamespace") is True:
            self._namespace(namespace)
        release = _release(inputs, 1, inputs.get("values") or {}, "Install complete")
        try:
            self._keep(release)
        except KubernetesError as error:
            if not error.namespace_missing:
                raise
            fix = "createNamespace: true, or declare the namespace before"
            raise ProviderError(f"create: failed to create: {error}\n  fix: {fix}") from None
        return _state(inputs, release)

    def read(self, namespace: str, name: str, state: Data) -> tuple[Data, Data] | None:
        """State and inputs; None where there is no such release. *state* is empty at an import."""
        history = self._history(namespace, name)
        if not history:
            return None
        release = history[max(history)]
        inputs = state.get(INPUTS)
        if inputs is None:
            inputs = {
                "name": name,
                "namespace": namespace,
                "chart": dig(release, "chart", "metadata", "name") or "",
                "version": dig(release, "chart", "metadata", "version") or "",
                "values": release.get("config") or {},
                "timeout": TIMEOUT_SECONDS,
            }
        known = {key: value for key, value in state.items() if key != INPUTS} or inputs
        return _state(inputs, release, known), inputs

    def update(self, inputs: Data, state: Data) -> Data:
        """
        Makes the next revision, and answers the state.

        Raises:
            ProviderError: There is no release to upgrade.
        """
        name, namespace = state["name"], state["namespace"]
        history = self._history(namespace, name)
        deployed = [number for number, one in history.items() if dig(one, "info", "status") == DEPLOYED]
        if not deployed:
            raise ProviderError(f'{namespace}/{name}: "{name}" has no deployed releases')
        values = inputs.get("values") or {}
        if inputs.get("reuseValues") is True and inputs.get("resetValues") is not True:
            values = _merged(history[max(deployed)].get("config") or {}, values)
        release = _release(inputs, max(history) + 1, values, "Upgrade complete")
        self._keep(release)
        for number in deployed:
            self._mark(history[number], SUPERSEDED)
        self._forget(namespace, name, [*sorted(history), release["version"]], inputs.get("maxHistory") or 0)
        return _state(inputs, release)

    def delete(self, namespace: str, name: str) -> None:
        """
        Uninstalls, with its history.

        Raises:
            ProviderError: There is no such release.
        """
        history = self._history(namespace, name)
        if not history:
            raise ProviderError(f"uninstall: Release not loaded: {name}: release: not found")
        for number in sorted(history):
            self._drop(namespace, name, number)

    # The Secrets

    def _history(self, namespace: str, name: str) -> dict[int, Data]:
        """Revision -> release."""
        found = self.client.list(KEEPER, namespace, {"owner": "helm", "name": name})
        read = [_decoded(one) for one in found if one.get("type") == TYPE]
        return {int(one["version"]): one for one in read if one is not None}

    def _keep(self, release: Data) -> None:
        made = _secret(release)
        try:
            self.client.create(KEEPER, made, {"fieldManager": "Helm"})
        except UnclearError:
            found = self.client.there(KEEPER, release["namespace"], name_of(made))
            if found is None or found.get("data") != made["data"]:
                raise

    def _mark(self, release: Data, status: str) -> None:
        marked = _secret(release | {"info": (release.get("info") or {}) | {"status": status}})
        patch = {"metadata": {"labels": {"status": status}}, "data": marked["data"]}
        self.client.patch(KEEPER, marked, patch, "application/merge-patch+json", {"fieldManager": "Helm"})

    def _forget(self, namespace: str, name: str, revisions: list[int], most: int) -> None:
        for number in revisions[:-most] if most > 0 else []:
            self._drop(namespace, name, number)

    def _drop(self, namespace: str, name: str, number: int) -> None:
        try:
            self.client.delete(KEEPER, namespace, _key(name, number), "Background")
        except KubernetesError as error:
            if error.code != 404:
                raise

    def _namespace(self, name: str) -> None:
        try:
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"name": name}}}
            self.client.create(NAMESPACE, manifest, {"fieldManager": "Helm"})
        except KubernetesError as error:
            if not error.already_exists:
                raise


def foreseen(inputs: Data) -> Data:
    """State of what has not been done yet."""
    return inputs | {INPUTS: inputs} | dict.fromkeys(OUTPUTS, UNKNOWN)


def id_of(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['namespace']}/{inputs['name']}"


def chart_name(chart: str) -> str:
    """`kueue` of `oci://registry.k8s.io/kueue/charts/kueue`, `REPOSITORY/kueue` or `kueue`."""
    return ENDING.sub("", chart).rpartition("/")[2].partition(":")[0]


def _state(inputs: Data, release: Data, known: Data | None = None) -> Data:
    """What is kept of a release: what was given, and as it is."""
    outputs = dict(inputs if known is None else known)
    chart = dig(release, "chart", "metadata") or {}
    outputs["values"] = _merged(outputs.get("values") or {}, release.get("config") or {})
    outputs["version"] = chart.get("version") or outputs.get("version", "")
    outputs["resourceNames"] = {}
    outputs["status"] = {
        "appVersion": chart.get("appVersion") or "",
        "chart": chart.get("name") or "",
        "name": release["name"],
        "namespace": release["namespace"],
        "revision": release["version"],
        "status": dig(release, "info", "status") or "",
        "version": chart.get("version") or "",
    }
    return outputs | {INPUTS: inputs}


def _release(inputs: Data, revision: int, values: Data, description: str) -> Data:
    return {
        "name": inputs["name"],
        "namespace": inputs["namespace"],
        "version": revision,
        "chart": {"metadata": {"name": chart_name(inputs["chart"]), "version": inputs["version"]}},
        "config": values,
        "info": {"status": DEPLOYED, "description": inputs.get("description") or description},
    }


def _secret(release: Data) -> Data:
    text = json.dumps(release, ensure_ascii=False, separators=(",", ":")).encode()
    packed = base64.b64encode(gzip.compress(text, mtime=0))
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": TYPE,
        "metadata": {
            "name": _key(release["name"], release["version"]),
            "namespace": release["namespace"],
            "labels": {
                "name": release["name"],
                "owner": "helm",
                "status": dig(release, "info", "status"),
                "version": str(release["version"]),
            },
        },
        "data": {"release": base64.b64encode(packed).decode()},
    }


def _key(name: str, revision: int) -> str:
    return f"sh.helm.release.v1.{name}.v{revision}"


def _decoded(secret: Data) -> Data | None:
    """None where it is no release: Helm passes over it, too."""
    try:
        found = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
        return found if isinstance(found, dict) and {"name", "namespace", "version"} <= found.keys() else None
    except (KeyError, TypeError, ValueError, OSError, EOFError):
        return None


def _merged(one: Data, other: Data) -> Data:
    """*other* over *one*, maps in maps."""
    found = dict(one)
    for key, value in other.items():
        inner = found.get(key)
        found[key] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return found
