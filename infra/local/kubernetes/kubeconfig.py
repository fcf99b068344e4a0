"""A kubeconfig: which cluster it leads to, and why the stand-in does not go there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from infra.provider.server import ProviderError
from infra.sandbox.endpoints import is_local

Data = dict[str, Any]

VERSION = "4.34.2"
"""Of the official provider whose place this one takes: the SDK's."""
FIX = (
    "  this provider stands in for the official one on machines without it, and speaks to the sandbox only\n"
    "  fix: `make up` for the sandbox; for a real cluster install the official one: "
    f"pulumi plugin install resource kubernetes {VERSION}"
)
HARMLESS = ("impersonate", "as")
"""What a user may have without proving who it is."""


class Active(NamedTuple):
    """Where the calls go."""

    server: str
    """Without a slash at the end."""
    namespace: str
    """Of the context; empty where it names none."""


def parsed(given: Any) -> Data:
    """
    A kubeconfig: an object, its text as JSON or YAML, or the path of a file that holds it.

    Raises:
        ValueError: It is none; the sentence says why.
    """
    if isinstance(given, dict):
        return given
    if not isinstance(given, str):
        raise ValueError(f"a kubeconfig is a text; got {type(given).__name__}")
    text = _read(given)
    try:
        found = json.loads(text)
    except ValueError:
        found = _yaml(text)
    if not isinstance(found, dict):
        raise ValueError("a kubeconfig is an object with clusters, contexts and users, or the path of a file that holds one")
    return found


def active_cluster(config: Mapping[str, Any], overrides: Mapping[str, Any]) -> Data | None:
    """The cluster that a kubeconfig leads to, after the provider's own `context` and `cluster`; None where there is none."""
    context = _named(config, "contexts", overrides.get("context") or config.get("current-context"))
    name = overrides.get("cluster") or (_part(context, "context").get("cluster") if context else None)
    cluster = _named(config, "clusters", name)
    return _part(cluster, "cluster") if cluster is not None else None


def active(config: Mapping[str, Any], overrides: Mapping[str, Any]) -> Active:
    """
    Raises:
        ValueError: It leads nowhere.
        ProviderError: It leads off this machine, or wants to prove who it is: not to the sandbox.
    """
    name = overrides.get("context") or config.get("current-context")
    context = _named(config, "contexts", name)
    if context is None:
        raise ValueError(f"the kubeconfig has no context {name!r}" if name else "the kubeconfig names no current-context")
    cluster = active_cluster(config, overrides)
    server = str((cluster or {}).get("server") or "")
    if not server:
        raise ValueError(f"context {name!r} of the kubeconfig leads to no cluster with a server")
    wrong = [] if _is_of_this_machine(server) else [f"kubeconfig: server {server} is not on this machine"]
    of_context = _part(context, "context")
    user = _part(_named(config, "users", of_context.get("user")) or {}, "user")
    if isinstance(user.get("exec"), dict):
        command = user["exec"].get("command") or "a command"
        wrong.append(f"kubeconfig: user {of_context['user']!r} is proved by running {command}: the sandbox asks nobody who it is")
    elif known := sorted(key for key in user if key not in HARMLESS and user[key]):
        wrong.append(f"kubeconfig: user {of_context['user']!r} has {', '.join(known)}: the sandbox asks nobody who it is")
    if wrong:
        raise ProviderError("\n".join([*wrong, FIX]))
    return Active(server.rstrip("/"), str(of_context.get("namespace") or ""))


def _read(given: str) -> str:
    try:
        path = Path(given).expanduser()
        return path.read_text(encoding="utf-8") if path.is_file() else given
    except (OSError, ValueError, RuntimeError):  # a text that is no path: too long, or with what no path has
        return given


def _yaml(text: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise ValueError(f"the kubeconfig is neither JSON nor YAML: {str(error).splitlines()[0]}") from None


def _named(config: Mapping[str, Any], collection: str, name: Any) -> Data | None:
    entries = config.get(collection)
    found = [one for one in entries if isinstance(one, dict) and one.get("name") == name] if isinstance(entries, list) else []
    return found[0] if found and name else None


def _part(entry: Mapping[str, Any], name: str) -> Data:
    found = entry.get(name)
    return found if isinstance(found, dict) else {}


def _is_of_this_machine(server: str) -> bool:
    try:
        return is_local(server)
    except ValueError:  # brackets that hold no address
        return False
