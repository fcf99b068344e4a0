"""Where each service is in the sandbox, as the official provider is told: `BASE/HOST/VERSION/`."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

ENDPOINTS = {
    "compute": "compute.googleapis.com/compute/beta/",
    "container": "container.googleapis.com/v1beta1/",
    "tpuV2": "tpu.googleapis.com/v2/",
    "vertexAi": "aiplatform.googleapis.com/v1beta1/",
    "billing": "billingbudgets.googleapis.com/v1/",
    "cloudBilling": "cloudbilling.googleapis.com/v1/",
    "coreBilling": "cloudbilling.googleapis.com/v1/",
    "iam": "iam.googleapis.com/v1/",
    "storage": "storage.googleapis.com/storage/v1/",
    "artifactRegistry": "artifactregistry.googleapis.com/v1/",
    "monitoring": "monitoring.googleapis.com/",
    "serviceUsage": "serviceusage.googleapis.com/v1/",
    "resourceManager": "cloudresourcemanager.googleapis.com/v1/",
    "cloudResourceManager": "cloudresourcemanager.googleapis.com/v1/",
    "pubsub": "pubsub.googleapis.com/v1/",
    "cloudRunV2": "run.googleapis.com/v2/",
    "cloudScheduler": "cloudscheduler.googleapis.com/v1/",
    "secretManager": "secretmanager.googleapis.com/v1/",
    "cloudQuotas": "cloudquotas.googleapis.com/v1/",
    "iamBeta": "iam.googleapis.com/v1/",
    "kms": "cloudkms.googleapis.com/v1/",
}
"""Name of the provider's service -> host and version. The versions are those that the provider asks Google for by itself
(google-beta 7: Compute Engine in beta; Vertex AI in v1beta1, which alone has IAM on endpoints). Source: `pulumi_gcp.Provider` 10.2.0."""

TOKEN = "sandbox"  # noqa: S105 - no secret: the sandbox asks for none
"""Access token of sandbox runs: no credentials are looked for, so none can be used by mistake."""


def provider_config(base: str) -> dict[str, str]:
    """Configuration of the gcp provider (`gcp:KEY`) that sends every call to the sandbox at *base*, such as `http://127.0.0.1:9555`."""
    return {"accessToken": TOKEN} | {f"{name}CustomEndpoint": f"{base}/{path}" for name, path in ENDPOINTS.items()}


def environment(base: str) -> dict[str, str]:
    """The same by environment variables, which the official plugin obeys in any program."""
    endpoints = {_variable(name): f"{base}/{path}" for name, path in ENDPOINTS.items()}
    return {"GOOGLE_OAUTH_ACCESS_TOKEN": TOKEN} | endpoints


def _variable(name: str) -> str:
    return f"GOOGLE_{re.sub('(?=[A-Z])', '_', name).upper()}_CUSTOM_ENDPOINT"


def is_local(url: str) -> bool:
    """Whether an endpoint is on this machine."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
