"""What the two versions on an endpoint do now, side by side."""

from __future__ import annotations

from infra.operate import readings, versions
from infra.operate.hourly import usd_per_hour
from infra.operate.readings import Source
from infra.provider import deployed_set
from infra.provider.google import Google
from infra.provider.server import ProviderError
from infra.provider.serving import Serving


def side_by_side(
    google: Google,
    endpoint: str,
    source: Source,
    start: float,
    end: float,
) -> versions.Comparison:
    """
    The older and the newer of two deployed models of this stack.

    Raises:
        ProviderError: There are not two, or the cloud refused.
    """
    look = Serving(google, endpoint).look()
    ours = sorted(deployed_set.ours(look).values(), key=lambda live: (str(live.get("createTime", "")), str(live["id"])))
    if len(ours) != 2:
        said = ", ".join(f"{one['id']} (version {one.get('modelVersionId')})" for one in ours) or "none"
        raise ProviderError(f"{endpoint}: two deployed models of this stack are compared; there are: {said}")
    differ = len({one.get("displayName") for one in ours}) == 2
    moments = source.moments(start, end)
    sides = [
        versions.Side(
            str(live.get("modelVersionId", "")),
            str(live["id"]),
            readings.total(moments, live["id"], start),
            usd_per_hour(live, endpoint.split("/")[3]),
            (end - start) / 3600,
            str(live.get("displayName", "")) if differ else "",
        )
        for live in ours
    ]
    return versions.compare(*sides)
