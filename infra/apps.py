"""
What lives in a region's cluster, by its stack file: `accelform:kind: apps` -> `AppsSpec`.

It is a stack of its own, so that it can be taken away when the cluster is sick. What the cluster has is read from the region's file,
which stands beside it: so a pod that no pool can hold is refused before anything is asked of a cloud.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, PrivateAttr, StringConstraints, ValidationInfo, model_validator

from infra import names
from infra.components.cluster import ClusterSpec
from infra.components.images import Image
from infra.components.node_pool import NodePoolSpec
from infra.cost.usage import Usage
from infra.errors import Problem, ProblemsError, SpecError, nearest
from infra.in_cluster.namespace import NamespaceSpec
from infra.spec import Name
from infra.stack import StackSpec
from infra.stack_file import FileSpec, check_beside, read_beside
from infra.yaml_file import YamlFile

SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Namespaces that every cluster has."""


def _region_stack(value: str, info: ValidationInfo) -> str:
    return check_beside(value, (info.context or {}).get("region_stack"))


class AppsSpec(FileSpec):
    """What lives in a cluster: one stack file."""

    kind: Literal["apps"] = "apps"
    """What kind of stack it is: `foundation` holds what a project has once; `region` holds everything in one region; `apps` holds what
    lives in a cluster of a region."""
    region_stack: Annotated[str, StringConstraints(strict=True), AfterValidator(_region_stack)]
    """Stack that the cluster is of. Its file stands beside this one."""
    cluster: Name | None = None
    """Key of the region's `clusters`. (default: its only one)"""
    namespaces: dict[Name, NamespaceSpec] = {}
    """Namespaces, by name."""
    images: dict[Name, Image] = {}
    """Images of containers, by name: those of the region's file, and these. Each by its digest."""
    usage: Usage = Usage()
    """Assumptions for the cost estimate."""
    _region: StackSpec = PrivateAttr()

    @model_validator(mode="after")
    def _fits(self, info: ValidationInfo) -> Self:
        region = region_of(info)
        if region is None:
            return self  # its own file is wrong, which is told with its name
        if problems := [*self._of(region), *self._names()]:
            raise ProblemsError(problems)
        self._region = region
        return self

    def _of(self, region: StackSpec) -> Iterator[Problem]:
        """What must be as the region's file has it."""
        for key in ("project", "region", "environment"):
            here, there = getattr(self, key), getattr(region, key)
            if here != there:
                yield Problem(key, f"{here} is not that of stack {self.region_stack}, which the cluster is of", there)
        if self.cluster is None and len(region.clusters) != 1:
            words = "is missing" if region.clusters else f"stack {self.region_stack} has no cluster"
            yield Problem("cluster", words, ", ".join(region.clusters), "" if region.clusters else "write one under its `clusters`")
        elif self.cluster is not None and self.cluster not in region.clusters:
            allowed = ", ".join(nearest(self.cluster, region.clusters) or region.clusters)
            yield Problem("cluster", f"{self.cluster} is no key of the clusters of stack {self.region_stack}", allowed)

    def _names(self) -> Iterator[Problem]:
        for name in self.namespaces:
            if name in SYSTEM_NAMESPACES or name.startswith(("kube-", "gke-", "gmp-")):
                yield Problem(f"namespaces.{name}", "is a namespace of the cluster's own", "another name", "rename it")

    @property
    def refers_to(self) -> tuple[str, ...]:
        return (self.region_stack,)

    @property
    def of_region(self) -> StackSpec:
        """The region's file."""
        return self._region

    @property
    def cluster_key(self) -> str:
        """Key of the cluster in the region's file."""
        return self.cluster or next(iter(self.of_region.clusters))

    @property
    def cluster_spec(self) -> ClusterSpec:
        return self.of_region.clusters[self.cluster_key]

    @property
    def node_pools(self) -> dict[str, NodePoolSpec]:
        """Node pools of the cluster, by name."""
        return {name: pool for name, pool in self.of_region.node_pools.items() if pool.cluster == self.cluster_key}

    @property
    def buckets(self) -> dict[str, str]:
        """Names of the region's buckets: `data`, `models`."""
        said = {"data": self.of_region.storage.data, "models": self.of_region.storage.models}
        return {key: one.existing or names.bucket(self.project, self.region_stack, key) for key, one in said.items()}

    @classmethod
    def context(cls, fields: Mapping[str, Any], file: YamlFile, folder: Path | None) -> dict[str, Any]:
        return super().context(fields, file, folder) | {"region_stack": read_beside(StackSpec, fields.get("region_stack"), folder)}


def region_of(info: ValidationInfo) -> StackSpec | None:
    """The region's file, for validators of what lives in its cluster; None where a spec is checked alone, or that file is wrong."""
    found: StackSpec | SpecError | None = (info.context or {}).get("region_stack")
    return found if isinstance(found, StackSpec) else None
