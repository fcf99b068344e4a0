"""A model whose versions a job uploads: the program has its name, and what stands under it is the job's until the model is deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infra.labels import JOB_LABEL
from infra.provider import container, schema
from infra.provider.registry import Version
from infra.provider.resource import Failure

BY = "uploadedBy"
NEEDED = ("imageUri", "ports", "predictRoute", "healthRoute")
"""What a model needs that is uploaded by the program."""
NOT_SAID = (*container.MADE_OF, "versionDescription", "versionAliases", "firstAliases", "keepVersions")
"""What is of versions, and so not the program's to say here."""
JOB = "job "


def is_so(inputs: Mapping[str, Any]) -> bool:
    """Whether somebody else uploads the versions."""
    return bool(inputs.get(BY))


def failures(inputs: Mapping[str, Any], token: str) -> Iterator[Failure]:
    """What is missing, or said too much, by who uploads the versions."""
    if is_so(inputs):
        yield from (Failure((name,), f"goes not with {BY}: it is of a version\n  fix: leave it out") for name in NOT_SAID if name in inputs)
        return
    known = schema.resource(token)["inputProperties"]
    for name in NEEDED:
        if inputs.get(name) is None:
            yield Failure((name,), f"is missing\n  allowed: {known[name]['description']}")


def inputs_of(version: Version) -> dict[str, Any] | None:
    """The inputs that an import finds: None where no job of ours uploaded the version."""
    labels = version.get("labels", {})
    if JOB_LABEL not in labels:
        return None
    shown = {name: version[name] for name in ("displayName", "description") if version.get(name)}
    return shown | {"allowTag": False, BY: f"{JOB}{labels[JOB_LABEL]}"}
