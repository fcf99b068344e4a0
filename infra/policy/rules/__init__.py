"""One rule, one file."""

from infra.policy.rule import Rule
from infra.policy.rules import (
    cost_allocation,
    data_protected,
    image_by_digest,
    labels,
    manifest_valid,
    member_iam,
    no_external_address,
    no_plain_secrets,
    offered_in_zone,
    own_service_account,
    pods_not_privileged,
    retention,
    run_limit,
    same_region,
    shielded_nodes,
    traffic_100,
    uniform_access,
    workload_identity,
)

RULES: tuple[Rule, ...] = (
    same_region.RULE,
    offered_in_zone.RULE,
    run_limit.RULE,
    no_external_address.RULE,
    own_service_account.RULE,
    workload_identity.RULE,
    shielded_nodes.RULE,
    member_iam.RULE,
    uniform_access.RULE,
    data_protected.RULE,
    retention.RULE,
    labels.RULE,
    cost_allocation.RULE,
    traffic_100.RULE,
    manifest_valid.RULE,
    image_by_digest.RULE,
    no_plain_secrets.RULE,
    pods_not_privileged.RULE,
)
