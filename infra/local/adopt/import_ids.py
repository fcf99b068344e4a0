"""
Under which id a type is imported. It is the id that the state has, but for pools of nodes, whose words are left out, and for grants, which
are said with spaces between.

Source: the "Import" sections in the SDK's docstrings (pulumi_gcp 10.2.0), against which a test holds every type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.local.gcp.resource_type import ResourceType

OTHERWISE = {"gcp:container/nodePool:NodePool": "{project}/{location}/{cluster}/{name}"}
"""Type -> the form in which the official provider takes it, where that is not the id of the state."""


def import_id(row: ResourceType, id: str, outputs: Mapping[str, Any]) -> str:
    """What `pulumi import` wants for a resource of that id in the state."""
    if row.policy is not None:
        title = (outputs.get("condition") or {}).get("title", "")
        return " ".join(filter(None, (outputs[row.policy.parent], outputs["role"], outputs["member"], title)))
    form = OTHERWISE.get(row.token)
    return form.format(**row.names_of(id)) if form else id
