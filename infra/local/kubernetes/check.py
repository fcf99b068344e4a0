"""Check: an object says what it is, has a name and a namespace, and holds against its schema."""

from __future__ import annotations

from infra.local.kubernetes import ready
from infra.local.kubernetes.config import Config
from infra.local.kubernetes.kinds import Kind, of_manifest
from infra.local.kubernetes.manifest import Data, normal, without_nulls
from infra.provider.values import Path, Unknown, has_unknown, written


class Check:
    """
    The check of one object's inputs.

    Args:
        kind: What it is declared as.
        config: The provider's.
        namespaced: Whether the kind is in namespaces.
        version: Of the cluster, such as `1.35.2`; empty where none answers.
    """

    def __init__(self, kind: Kind, config: Config, *, namespaced: bool, version: str = "") -> None:
        self.kind = kind
        self.config = config
        self.namespaced = namespaced
        self.version = version
        self.failures: list[tuple[str, str]] = []
        """Property and reason of each."""

    def inputs(self, news: Data) -> Data:
        """The inputs as they are kept in the state; what is wrong with them is in `failures`."""
        found: Data = without_nulls(news)
        found.setdefault("apiVersion", self.kind.api_version)
        found.setdefault("kind", self.kind.name)
        self._same_kind(found)
        if "metadata" not in found:
            found["metadata"] = {}
        metadata = found["metadata"]
        if isinstance(metadata, dict):
            found["metadata"] = self._metadata(metadata)
        elif not isinstance(metadata, Unknown):
            self._fail(("metadata",), f"is not an object; got {metadata!r}")
            return found
        for fault in ready.faults(found):
            self._fail(("metadata", "annotations", "pulumi.com/waitFor"), fault)
        found = normal(found)
        if not has_unknown(found) and not self.failures:
            self._schema(found)
        return found

    def _same_kind(self, found: Data) -> None:
        said = found["apiVersion"], found["kind"]
        if any(isinstance(one, Unknown) for one in said):
            return
        kind = of_manifest(*said)
        if kind.name != self.kind.name or kind.group != self.kind.group or kind.version != self.kind.version:
            self._fail(("kind",), f"a manifest of {kind} is declared as a {self.kind}")

    def _metadata(self, given: Data) -> Data:
        metadata: Data = dict(given)
        if "generateName" in metadata:
            self._fail(("metadata", "generateName"), "the field is not supported in Server-Side Apply mode")
        elif not metadata.get("name"):
            self._fail(("metadata", "name"), "is missing: names are not made up here; the official provider makes one of the resource's")
        for key in ("name", "namespace"):
            if not isinstance(metadata.get(key, ""), str | Unknown):
                self._fail(("metadata", key), f"is not a string; got {metadata[key]!r}")
        for key in ("labels", "annotations"):
            if not isinstance(metadata.get(key, {}), dict | Unknown):
                self._fail(("metadata", key), f"is not an object; got {metadata[key]!r}")
                metadata.pop(key)
        if self.namespaced and not metadata.get("namespace") and self.config.namespace:
            metadata["namespace"] = self.config.namespace
        return metadata

    def _schema(self, found: Data) -> None:
        """
        Against the schema of its kind and the rules that none tells. The official provider asks the cluster at the preview; here a cluster
        that is not made yet keeps nothing back. A custom kind that is not known here is the cluster's to judge.
        """
        from infra.catalog import manifests
        from infra.catalog.manifest_schemas import UnknownVersion

        try:
            faults = manifests.faults(found, self.version or manifests.VERSION)
        except UnknownVersion:
            faults = manifests.faults(found)
        if self.kind.own or not any(one.path in ("apiVersion", "kind") for one in faults):
            self.failures += [(one.path, str(one)) for one in faults]

    def _fail(self, path: Path, reason: str) -> None:
        self.failures.append((written(path), f"{written(path)}: {reason}"))
