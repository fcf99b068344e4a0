"""What controllers hold of a resource that the provider is asked about: added to its input `held`, and taken off what the state keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from infra.provider.google import Google
from infra.provider.holds import Hold, Holds
from infra.provider.values import Unknown

NAMED_BY = {"accelform:vertex:DeployedModels": "endpoint"}
"""Types of which something can be held -> the input that is the resource's name in holds."""
INPUT = "held"


def on(google: Google, address: str, token: str, inputs: Mapping[str, Any]) -> list[Hold]:
    """
    The holds that count now. None where the stack keeps none, and on what is not there yet.

    Raises:
        ProviderError: They cannot be read: whether something is held is then not known, and nothing may be changed.
    """
    name = inputs.get(NAMED_BY.get(token, ""), "")
    if not address or not name or isinstance(name, Unknown):
        return []
    return Holds(google, address).on(str(name), google.time())


def added(inputs: Mapping[str, Any], holds: Iterable[Hold]) -> dict[str, Any]:
    """Inputs that hold what controllers hold, besides what the program does."""
    fields = {field for hold in holds for field in hold.fields}
    given = inputs.get(INPUT)
    own = [one for one in given if not isinstance(one, Unknown)] if isinstance(given, list) else []
    return dict(inputs) | ({INPUT: sorted({*own, *fields})} if fields else {})


def removed(found: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """What the state keeps: `held` as the program wrote it, since holds end by themselves."""
    rest = {key: value for key, value in found.items() if key != INPUT}
    return rest | ({INPUT: written[INPUT]} if INPUT in written else {})
