"""
What a version of a model is made of: its image, its files, and the container's contract with Vertex AI.

Limits and forms are those of the discovery document aiplatform v1, revision 20261106, unless said otherwise. All of it is immutable there:
another image, other files or another contract are another version.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.provider.resource import Failure
from infra.provider.values import Path, Unknown, has_unknown, is_empty

PROBES = ("startupProbe", "healthProbe", "livenessProbe")
MADE_OF = (
    *("imageUri", "artifactUri", "ports", "predictRoute", "healthRoute", "command", "args", "env"),
    *(*PROBES, "sharedMemorySizeMb", "deploymentTimeout"),
)
"""Inputs that make a version what it is."""

REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+")
IMAGE = re.compile(r"([a-z0-9-]+)-docker\.pkg\.dev(?:/[a-z0-9][a-z0-9._-]*){3,}(?::\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?")
ARTIFACT = re.compile(r"gs://([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:/[^\x00-\x1f\x7f]*)?")
ROUTE = re.compile(r"/[!-~]*")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
DURATION = re.compile(r"[1-9][0-9]{0,5}s")
"""No zero in front: Google answers a time in its shortest form, and another would differ from it for ever."""
LONGEST_DEPLOYMENT_SECONDS = 2 * 60 * 60
LAST_PORT = 65535
VARIABLES, VARIABLE_BYTES, ENV_BYTES = 200, 128 * 1024, 512 * 1024
WAYS = ("exec", "httpGet", "grpc", "tcpSocket")
LEAST = {"periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 1, "successThreshold": 1, "initialDelaySeconds": 0}
"""Smallest numbers of a probe. Not held: a timeout no shorter than the period, which Google's own defaults (1 and 10) break."""


