"""What jobs, executions and tasks of Cloud Run have in common."""

from __future__ import annotations

from collections.abc import Iterable

from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call

HOST = "run.googleapis.com"
RESERVED = ("CLOUD_RUN_JOB", "CLOUD_RUN_EXECUTION", "CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_ATTEMPT", "CLOUD_RUN_TASK_COUNT")
"""Variables that Cloud Run sets in a job's container. Source: its page "Container runtime contract", 2026."""
MOST_SECONDS = 7 * 24 * 3600
"""Source: Cloud Run's page "Set task timeout for jobs", 2026: 168 hours."""
MOST_RETRIES = 10
"""Source: Cloud Run's page "Set maximum retries for jobs", 2026."""
MOST_TASKS = 10_000
"""Source: Cloud Run's page "Quotas and limits", 2026."""


def short(name: str) -> str:
    return name.rpartition("/")[2]


def seconds(text: str) -> float:
    """`600s` as a number; an empty one is none."""
    return float(text.removesuffix("s") or 0)


def shown(body: Body) -> Body:
    """A resource without what only the sandbox keeps of it."""
    return {key: value for key, value in body.items() if not key.startswith("_")}


def check_template(call: Call, template: Body, where: str) -> None:
    """
    Refuses a task's template that cannot run. Ranges: see above; the others are "Required." in the discovery document.

    Raises:
        Refused: As Cloud Run does.
    """
    for index, container in enumerate(template["containers"]):
        if not container.get("image"):
            raise invalid(f"{where}.containers[{index}].image: should be specified", f"{where}.containers[{index}].image", "required")
        check_env(container.get("env", []), f"{where}.containers[{index}].env")
    check_timeout(template["timeout"], f"{where}.timeout")
    if not 0 <= template["maxRetries"] <= MOST_RETRIES:
        raise invalid(f"{where}.max_retries: must be between 0 and {MOST_RETRIES}", f"{where}.max_retries", "out of range")
    check_account(call, template["serviceAccount"])


def check_env(env: Iterable[Body], where: str) -> None:
    for one in env:
        if not one.get("name"):
            raise invalid(f"{where}: a variable needs a name", where, "required")
        if one["name"] in RESERVED:
            said = (
                f"{where}: The following reserved env names were provided: {one['name']}. These values are automatically set by the system."
            )
            raise invalid(said, where, "reserved")


def check_timeout(text: str, where: str) -> None:
    if not 0 < seconds(text) <= MOST_SECONDS:
        raise invalid(f"{where}: must be more than 0 and at most {MOST_SECONDS} seconds", where, "out of range")


def check_tasks(count: int, where: str) -> None:
    if not 1 <= count <= MOST_TASKS:
        raise invalid(f"{where}: must be between 1 and {MOST_TASKS}", where, "out of range")


def check_account(call: Call, email: str) -> None:
    """Whoever has a job run as an account must be able to act as it. Words: quoted in many issues, 2021 to 2026."""
    try:
        call.cloud.check_member(f"serviceAccount:{email}")
    except Refused:
        said = f"Permission 'iam.serviceaccounts.actAs' denied on service account {email} (or it may not exist)."
        raise Refused(403, said) from None
