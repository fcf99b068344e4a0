"""Types without a charge of their own, and why."""

from __future__ import annotations

FREE = {
    "gcp:compute/firewall:Firewall": "rules are free",
    "gcp:compute/network:Network": "networks are free",
    "gcp:compute/router:Router": "only its NAT is billed",
    "gcp:compute/subnetwork:Subnetwork": "subnets are free",
    "gcp:serviceaccount/account:Account": "IAM is free",
    "gcp:projects/iAMMember:IAMMember": "IAM is free",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "IAM is free",
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember": "IAM is free",
    "gcp:vertex/aiEndpointIamMember:AiEndpointIamMember": "IAM is free",
    "gcp:billing/budget:Budget": "budgets are free",
    "gcp:monitoring/notificationChannel:NotificationChannel": "e-mail channels are free",
    "gcp:vertex/aiEndpoint:AiEndpoint": "no charge until a model is deployed on it",
}
"""Sources: https://cloud.google.com/vpc/network-pricing, https://cloud.google.com/iam/pricing,
https://cloud.google.com/billing/docs/how-to/budgets, https://cloud.google.com/vertex-ai/pricing, read 2026-11."""
