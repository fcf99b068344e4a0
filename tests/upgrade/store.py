"""
What each example stack was, as the release of a version made it on the sandbox: the engine's export, without what another run would have
otherwise. `tools/release.py` writes it, and the tests hold the present program against it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "deployments"
BASE = "http://127.0.0.1:1"
"""Where the sandbox was, in what is stored: each run has a port of its own."""
LEFT_OUT = ("created", "modified", "sourcePosition", "stackTrace", "taint")
"""What the engine notes of each resource, and no program reads."""
MOMENT = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
NUMBER = re.compile(r"(?<![0-9a-f])[1-9][0-9]{14,20}(?![0-9a-f])")
"""Numbers that a service makes up, such as those of accounts and channels."""
CONTROL_PLANE = re.compile(r"(?<=gke-)[0-9a-f]{20,40}(?=-)")
"""Of the DNS name of a cluster's control plane: its id, which what lives in it reads from another stack."""
STAMPS = ("etag", "fingerprint", "generation", "metageneration", "resourceversion", "uid", "uniqueid")
"""Ends of the names of outputs that are others at each change."""
CHANGES = ("create", "update", "delete", "replace", "create-replacement", "delete-replaced", "import", "discard", "remove-pending-replace")
"""What a preview may mean to do to a resource; the rest is to look."""


class Stored(NamedTuple):
    """One stored deployment."""

    stack: str
    version: str
    path: Path


def stored() -> list[Stored]:
    """All of them."""
    return [Stored(*path.name.removesuffix(".json.gz").split("@"), path) for path in sorted(FOLDER.glob("*.json.gz"))]


def examples() -> dict[str, Path]:
    """The example stacks that pass, by name: those that are refused are examples of that."""
    files = [*(ROOT / "stacks").glob("Pulumi.*.yaml"), *(ROOT / "docs" / "examples").glob("Pulumi.*.yaml")]
    return {path.name.split(".")[1]: path for path in sorted(files) if path.name != "Pulumi.dreams.yaml"}


def write(state: Mapping[str, Any], stack: str, version: str, base: str) -> Path:
    """Stores an export, small, and by the same bytes for the same stack."""
    path = FOLDER / f"{stack}@{version}.json.gz"
    text = json.dumps(pruned(state, base), separators=(",", ":"), sort_keys=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return path


def read(path: Path, base: str) -> Any:
    """A stored deployment as the engine imports it, for a sandbox at *base*."""
    return json.loads(gzip.decompress(path.read_bytes()).decode().replace(BASE, base))


def pruned(state: Mapping[str, Any], base: str) -> dict[str, Any]:
    """An export without moments, numbers that are made up, and what only the engine reads."""
    deployment = json.loads(json.dumps(state["deployment"]).replace(base, BASE))
    made_up: dict[str, str] = {}
    every = _in_order(deployment.get("resources") or [])
    for one in every:  # a moment that the file says is no moment of the run
        made_up |= {said[0]: said[0] for said in MOMENT.finditer(json.dumps(one.get("inputs") or {}))}
    resources = [{key: _plain(value, key, made_up) for key, value in one.items() if key not in LEFT_OUT} for one in every]
    manifest = {"time": "2026-12-01T00:00:00Z", **{key: deployment["manifest"][key] for key in ("magic", "version")}}
    return {"version": state["version"], "deployment": {"manifest": manifest, "resources": resources}}


def _in_order(every: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """By name, each after what it needs: the engine lists them as they came to be."""
    waiting = sorted(every, key=lambda one: str(one["urn"]))
    there = {one["urn"] for one in every}
    done: dict[str, dict[str, Any]] = {}
    while waiting:
        ready = next(one for one in waiting if (_needs(one) & there) <= done.keys())
        waiting.remove(ready)
        done[ready["urn"]] = ready
    return list(done.values())


def _needs(one: Mapping[str, Any]) -> set[str]:
    by_property = [urn for urns in (one.get("propertyDependencies") or {}).values() for urn in urns or []]
    own = [one.get("parent") or "", one.get("provider", "").rpartition("::")[0], *(one.get("dependencies") or []), *by_property]
    return {*own, one.get("deletedWith") or ""} - {one["urn"]}


def _plain(value: Any, key: str, made_up: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one, name, made_up) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, key, made_up) for one in value]
    if not isinstance(value, str):
        return value
    if value and key.lower().endswith(STAMPS):
        return "0"
    text = MOMENT.sub(lambda found: made_up.get(found[0], "2026-12-01T00:00:00Z"), value)
    text = CONTROL_PLANE.sub("0" * 32, text)
    text = NUMBER.sub(lambda found: made_up.setdefault(found[0], f"1{len(made_up):0{len(found[0]) - 1}d}"), text)
    return UUID.sub(lambda found: made_up.setdefault(found[0], f"00000000-0000-4000-8000-{len(made_up):012d}"), text)


def changes(preview: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What a preview (`--json`) means to do to each resource: operation, type and name; of a replacement its causes with the name."""
    for step in preview.get("steps") or []:
        if step["op"] in CHANGES:
            kind, name = step["urn"].split("::", 3)[2:]
            causes = ", ".join(step.get("replaceReasons") or [])
            yield step["op"], kind.rpartition("$")[2], f"{name} ({causes})" if causes else name


def broken(found: Iterable[tuple[str, str, str]], changelog: str, version: str) -> list[str]:
    """
    What may not be: anything made anew or deleted; anything made or updated that the changelog does not name since that version.

    Args:
        changelog: Its sections, newest first; a line `- Upgrade: ...` of them names the types in backquotes.
    """
    newer = changelog.partition(f"\n## {version} ")[0]
    named = {word for line in newer.splitlines() if line.startswith("- Upgrade: ") for word in re.findall(r"`([^`]+)`", line)}
    return [f"{op} {kind} {name}" for op, kind, name in found if op not in ("create", "update") or kind not in named]
