"""
Makes numbers of pictures: `python -m workloads.entry embed_images`.

It reads every file in the folder `WL_DATA_PICTURES`, and keeps what it made of them in `embeddings/` of `WL_OUTPUT`, or in the folder that
`--embeddings` names, which may outlive a run (`workloads.embeddings` says what is in it): a later try makes only what is missing, and a
later run only what is new. What measures them is the model in `WL_DATA_VISION` (`workloads.vision`). In `WL_OUTPUT` is besides:

    report.json  {"metrics": {"pictures": N, "embedded": N, "set_aside": N}, "set_aside": {NAME: REASON}, ...}

A file that cannot be read as a picture is set aside with the reason, and stops nobody.

Several workers (`WL_HOSTS`) share the shards, each with its own: one may die and be begun again while the others work. They may be replicas
of a custom job of Vertex AI, Pods of an indexed Job, tasks of Cloud Batch or of Cloud Run: `workloads.workers` says how each knows which it
is. Who is done last reports; the primary replica of a custom job, whose end is the others' too, waits for them. Hosts of one TPU slice are
a machine together, and begin and end together.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from dataclasses import replace

from workloads import devices, embeddings, vision, workers
from workloads.arguments import positive
from workloads.contract import REPORT, RESTART_EXIT, SIMULATED, ContractError, InputError, TrainSettings
from workloads.embeddings import Embeddings, Shard
from workloads.files import Folder
from workloads.preemption import Notice
from workloads.say import say

WAIT_SECONDS = 10
"""Between two looks at whether the others are done, of a worker whose end would be theirs."""
OWN_DEVICES = True
"""This program looks at its devices by itself: workers that know nothing of each other do not wait for each other's."""


def parser(program: str) -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog=program, description="Makes numbers of pictures.")
    found.add_argument("--embeddings", help=f"folder that keeps them, over runs; default: {embeddings.PLACE} of WL_OUTPUT")
    found.add_argument("--shard", type=positive, default=embeddings.SHARD, help=f"pictures of a shard; default {embeddings.SHARD}")
    return found


def run(settings: TrainSettings, options: argparse.Namespace) -> int:
    """Makes the shards that are missing. Answers the exit code."""
    begun = time.monotonic()
    host, connected = _started(settings, os.environ)
    if "pictures" not in settings.data:
        raise InputError("WL_DATA_PICTURES is missing: name the folder of the pictures")
    pictures, output = Folder(settings.data["pictures"]), Folder(settings.output)
    extractor = vision.extractor(settings.data)
    kept = output.child(embeddings.PLACE) if options.embeddings is None else Folder(options.embeddings)
    embeddings.measured_by_others(kept, extractor)
    found = Embeddings(kept, pictures, embeddings.listed(pictures, output, alone=settings.hosts == 1), extractor, shard=options.shard)
    if not len(found):
        raise InputError(f"{pictures.location}: no file is there")
    # Each worker stops for itself: no step is common to them.
    notice = Notice(1)
    made = 0
    for number in range(host, found.count, settings.hosts):
        if notice.at(number):
            say(f"this machine is taken away: {number} of {found.count} shards were looked at")
            return RESTART_EXIT
        if found.whole(number) is None:
            found.make(number)
            made += 1
            say(f"shard {number + 1} of {found.count} is made")
    if connected:
        devices.meet(settings, "at the end of the pictures")
    # Everybody writes before they look: so the last one finds all, and if two do, they say the same.
    shards = found.whole_shards()
    while shards is None and settings.hosts > 1 and workers.speaks_for_all(host, os.environ):
        if notice.at(found.count):
            return RESTART_EXIT
        _wait()
        shards = found.whole_shards()
    if shards is None and (connected or settings.hosts == 1):
        raise InputError(f"{found.folder.location}: a shard went away, or its pictures did: begin again")
    if shards is None:
        say(f"worker {host} of {settings.hosts} is done; who is done last reports")
        return 0
    if not connected or host == 0:
        _report(settings, output, shards, extractor, made, begun)
        found.clear()
        output.delete(embeddings.LIST)
    return 0


def _started(settings: TrainSettings, environment: Mapping[str, str]) -> tuple[int, bool]:
    """Which worker this is, after its devices are looked at, and whether JAX connects it to the others."""
    if settings.hosts > 1 and not settings.accelerator_type.startswith(("cpu", devices.GPU)) and environment.get(SIMULATED) != "1":
        devices.start(settings)
        import jax

        return jax.process_index(), True
    host = workers.mine(settings, environment)
    if settings.chips % settings.hosts:
        raise ContractError(f"WL_CHIPS={settings.chips} is no multiple of WL_HOSTS={settings.hosts}")
    devices.start(replace(settings, hosts=1, chips=settings.chips // settings.hosts, process_id=0, coordinator=""))
    return host, False


def _report(settings: TrainSettings, output: Folder, shards: list[Shard], extractor: vision.Extractor, made: int, begun: float) -> None:
    aside = {name: why for shard in shards for name, why in sorted(shard.set_aside.items())}
    embedded = sum(len(shard.names) for shard in shards)
    output.write_json(
        REPORT,
        {
            "workload": "embed_images",
            "run_id": settings.run_id,
            "metrics": {"pictures": embedded + len(aside), "embedded": embedded, "set_aside": len(aside)},
            "set_aside": aside,
            "picture_features": extractor.name,
            "shards": len(shards),
            "shards_made_by_this_try": made,
            "seconds": round(time.monotonic() - begun, 2),
        },
    )


def _wait() -> None:
    time.sleep(WAIT_SECONDS)
