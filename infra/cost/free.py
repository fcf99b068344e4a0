"""Types without a charge of their own, and why."""

from __future__ import annotations

BALANCING = (
    "gcp:compute/backendService:BackendService",
    "gcp:compute/regionBackendService:RegionBackendService",
    "gcp:compute/regionNetworkEndpointGroup:RegionNetworkEndpointGroup",
    "gcp:compute/regionTargetHttpProxy:RegionTargetHttpProxy",
    "gcp:compute/regionTargetHttpsProxy:RegionTargetHttpsProxy",
    "gcp:compute/regionUrlMap:RegionUrlMap",
    "gcp:compute/targetHttpProxy:TargetHttpProxy",
    "gcp:compute/targetHttpsProxy:TargetHttpsProxy",
    "gcp:compute/uRLMap:URLMap",
)
FREE = {
    "gcp:compute/firewall:Firewall": "rules are free",
    "gcp:compute/resourcePolicy:ResourcePolicy": "a policy says how machines and disks are kept: they are what is billed",
    "gcp:compute/network:Network": "networks are free",
    "gcp:compute/router:Router": "only its NAT is billed",
    "gcp:compute/subnetwork:Subnetwork": "subnets are free",
    "gcp:serviceaccount/account:Account": "IAM is free",
    "gcp:compute/subnetworkIAMMember:SubnetworkIAMMember": "IAM is free",
    "gcp:projects/iAMMember:IAMMember": "IAM is free",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "IAM is free",
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember": "IAM is free",
    "gcp:vertex/aiEndpointIamMember:AiEndpointIamMember": "IAM is free",
    "gcp:secretmanager/secretIamMember:SecretIamMember": "IAM is free",
    "accelform:billing:SpendCap": "budgets are free",
    "accelform:vertex:Model": "models are not charged until they are deployed",
    "gcp:billing/budget:Budget": "budgets are free",
    "gcp:monitoring/notificationChannel:NotificationChannel": "e-mail channels are free",
    "gcp:projects/service:Service": "only what is used of an API is billed",
    "gcp:logging/projectSink:ProjectSink": "routing logs is free; where they go to is billed",
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": "IAM is free",
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": "IAM is free",
    "gcp:cloudquota/sQuotaPreference:SQuotaPreference": "asking for quota is free; what is made with it is billed where it is declared",
    "gcp:kms/keyRing:KeyRing": "only key versions and operations are billed",
    **dict.fromkeys(BALANCING, "a load balancer is billed by its forwarding rules and its data"),
}
"""Sources: https://cloud.google.com/vpc/network-pricing, https://cloud.google.com/iam/pricing,
https://cloud.google.com/billing/docs/how-to/budgets, https://cloud.google.com/vertex-ai/pricing,
https://support.google.com/googleapi/answer/6158867, https://cloud.google.com/stackdriver/pricing, https://cloud.google.com/kms/pricing,
https://cloud.google.com/load-balancing/pricing, read 2026-11."""
NO_PRICE = {
    "gcp:monitoring/alertPolicy:AlertPolicy": "Google announced a price for each condition, and no source says since when it is billed",
    "gcp:monitoring/dashboard:Dashboard": "no source says what a dashboard costs",
}
"""Types that a price is looked for in vain, and what is known of it."""
