"""What an issue says of a stack whose resources are not what its program declares."""

from __future__ import annotations

from infra.gitops.comment import URL, code, listed, short, warned
from infra.gitops.plan import Plan

MARKER = "<!-- accelform drift -->"
"""First line of the issue."""
LENGTH_MAX = 65_000
"""Letters: see `comment`."""


def markdown(stack: str, plan: Plan, *, run_url: str = "") -> str:
    """The issue's text, which each night writes anew; what somebody wrote into it by hand belongs into a comment below it."""
    lost = list(warned(plan.changes))
    lines = [
        MARKER,
        f"What stands of stack {code(stack)} is not what its program declares: {len(plan.changes)} of its resources would change.",
        "",
        "Somebody changed the cloud by hand, or what was merged was not applied. An update that looks at the cloud first does what is",
        f"listed here: {code(f'pulumi up --refresh --stack {stack}')}. To keep what stands, change the stack file until nothing is listed.",
        "",
        *([*lost, ""] if lost else []),
        *listed(plan.changes),
        "",
        *([f"Seen by {run_url}"] if URL.fullmatch(run_url) else []),
        "This issue is closed by itself once nothing is listed.",
    ]
    text = "\n".join(lines) + "\n"
    return text if len(text) <= LENGTH_MAX else f"{text[: LENGTH_MAX - 100].rpartition(chr(10))[0]}\n\nCut: the rest is in the log.\n"


def is_elsewhere(plan: Plan) -> bool:
    """Whether nothing of what stood is found: with another account or project a cloud looks empty, and nobody is to make it all again."""
    made = [one for one in plan.changes if one.op == "create"]
    return len(made) > 1 and len(made) == len(plan.changes) and not plan.same


def said(stack: str, plan: Plan) -> str:
    """A line for the log."""
    if plan.failed:
        return f"{stack}: could not be looked at: {plan.errors[0]}"
    if not plan.changes:
        return f"{stack}: no drift, {plan.same} resources as declared"
    return f"{stack}: drift: " + ", ".join(f"{short(one.type)} {one.name} {one.op}" for one in plan.changes[:10])
