"""
Which cloud a program and its state belong to: Google's, or the sandbox on this machine. The two never share a state.

A stack says it in its output `cloud`: `sandbox`, or the number of its Google Cloud project. Who would write to the other one is
refused before the first call.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.errors import AccelformError, ExitCode
from infra.sandbox.endpoints import ENDPOINTS, is_local, provider_config

OUTPUT = "cloud"
SANDBOX = "sandbox"
GOOGLE = "google"
"""A Google Cloud project whose number the state does not say."""
CONFIG_KEY = "accelform:cloud"
"""Only generated configuration has it: nobody writes it into a stack file."""
COPY_KEY = "accelform:copy_of"
"""In generated configuration: the stack file it is a copy of, and that file's digest."""


class OwnerError(AccelformError):
    """The stack, or its configuration, belongs to the other cloud."""

    exit_code = ExitCode.ENVIRONMENT


@dataclass(frozen=True, slots=True)
class Cloud:
    """Where a stack's resources stand."""

    name: str
    """What the stack records; empty where that is the project's number."""
    provider: Mapping[str, str] = field(default_factory=dict)
    """Arguments of an explicit gcp provider. The default provider has them from the configuration."""
    address: str = ""
    """Of the sandbox; empty for Google Cloud."""


GOOGLE_CLOUD = Cloud("")


def cloud_of(config: Mapping[str, str], env: Mapping[str, str]) -> tuple[Cloud, dict[str, str]]:
    """
    The cloud, and the configuration without what only says which.

    Raises:
        OwnerError: Configuration and environment lead to two clouds, or the configuration is a copy of what has changed since.
    """
    check_program(config, env)
    if config.get(CONFIG_KEY) != SANDBOX:
        return GOOGLE_CLOUD, dict(config)
    check_copy(config.get(COPY_KEY, ""))
    endpoints = {f"gcp:{key}" for key in provider_config("")}
    own = endpoints | {CONFIG_KEY, COPY_KEY}
    provider = {_argument(key): value for key, value in config.items() if key in endpoints}
    address = config["gcp:vertexAiCustomEndpoint"].removesuffix(f"/{ENDPOINTS['vertexAi']}")
    return Cloud(SANDBOX, provider, address), {key: value for key, value in config.items() if key not in own}


def copy_of(path: Path) -> str:
    """Says which file, and as it is now."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.resolve()}"


def folder_of(config: Mapping[str, str]) -> Path:
    """Where the stack files are: those that generated configuration is a copy of, or those of the checkout whose program runs."""
    copied = config.get(COPY_KEY, "").partition(" ")[2]
    return Path(copied).parent if copied else Path.cwd().parent / "stacks"


def check_copy(copied: str) -> None:
    """
    Raises:
        OwnerError: The stack file is not what it was when it was copied.
    """
    path = Path(copied.partition(" ")[2])
    if copied and (not path.is_file() or copy_of(path) != copied):
        raise OwnerError(
            f"{path} has changed since this shell was prepared, and plain pulumi runs on a copy of it\n"
            '  fix: eval "$(accelform env)"; or accelform up, which copies it each time'
        )


def _argument(key: str) -> str:
    """`gcp:tpuV2CustomEndpoint` -> `tpu_v2_custom_endpoint`."""
    return re.sub(r"(?=[A-Z])", "_", key.removeprefix("gcp:")).lower()


def recorded(state: Mapping[str, Any]) -> str | None:
    """
    The cloud that a state (`pulumi stack export`) belongs to; None where nothing in it says so.

    The output is written at an update's end only. Before the first end, the provider's own inputs tell: where its calls went.
    """
    if cloud := outputs(state).get(OUTPUT):
        return str(cloud)
    providers = [one.get("inputs") or {} for one in resources(state) if one.get("type") == "pulumi:providers:gcp"]
    if not providers:
        return None
    endpoints = [value for inputs in providers for key, value in inputs.items() if key.endswith("CustomEndpoint")]
    return SANDBOX if any(_on_this_machine(str(endpoint)) for endpoint in endpoints) else GOOGLE


def resources(state: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """What a state (`pulumi stack export`) holds; nothing of a stack that no backend knows."""
    found: list[dict[str, Any]] = ((state or {}).get("deployment") or {}).get("resources") or []
    return found


def outputs(state: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs of the stack in a state; none before its first update has ended."""
    found = [one.get("outputs") or {} for one in resources(state) if one.get("type") == "pulumi:pulumi:Stack"]
    return dict(found[0]) if found else {}