def body(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a Model, in Google's form."""
    spec = {
        "imageUri": inputs["imageUri"],
        "ports": [{"containerPort": port} for port in inputs["ports"]],
        "predictRoute": inputs["predictRoute"],
        "healthRoute": inputs["healthRoute"],
        "command": inputs.get("command"),
        "args": inputs.get("args"),
        "env": [{"name": name, "value": value} for name, value in sorted((inputs.get("env") or {}).items())],
        **{probe: inputs.get(probe) for probe in PROBES},
        "sharedMemorySizeMb": str(inputs.get("sharedMemorySizeMb") or ""),
        "deploymentTimeout": inputs.get("deploymentTimeout"),
    }
    found: dict[str, Any] = {"containerSpec": {key: value for key, value in spec.items() if not is_empty(value)}}
    return found | ({"artifactUri": inputs["artifactUri"]} if inputs.get("artifactUri") else {})


def inputs_of(version: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that would make a version that is there; what it has not is left out."""
    spec = version.get("containerSpec", {})
    found = {
        "imageUri": spec.get("imageUri", ""),
        "artifactUri": version.get("artifactUri"),
        "ports": [port.get("containerPort", 0) for port in spec.get("ports", [])],
        "predictRoute": spec.get("predictRoute", ""),
        "healthRoute": spec.get("healthRoute", ""),
        "command": spec.get("command"),
        "args": spec.get("args"),
        "env": {one["name"]: one.get("value", "") for one in spec.get("env", [])},
        **{probe: spec.get(probe) for probe in PROBES},
        "sharedMemorySizeMb": int(spec.get("sharedMemorySizeMb") or 0),
        "deploymentTimeout": spec.get("deploymentTimeout"),
    }
    needed = ("imageUri", "ports", "predictRoute", "healthRoute")
    return {key: value for key, value in found.items() if key in needed or not is_empty(value)}


def fingerprint(inputs: Mapping[str, Any]) -> str:
    """
    Forty hexadecimal digits for what a version is made of: a label holds 63 characters at most.

    Not for state or messages: it is made of secrets too. On the version itself it tells nothing that its `env` does not.
    """
    made_of = body(inputs)
    made_of["artifactUri"] = made_of.get("artifactUri", "").rstrip("/")
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:40]


def is_known(inputs: Mapping[str, Any]) -> bool:
    """Whether the fingerprint can be told before an update."""
    return not any(has_unknown(inputs.get(name)) for name in MADE_OF)


def bucket_of(artifact: str) -> str:
    return artifact.removeprefix("gs://").partition("/")[0]


def check(inputs: Mapping[str, Any]) -> Iterator[Failure]:
    """What is wrong with the container's part of a model's inputs. No value of `env` is in a message."""
    location = inputs.get("location")
    region = location if isinstance(location, str) and REGION.fullmatch(location) else ""
    yield from _image(inputs.get("imageUri"), region, inputs.get("allowTag") is True)
    artifact = inputs.get("artifactUri")
    if isinstance(artifact, str) and not ARTIFACT.fullmatch(artifact):
        yield Failure(("artifactUri",), f"{artifact!r} is no folder of a bucket\n  allowed: gs://shop-models/recommender/7/")
    ports = inputs.get("ports")
    if isinstance(ports, list):
        if len(ports) != 1:
            yield Failure(("ports",), f"has {len(ports)} ports, and Vertex AI speaks to the first alone\n  allowed: one, such as [8080]")
        for index, port in enumerate(ports):
            yield from _port(port, ("ports", index))
    for name in ("predictRoute", "healthRoute"):
        route = inputs.get(name)
        if isinstance(route, str) and not ROUTE.fullmatch(route):
            yield Failure((name,), f"{route!r} is no path of HTTP\n  allowed: begins with /, such as /predict")
    if isinstance(env := inputs.get("env"), dict):
        yield from _env(env)
    for probe in PROBES:
        if isinstance(one := inputs.get(probe), dict):
            yield from _probe(one, probe)
    memory = inputs.get("sharedMemorySizeMb")
    if isinstance(memory, int) and memory < 1:
        yield Failure(("sharedMemorySizeMb",), f"{memory} is no size\n  allowed: 1 or more, in MB of the machine's memory")
    timeout = inputs.get("deploymentTimeout")
    if isinstance(timeout, str) and not (DURATION.fullmatch(timeout) and int(timeout[:-1]) <= LONGEST_DEPLOYMENT_SECONDS):
        yield Failure(("deploymentTimeout",), f"{timeout!r} is no time for a deployment\n  allowed: 1s to {LONGEST_DEPLOYMENT_SECONDS}s")


def _image(image: object, region: str, allow_tag: bool) -> Iterator[Failure]:
    if not isinstance(image, str):
        return
    such_as = f"{region or 'asia-east1'}-docker.pkg.dev/shop-prod/images/serve@sha256:..."
    match = IMAGE.fullmatch(image)
    if not match:
        yield Failure(("imageUri",), f"{image!r} is no image of Artifact Registry by its digest\n  allowed: {such_as}")
        return
    if region and match[1] != region:
        yield Failure(
            ("imageUri",), f"{image!r} stands in {match[1]}, not in {region}\n  allowed: {such_as}\n  fix: copy the image to {region}"
        )
    if not match[2] and not allow_tag:
        fix = "name it by its digest, or set allowTag: another image under the same tag is then not seen"
        yield Failure(("imageUri",), f"{image!r} has no digest: what it is may change\n  allowed: {such_as}\n  fix: {fix}")


def _port(port: object, path: Path) -> Iterator[Failure]:
    if isinstance(port, int) and not 1 <= port <= LAST_PORT:
        yield Failure(path, f"{port} is no port\n  allowed: 1 to {LAST_PORT}")


def _env(env: Mapping[str, Any]) -> Iterator[Failure]:
    if len(env) > VARIABLES:
        yield Failure(("env",), f"has {len(env)} variables\n  allowed: {VARIABLES}")
    total = 0
    for name, value in env.items():
        if not VARIABLE.fullmatch(name):
            yield Failure(("env", name), "is no name of a variable\n  allowed: letters, digits and _, no digit first")
        if not isinstance(value, str):
            continue
        size = len(f"{name}={value}".encode())
        total += size
        if size >= VARIABLE_BYTES:
            yield Failure(("env", name), f"has {size} bytes with its name\n  allowed: less than {VARIABLE_BYTES}")
        late = sorted({other for other in REFERENCE.findall(value) if other in env and other >= name})
        if late:
            why = "variables are sent in the order of their names, and one sees those before it"
            yield Failure(("env", name), f"refers to {', '.join(late)}: {why}\n  fix: name it so that it comes after them")
    if total > ENV_BYTES:
        yield Failure(("env",), f"has {total} bytes\n  allowed: {ENV_BYTES}")


def _probe(probe: Mapping[str, Any], name: str) -> Iterator[Failure]:
    given = [way for way in WAYS if way in probe]
    if len(given) != 1 and not any(isinstance(probe.get(way), Unknown) for way in WAYS):
        yield Failure((name,), f"asks in {len(given)} ways\n  allowed: one of {', '.join(WAYS)}")
    for key, least in LEAST.items():
        number = probe.get(key)
        if isinstance(number, int) and number < least:
            yield Failure((name, key), f"{number} is too small\n  allowed: {least} or more")
    for way in given:
        if isinstance(asked := probe[way], dict):
            if given == ["exec"] and asked.get("command") == []:
                yield Failure((name, way, "command"), 'runs nothing\n  allowed: a command and its arguments, such as ["true"]')
            yield from _port(asked.get("port"), (name, way, "port"))
