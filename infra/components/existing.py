"""
What others own: any part of a stack file may name a thing by `existing:` instead of describing one.

It is read and never changed or destroyed, it stands in the stack's region, its owner pays for it, and what is its owner's to say is
refused. One form for every part: a spec that is `MayExist` has a field `existing` whose validator is that of a `FullName`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, cast

import pulumi
from pydantic import BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo, create_model
from pydantic_core import CoreSchema, core_schema

from infra import gcp
from infra.catalog.places import region_of
from infra.components.placement import region_of_file
from infra.errors import Problem, ProblemsError
from infra.spec import Spec, problem

OWNERS = "is for its owner to say: it is existing"
PLACES = ("region", "zone", "location")
PARTS = {
    "project": r"[a-z][a-z0-9-]{2,28}[a-z0-9]",
    "account": r"[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}",
    **dict.fromkeys(PLACES, r"[a-z0-9-]+"),
}
"""What the words of a form may be; all others are names."""


@dataclass(frozen=True, slots=True)
class FullName:
    """How things of a kind are named in full."""

    what: str
    """Such as `a subnet`."""
    forms: tuple[str, ...]
    """Such as `projects/{project}/regions/{region}/subnetworks/{name}`."""
    example: str
    name: str = r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
    """What its own name may be."""
    parts_of: Mapping[str, str] = field(default_factory=dict)
    """The same of other words of the form."""

    def match(self, value: object) -> re.Match[str] | None:
        if not isinstance(value, str):
            return None
        return next((found for form in self.forms if (found := re.fullmatch(self.pattern(form), value))), None)

    def pattern(self, form: str) -> str:
        known = {**PARTS, **self.parts_of}
        return re.sub(r"\\\{(\w+)\\\}", lambda word: f"(?P<{word[1]}>{known.get(word[1], self.name)})", re.escape(form))

    def parts(self, value: str) -> dict[str, str]:
        """The words in a name that was checked."""
        found = self.match(value)
        assert found, "the spec has checked it"
        return found.groupdict()

    @property
    def validator(self) -> BeforeValidator:
        """Refuses what is no such name, and what stands in another region than the file says."""

        def check(value: object, info: ValidationInfo) -> object:
            found = self.match(value)
            if found is None:
                raise problem(f"is not the full name of {self.what}", allowed=f"for example {self.example}")
            region = region_of_file(info)
            place = next((found[key] for key in PLACES if key in found.groupdict()), region)
            if region and place != region and not (place and place.startswith(f"{region}-") and region_of(place) == region):
                raise problem("stands in another region", allowed=f"{self.what} of {region}")
            return value

        return BeforeValidator(check)


class MayExist(Spec):
    """A part of the file that others may own. Its field `existing` says so."""

    beside: ClassVar[tuple[str, ...]] = ()
    """Keys that may stand beside `existing`: facts, held against the thing, and what is the stack's own."""
    owners: ClassVar[tuple[str, ...]] = ()
    """Where it is described all the same, since others need to know what it is: keys that may not stand beside `existing`."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_wrap_validator_function(cls._of_others, handler(source))

    @classmethod
    def _of_others(cls, data: Any, handler: Callable[[Any], Any], info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping) or not data.get("existing"):
            return handler(data)
        if cls.owners:
            if said := [key for key in data if key in cls.owners]:
                raise ProblemsError(Problem(str(key), OWNERS, fix="remove it") for key in said)
            return handler(data)
        if unsaid := list(cls.unsaid(data)):
            raise ProblemsError(unsaid)
        part = _part(cls).model_validate(data, context=info.context)
        values = {name: getattr(part, name) for name in part.model_fields_set}
        unknown = {name: None for name, one in cls.model_fields.items() if one.is_required()}  # what it is, only its owner knows
        return cls.model_construct(set(values), **{**unknown, **values})

    @classmethod
    def unsaid(cls, data: Mapping[Any, Any]) -> Iterator[Problem]:
        """What must stand beside `existing`, and does not."""
        return iter(())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        made = super().__get_pydantic_json_schema__(schema, handler)
        found = handler.resolve_ref_schema(made)
        if needed := found.pop("required", None):
            found["anyOf"] = [{"required": needed}, {"required": ["existing"]}]
        return made


@cache
def _part(spec: type[MayExist]) -> type[BaseModel]:
    """What may be said of one that others own."""
    fields = {name: (spec.model_fields[name].annotation, spec.model_fields[name]) for name in ("existing", *spec.beside)}
    made = create_model(f"{spec.__name__}OfOthers", __config__=ConfigDict(frozen=True, extra="forbid"), **cast(Any, fields))
    return cast(type[BaseModel], made)


INSTANCE = "projects/{project}/zones/{zone}/instances/{name}"
GROUP = "projects/{project}/zones/{zone}/instanceGroupManagers/{name}"
NODE = "projects/{project}/locations/{zone}/nodes/{name}"
MACHINE = FullName("a machine", (INSTANCE,), "projects/tw-shop-ml/zones/asia-east1-a/instances/trainer")
SLICE = FullName(
    "a TPU machine: an instance, a managed instance group or a node of the Cloud TPU API",
    (INSTANCE, GROUP, NODE),
    "projects/tw-shop-ml/zones/asia-east1-c/instances/trainer",
)


def read_machine(name: str, existing: str, parent: pulumi.Resource) -> pulumi.CustomResource:
    """A machine of others, or several that are one slice: read."""
    found = SLICE.parts(existing)
    reads: dict[str, Callable[..., Any]] = {
        "instances": gcp.compute.Instance.get,
        "instanceGroupManagers": gcp.compute.InstanceGroupManager.get,
        "nodes": gcp.tpu.V2Vm.get,
    }
    read = reads[existing.split("/")[4]]
    opts = pulumi.ResourceOptions(parent=parent)
    return cast(
        pulumi.CustomResource,
        read(name, existing, opts=opts, project=found["project"], zone=found["zone"], name=found["name"]),
    )
