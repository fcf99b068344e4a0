"""Identity and Access Management: service accounts and their keys, roles, workload identity pools."""

from infra.sandbox.operations import LongRunning
from infra.sandbox.service import Service
from infra.sandbox.services.iam import accounts, keys, pools, roles

SERVICE = Service(
    host=accounts.HOST,
    apis=("iam.v1",),
    operations=LongRunning(under=lambda call, verb: call.target),
    errors="both",
    kinds=(accounts.KIND, keys.KIND, *roles.KINDS, pools.POOL, pools.PROVIDER),
    handlers=accounts.HANDLERS | keys.HANDLERS | roles.HANDLERS | pools.HANDLERS,
    prepare=accounts.named,
)
