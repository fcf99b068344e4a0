"""
Which of several workers this process is, where each works for itself and hears nothing of the others.

`WL_HOSTS` says how many there are. Which one this is, `WL_PROCESS_ID` says, or the platform:

    CLUSTER_SPEC                                Vertex AI, a custom job: {"cluster": {"workerpool0": [...], ...}, "task": {"type", "index"}}
    JOB_COMPLETION_INDEX                        Kubernetes, a Job of completion mode Indexed
    BATCH_TASK_INDEX, BATCH_TASK_COUNT          Cloud Batch
    CLOUD_RUN_TASK_INDEX, CLOUD_RUN_TASK_COUNT  Cloud Run, a job

Source: Google's pages "Distributed training" (Vertex AI), "Batch predefined variables" and "Container runtime contract" (Cloud Run), and
the Kubernetes page "Jobs", 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from workloads.contract import ContractError, TrainSettings

_INDEXED = (
    ("JOB_COMPLETION_INDEX", ""),
    ("BATCH_TASK_INDEX", "BATCH_TASK_COUNT"),
    ("CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_COUNT"),
)


def mine(settings: TrainSettings, environment: Mapping[str, str]) -> int:
    """
    Number of this worker, from 0.

    Raises:
        ContractError: Nothing says it, or what says it does not go with `WL_HOSTS`.
    """
    found = _said(settings, environment)
    if found is None:
        if settings.hosts == 1:
            return 0
        names = ", ".join(("WL_PROCESS_ID", "CLUSTER_SPEC", *(name for name, _ in _INDEXED)))
        raise ContractError(f"WL_HOSTS={settings.hosts}, and nothing says which of them this is: one of {names} does")
    variable, index, count = found
    if count is not None and count != settings.hosts:
        raise ContractError(f"{variable} is of {count} workers, and WL_HOSTS={settings.hosts}")
    if not 0 <= index < settings.hosts:
        raise ContractError(f"{variable} says worker {index}: less than WL_HOSTS={settings.hosts}, as the first is 0")
    return index


def speaks_for_all(index: int, environment: Mapping[str, str]) -> bool:
    """
    Whether the end of this worker is the end of the others: the primary replica of a custom job of Vertex AI reports the job's status as a
    whole, as Google's page "Distributed training" says.
    """
    return index == 0 and bool(environment.get("CLUSTER_SPEC"))


def _said(settings: TrainSettings, environment: Mapping[str, str]) -> tuple[str, int, int | None] | None:
    """By which variable, which worker of how many."""
    if environment.get("WL_PROCESS_ID"):
        return "WL_PROCESS_ID", settings.process_id, None
    if environment.get("CLUSTER_SPEC"):
        return _replica(environment["CLUSTER_SPEC"])
    for name, of in _INDEXED:
        if environment.get(name):
            return name, _whole(name, environment[name]), _whole(of, environment[of]) if environment.get(of) else None
    return None


def _replica(text: str) -> tuple[str, int, int]:
    """Of Vertex AI's pools of workers, counted through in their order."""
    try:
        spec = json.loads(text)
        pools = {name: len(spec["cluster"][name]) for name in sorted(spec["cluster"])}
        pool, index = spec["task"]["type"], spec["task"]["index"]
        before = sum(count for name, count in pools.items() if name < pool)
        if pool in pools and isinstance(index, int) and 0 <= index < pools[pool]:
            return "CLUSTER_SPEC", before + index, sum(pools.values())
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise ContractError(f"CLUSTER_SPEC={text[:200]!r} is no cluster of Vertex AI's with a task of it")


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ContractError(f"{name}={text[:40]!r} is no whole number")
    return int(text)
