"""Runs that have ended, an object each: for people, and for whoever asks what a night cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from infra.job_plan import JobPlan
from infra.operate.jobs import tries
from infra.operate.jobs.tries import Try
from infra.provider.google import Google
from infra.provider.json_object import ChangedError, JsonObject

NAME = ".json"


def journal(state: str) -> str:
    """Object of the run that is open or was last: `gs://BUCKET/.../job.json`."""
    return f"{state}/job.json"


def address(state: str, run: str) -> str:
    """Object of a run: `gs://BUCKET/.../runs/RUN.json`."""
    return f"{state}/runs/{run}.json"


def folder(state: str, run: str) -> str:
    """What is said of a run while it works: `gs://BUCKET/.../runs/RUN`."""
    return f"{state}/runs/{run}"


def shown(plan: JobPlan, data: Mapping[str, Any], now: float) -> dict[str, Any]:
    """A run as its record and `accelform jobs show` have it, ended or not."""
    rows, kept = [Try.read(row) for row in data.get("tries", [])], data.get("kept") or {}
    ways = {way.provisioning for way in plan.machines} & set(data.get("provisioning") or [way.provisioning for way in plan.machines])
    return {
        "run": data["id"],
        "job": data["job"],
        "workload": data.get("workload", plan.workload),
        "phase": data.get("phase", ""),
        "began": data["began"],
        "ended": data.get("ended", ""),
        "result": data.get("result", ""),
        "reason": data.get("reason", ""),
        "restarts": data.get("restarts", 0),
        "tries": [row.shown() | {"usd": row.usd or tries.text(row.cost(now))} for row in rows],
        "usd": tries.text(tries.total(rows, now)),
        "usd_at_most": tries.text(tries.at_most(plan, ways)),
        "output": data.get("output", ""),
        "model_version": kept.get("version", ""),
        "gate": {name: kept.get(name) for name in ("accepted", "reason", "metrics")} if "accepted" in kept else None,
        "outcome": kept.get("outcome", ""),
        "why": kept.get("why", ""),
    }


def write(google: Google, state: str, record: Mapping[str, Any]) -> None:
    """Writes it, over an earlier one of the same run."""
    found = JsonObject(google, address(state, str(record["run"])))
    found.change(lambda before: dict(record))


def skipped(google: Google, plan: JobPlan, run: str, at: str, reason: str) -> None:
    """A run that did not begin."""
    record = {"run": run, "job": plan.job, "began": at, "ended": at, "result": "skipped", "reason": reason, "tries": [], "usd": "0"}
    try:
        JsonObject(google, address(plan.state, run)).write(record, 0)
    except ChangedError:
        return  # two of one second: the other one's is there


def every(google: Google, state: str) -> list[str]:
    """Ids of the runs that have ended, oldest first."""
    parts = urlsplit(f"{state}/runs/")
    prefix = parts.path.lstrip("/")
    found = google.pages("storage.v1", "objects.list", "items", bucket=parts.netloc, prefix=prefix, delimiter="/")
    return sorted(str(one["name"]).removeprefix(prefix).removesuffix(NAME) for one in found if str(one["name"]).endswith(NAME))


def read(google: Google, state: str, run: str) -> dict[str, Any]:
    """One of them; nothing where there is none."""
    return JsonObject(google, address(state, run)).read()[1]
