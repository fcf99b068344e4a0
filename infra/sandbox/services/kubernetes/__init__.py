"""
The Kubernetes API of the sandbox's clusters: objects are kept as an API server keeps them, and controllers make of them what they ask for.

No container runs. Pods that are scheduled are ready after a declared time, jobs end after one.
"""

from infra.sandbox.services.kubernetes.api import SERVICE
from infra.sandbox.services.kubernetes.genesis import is_own
from infra.sandbox.services.kubernetes.objects import DOMAIN, STORED

__all__ = ["DOMAIN", "SERVICE", "STORED", "is_own"]
