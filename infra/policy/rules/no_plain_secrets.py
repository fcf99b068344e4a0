"""`no-plain-secrets`: what is secret is in Secret Manager, and so neither in a manifest nor in the state nor in the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infra.declared import Declared
from infra.planned_jobs import RUN_JOB
from infra.policy.objects import containers, is_object, pods
from infra.policy.rule import Broken, Rule

HELD = "kubernetes:core/v1:Secret"
CONFIG = "kubernetes:core/v1:ConfigMap"
CLOUD_RUN = {RUN_JOB: "template.template", "gcp:cloudrunv2/service:Service": "template"}
LAST = frozenset({"APIKEY", "CREDENTIAL", "CREDENTIALS", "PASSPHRASE", "PASSWD", "PASSWORD", "SECRET", "TOKEN"})
"""Words at whose end a variable's name says that it is a secret."""
KEYS = frozenset({"ACCESS", "ACCOUNT", "API", "AUTH", "DEPLOY", "ENCRYPTION", "LICENSE", "PRIVATE", "SECRET", "SERVICE", "SIGNING", "SSH"})
"""Words before KEY that make it one: a primary key of a table is none."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Secrets with contents, and variables of containers that are named like secrets and have a value."""
    if resource.type == HELD and is_object(resource):
        for key in ("data", "stringData"):
            if resource.get(key) not in (None, {}):
                yield Broken(key, "holds a secret: it is then in the engine's state, and whoever reads the namespace's secrets reads it")
    elif resource.type == CONFIG and is_object(resource):
        data = resource.get("data")
        for key in data if isinstance(data, Mapping) else ():
            if is_secret(str(key)) and data[key] != "":
                yield Broken(f"data.{key}", "is named like a secret, and everybody in the cluster reads it")
    for path, pod in pods(resource):
        for at, one in containers(path, pod):
            yield from _variables(f"{at}.env", one.get("env"))
    if resource.type in CLOUD_RUN:
        at = CLOUD_RUN[resource.type]
        several = resource.get(f"{at}.containers")
        for index, container in enumerate(several if isinstance(several, list) else []):
            if isinstance(container, Mapping):
                yield from _variables(f"{at}.containers[{index}].envs", container.get("envs"))


def _variables(path: str, variables: Any) -> Iterator[Broken]:
    for index, one in enumerate(variables if isinstance(variables, list) else []):
        if not isinstance(one, Mapping) or not isinstance(one.get("name"), str) or not is_secret(one["name"]):
            continue
        value = one.get("value")
        is_reference = isinstance(value, str) and value.startswith("$(") and value.endswith(")")
        if value is not None and not is_reference and value != "":
            yield Broken(f"{path}[{index}].value", f"{one['name']} is named like a secret: whoever may read the pod or service reads it")


def is_secret(name: str) -> bool:
    """Whether a variable's name says that what it holds is secret."""
    *before, last = name.upper().replace("-", "_").replace(".", "_").split("_")
    return last in LAST or (last == "KEY" and bool(before) and before[-1] in KEYS)


RULE = Rule(
    name="no-plain-secrets",
    description="No secret is in a manifest, a variable or the state.",
    remediation="keep it in Secret Manager, and mount it: `secrets:` of an apps stack; of Cloud Run valueSource.secretKeyRef",
    severity="critical",
    find=find,
)
