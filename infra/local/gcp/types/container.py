"""Google Kubernetes Engine."""

from __future__ import annotations

from infra.local.gcp.types.container_clusters import CLUSTER
from infra.local.gcp.types.container_pools import POOL

ROWS = (CLUSTER, POOL)
