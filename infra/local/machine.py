"""What is installed on this machine, and what of it a deployment needs."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from infra.findings import Found
from infra.local.engine import fetch, find, plugin
from infra.local.home import Home
from infra.sandbox import process

PULUMI_INSTALL = "https://www.pulumi.com/docs/iac/download-install/"


def inspect() -> list[Found]:
    """Everything that a check, and later a deployment from this machine, needs. Fails soft: each thing is one finding."""
    return [_python(), *_packages(), _pulumi(), *_plugins(), _sandbox(), _gcloud(), _credentials()]


def _python() -> Found:
    version = ".".join(map(str, sys.version_info[:3]))
    return Found("python", "ok", f"{version} ({sys.executable})")


def _packages() -> Iterator[Found]:
    """The pinned SDKs: another version would be another plugin, and another diff."""
    for package in ("pulumi", "pulumi-gcp", "pulumi-kubernetes"):
        wanted = _pinned(package)
        try:
            version = metadata.version(package)
        except metadata.PackageNotFoundError:
            yield Found(package, "failed", "is not installed", "make check installs it into .venv")
            continue
        if wanted and version != wanted:
            yield Found(package, "failed", f"{version} is installed, {wanted} is pinned", "rm -rf .venv && make check")
        else:
            yield Found(package, "ok", version)


def _pinned(package: str) -> str:
    for requirement in metadata.requires("accelform") or []:
        if match := re.fullmatch(rf"{re.escape(package)}==([0-9.]+)", requirement):
            return match[1]
    return ""


def _pulumi() -> Found:
    """The engine, which one it is, and why. `check` works without it; a deployment does not."""
    on_path = find.on_path()
    engine = find.find()
    if engine is not None and engine.origin == "on PATH":
        return Found("engine", "ok", f"pulumi {engine.version}, the official one on PATH ({engine.path})")
    if on_path:
        version = find.version_of(on_path)
        oldest = ".".join(map(str, find.OLDEST))
        why = f"{version} ({on_path}) is older than {oldest}" if version else f"{on_path} does not say its version"
        return Found("engine", "failed" if version else "warning", f"pulumi {why}", f"install a newer one: {PULUMI_INSTALL}")
    tried = fetch.tried()
    not_fetched = f", and it could not be fetched ({tried})" if tried else ""
    if engine is None:
        first = f"no pulumi{not_fetched}: `check` and `cost` work, a deployment does not"
        return Found("engine", "warning", first, f"install it: {PULUMI_INSTALL}; or `accelform up`, which fetches or builds it")
    which = (
        "the official one, fetched: none is on PATH"
        if engine.origin == "fetched"
        else f"built here: no official one is on PATH{not_fetched}"
    )
    return Found("engine", "ok", f"pulumi {engine.version}, {which} ({engine.path})")


def _plugins() -> Iterator[Found]:
    """The plugins of deployments, which the engine fetches by itself where the network has them; and those of runs on this machine."""
    for package in plugin.EVERY:
        yield from _plugin(package)


def _plugin(package: plugin.Package) -> Iterator[Found]:
    title, version = f"{package.name} plugin", package.version
    theirs = plugin.installed(package, plugin.user_home())
    if theirs is not None and theirs.kind == "official":
        yield Found(title, "ok", f"{version}, the official one ({theirs.why})")
    else:
        yield Found(
            title,
            "warning",
            f"{version} is not there: the engine fetches it at the first deployment",
            f"pulumi plugin install resource {package.name} {version}",
        )
    ours = plugin.installed(package, Home.of(Path.cwd()).pulumi_home)
    if ours is not None:
        which = "the official one" if ours.kind == "official" else "the stand-in of this project, which speaks to the sandbox only"
        yield Found(f"{title} of `accelform up`", "ok", f"{version}, {which} ({ours.why})")


def _sandbox() -> Found:
    """The local Google Cloud of this checkout."""
    found = process.running(Home.of(Path.cwd()).sandbox)
    if found is None:
        return Found("sandbox", "ok", "does not run; `accelform up` starts it")
    return Found("sandbox", "ok", f"{found.base} (process {found.pid})")


def _gcloud() -> Found:
    path = shutil.which("gcloud")
    if path is None:
        return Found(
            "gcloud",
            "warning",
            "not found: only needed for the commands that other findings name",
            "https://cloud.google.com/sdk/docs/install",
        )
    return Found("gcloud", "ok", path)


def _credentials() -> Found:
    """Application default credentials, by their file alone: nothing is asked of the network here."""
    named = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    well_known = Path(os.environ.get("CLOUDSDK_CONFIG") or Path.home() / ".config" / "gcloud") / "application_default_credentials.json"
    path = Path(named) if named else well_known
    if path.is_file():
        return Found("credentials", "ok", str(path))
    if named:
        return Found(
            "credentials", "warning", f"GOOGLE_APPLICATION_CREDENTIALS names {named}, which is not there", "unset it, or set it right"
        )
    return Found(
        "credentials",
        "warning",
        "no application default credentials: needed for a deployment and for --cloud",
        "gcloud auth application-default login",
    )
