"""
Requests of ours instead of callers': a file of them is sent at each reading, and each answer is timed.

They go where the traffic split sends them, so each version gets its share. An answer says which deployed model it is of; an error does not:
it counts against every version, which is the safe side.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infra.errors import Problem, SpecError
from infra.operate.latencies import Distribution
from infra.operate.readings import Moment, Reading
from infra.provider.calls import GoogleError, UnclearError
from infra.provider.deployed_model import V1
from infra.provider.google import Google
from infra.provider.serving import ENDPOINTS, Serving

MOST = 1_000
"""Requests in one file: they are sent one after the other, at each reading."""


class Probe:
    """
    A source of readings.

    Args:
        google: Google's APIs.
        endpoint: Full name.
        requests: Bodies of `:predict`, one after the other.
        now: What time it is, in seconds since 1970.
        watch: A stopwatch in seconds.
    """

    def __init__(
        self,
        google: Google,
        endpoint: str,
        requests: list[dict[str, Any]],
        now: Callable[[], float],
        watch: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._google = google
        self._endpoint = endpoint
        self._requests = requests
        self._now = now
        self._watch = watch
        self._moments: list[Moment] = []

    @staticmethod
    def read(path: Path) -> list[dict[str, Any]]:
        """
        Requests of a file: a JSON list of bodies of `:predict`, `[{"instances": [...]}]`, or one of them.

        Raises:
            SpecError: It has none.
        """
        allowed = 'a JSON list of predict requests, or one: [{"instances": [[1, 2, 3]]}]'
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise SpecError(str(path), [Problem("--probe", f"cannot be read: {error.strerror}", allowed)]) from None
        except (ValueError, RecursionError) as error:
            raise SpecError(str(path), [Problem("--probe", f"is no JSON: {error}", allowed)]) from None
        every = found if isinstance(found, list) else [found]
        if not every or any(
            not isinstance(one, dict) or not isinstance(one.get("instances"), list) or not one["instances"] for one in every
        ):
            raise SpecError(str(path), [Problem("--probe", "holds something that is no request with instances, or nothing", allowed)])
        if len(every) > MOST:
            raise SpecError(
                str(path), [Problem("--probe", f"holds {len(every)} requests", f"{MOST} at most: they are sent at each reading")]
            )
        return every

    def moments(self, start: float, end: float) -> list[Moment]:
        """Sends every request once more, and says all that was measured since *start*."""
        look, address = Serving(self._google, self._endpoint).look(), self._address()
        begun = self._now()
        samples: dict[str, list[float]] = {id: [] for id in look.split}
        errors = 0
        for body in self._requests:
            clock = self._watch()
            try:
                answer = self._google.post(address, body)
            except (GoogleError, UnclearError):
                errors += 1
            else:
                samples.setdefault(str(answer.get("deployedModelId", "")), []).append((self._watch() - clock) * 1000)
        for id, found in samples.items():
            reading = Reading(len(found) + errors, errors, Distribution.of(found))
            self._moments.append(Moment(id, begun, self._now(), reading))
        return [one for one in self._moments if one.start >= start]

    def _address(self) -> str:
        """Where predictions are asked for: an endpoint may have a host of its own. Source: Endpoint.dedicatedEndpointDns."""
        place = self._endpoint.split("/")[3]
        found = self._google.call(V1, f"{ENDPOINTS}.get", place=place, name=self._endpoint)
        host = found.get("dedicatedEndpointDns")
        root = f"https://{host}/" if host else self._google.settings.root("aiplatform", place)
        return f"{root}v1/{self._endpoint}:predict"
