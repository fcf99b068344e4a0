"""
Pages of the Google Cloud console, and of the sandbox in its place, by what a thing is.

Google has no reference of these addresses: they are the forms that public repositories link to, looked up in 2026-12 for each of them.
"""

from __future__ import annotations

from urllib.parse import quote

from infra.errors import Problem, SpecError
from infra.operate.things import Thing

CONSOLE = "https://console.cloud.google.com"
PAGES = {
    "instance": "compute/instancesDetail/zones/{zones}/instances/{id}",
    "group": "compute/instanceGroups/details/{zones}/{id}",
    "node": "compute/tpus/details/{locations}/{id}",
    "request": "compute/tpus",
    "cluster": "kubernetes/clusters/details/{locations}/{id}/details",
    "pool": "kubernetes/nodepool/{locations}/{clusters}/{id}",
    "endpoint": "vertex-ai/online-prediction/locations/{locations}/endpoints/{id}",
    "model": "vertex-ai/models/locations/{locations}/models/{id}",
    "job": "run/jobs/details/{locations}/{id}/executions",
    "bucket": "storage/browser/{id}",
    "service": "kubernetes/deployment/{locations}/{clusters}/{namespaces}/{id}/overview",
    "budget": "billing/budgets",
    "quota": "iam-admin/quotas",
}
"""Page of each form, below the console's address; the project is its parameter."""
APIS = {
    "instance": "compute.googleapis.com/compute/v1",
    "group": "compute.googleapis.com/compute/v1",
    "node": "tpu.googleapis.com/v2",
    "request": "tpu.googleapis.com/v2",
    "cluster": "container.googleapis.com/v1",
    "pool": "container.googleapis.com/v1",
    "endpoint": "aiplatform.googleapis.com/v1",
    "model": "aiplatform.googleapis.com/v1",
    "job": "run.googleapis.com/v2",
    "quota": "cloudquotas.googleapis.com/v1",
}
"""Where the sandbox answers with the thing itself, as JSON: it has no console."""


def page(thing: Thing, sandbox: str = "") -> str:
    """
    The page that shows a thing.

    Args:
        sandbox: Address of the sandbox; empty for Google Cloud.

    Raises:
        SpecError: There is none.
    """
    if not sandbox:
        words = {key: quote(thing.part(key), safe="") for key in ("projects", "zones", "locations", "clusters", "namespaces")}
        return f"{CONSOLE}/{PAGES[thing.form].format(id=quote(thing.id, safe=''), **words)}?project={words['projects']}"
    if thing.form == "bucket":
        return f"{sandbox.rstrip('/')}/storage.googleapis.com/storage/v1/b/{quote(thing.id, safe='')}"
    if thing.form not in APIS:
        kinds = ", ".join(sorted({*APIS, "bucket"}))
        raise SpecError("open", [Problem(thing.path, f"the sandbox has no page of a {thing.form}", kinds, "--cloud, for Google's console")])
    return f"{sandbox.rstrip('/')}/{APIS[thing.form]}/{quote(thing.resource, safe='/')}"