def check_owner(stack: str, recorded: str | None, wanted: str) -> None:
    """
    Args:
        recorded: What the stack's state says; None where it says nothing yet.
        wanted: The cloud that the command is about to work on.

    Raises:
        OwnerError: They are two clouds.
    """
    if recorded is None or recorded == wanted or (recorded == GOOGLE and wanted != SANDBOX):
        return
    fix = (
        "work on it with plain `pulumi` in your own environment, or take another stack for the sandbox"
        if wanted == SANDBOX
        else "`accelform down` takes away what is in the sandbox; or take another stack, or another backend, for Google Cloud"
        if recorded == SANDBOX
        else f"set gcp:project to the project it was made in, number {recorded}, or take another stack"
    )
    raise OwnerError(
        f"stack {stack}: its state belongs to {_named(recorded)}, and this command works on {_named(wanted)}\n"
        f"  allowed: one cloud a state, from the first update to the last\n"
        f"  fix: {fix}"
    )


def check_program(config: Mapping[str, Any], env: Mapping[str, str]) -> None:
    """
    What a program may run with: configuration for the sandbox leads to this machine alone, any other never to it.

    Args:
        config: The stack's configuration with full keys, such as `gcp:project`.

    Raises:
        OwnerError: Some calls would go to one cloud and some to the other, or all to the wrong one.
    """
    cloud = config.get(CONFIG_KEY)
    in_config = {key: str(value) for key, value in config.items() if key.startswith("gcp:") and key.endswith("CustomEndpoint")}
    in_env = {key: value for key, value in env.items() if key.startswith("GOOGLE_") and key.endswith("_CUSTOM_ENDPOINT") and value}
    endpoints = in_config | in_env
    if cloud is None:
        local = sorted(key for key, url in endpoints.items() if _on_this_machine(url))
        if local:
            raise _refused(
                f"{local[0]}: {endpoints[local[0]]} is on this machine, and nothing says that this is a sandbox run",
                f"for the sandbox, `accelform up`; for Google Cloud, {_unset(local)}",
            )
        return
    if cloud != SANDBOX:
        raise _refused(f"{CONFIG_KEY}: {str(cloud)!r} is no cloud; allowed: {SANDBOX}", f"remove {CONFIG_KEY}")
    away = sorted(key for key, url in endpoints.items() if not _on_this_machine(url))
    if away:
        raise _refused(
            f"{away[0]}: {endpoints[away[0]]} is not on this machine, and this is a sandbox run",
            f"{_unset(away)}: `accelform up` sets them itself",
        )
    missing = [f"gcp:{name}CustomEndpoint" for name in ENDPOINTS if f"gcp:{name}CustomEndpoint" not in in_config]
    if missing:
        raise _refused(
            f"{missing[0]}: is not set, and this is a sandbox run: these calls would go to Google Cloud",
            f"`accelform up` writes the configuration of sandbox runs; for Google Cloud, remove {CONFIG_KEY}",
        )


def _on_this_machine(url: str) -> bool:
    try:
        return is_local(url)
    except ValueError:  # no address at all
        return False


def _named(cloud: str) -> str:
    if cloud == SANDBOX:
        return "the sandbox on this machine"
    return "Google Cloud" if cloud == GOOGLE else f"Google Cloud project number {cloud}"


def _unset(keys: list[str]) -> str:
    in_config, in_env = ([key for key in keys if key.startswith("gcp:") is whether] for whether in (True, False))
    ways = [f"remove {', '.join(in_config)} from the stack's configuration"] if in_config else []
    return " and ".join([*ways, *([f"unset {' '.join(in_env)}"] if in_env else [])])


def _refused(what: str, fix: str) -> OwnerError:
    return OwnerError(f"{what}\n  fix: {fix}")
