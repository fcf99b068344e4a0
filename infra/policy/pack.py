"""
The rules as a CrossGuard pack: per resource, mandatory, and with an explicit unknown.

It speaks the engine's protocol itself. The SDK's own pack opens each resource once for each policy, drops the stack's configuration
(pulumi-policy 1.21 with engine 3.274), shows secrets as if they were none, and raises where a policy reads what is not known yet, which
turns a mandatory rule into a note.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Collection
from concurrent import futures
from typing import Any

import grpc
from google.protobuf import empty_pb2

from infra import wire
from infra.declared import Declared
from infra.policy.protocol import analyzer_pb2, analyzer_pb2_grpc, plugin_pb2
from infra.policy.rule import Rule, broken
from infra.policy.rules import RULES, same_region
from infra.policy.said import Said

NAME = "accelform"
VERSION = "1.0.0"
MESSAGE_BYTES = 400 * 1024 * 1024
"""Longest message, which is the engine's own limit: a stack's resources come in one."""
ACCELERATORS = frozenset({"tpu_slices", "gpu_vms", "node_pools", "jobs"})
"""Keys of what the catalogue judges."""
NO_REGION = "accelform:region: is not set: without it nothing can be held to one region"


class Pack(analyzer_pb2_grpc.AnalyzerServicer):
    """Answers the engine, resource by resource: policies over a whole stack run only after it was made."""

    def __init__(self) -> None:
        self._region = ""
        self._said = Said()
        self._levels: dict[str, int] = {}

    def ConfigureStack(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        """The stack's configuration, which holds its region and what its file overrules by name."""
        prefix = "accelform:"
        config = {key.removeprefix(prefix): text for key, text in request.config.items() if key.startswith(prefix)}
        self._region = config.get("region", "")
        self._said = Said.parse(config)
        threading.Thread(target=warm, args=(frozenset(config),), daemon=True).start()
        return analyzer_pb2.AnalyzerStackConfigureResponse()

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        """What `--policy-pack-config` says: how a rule is enforced."""
        self._levels = {name: one.enforcementLevel for name, one in request.policyConfig.items()}
        return empty_pb2.Empty()

    def Analyze(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        resource = Declared(request.type, request.name, wire.fields(request.properties), request.urn, protect=request.options.protect)
        found = [(rule, f"{one}\n  fix: {rule.remediation}") for rule, one in broken(resource, self._region, self._said)]
        if not self._region:
            found = [(same_region.RULE, NO_REGION), *((rule, said) for rule, said in found if rule is not same_region.RULE)]
        diagnostics = [_diagnostic(rule, said, self._level(rule)) for rule, said in found]
        return analyzer_pb2.AnalyzeResponse(diagnostics=[one for one in diagnostics if one.enforcementLevel != analyzer_pb2.DISABLED])

    def AnalyzeStack(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return analyzer_pb2.AnalyzeResponse()

    def Remediate(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return analyzer_pb2.RemediateResponse()

    def GetAnalyzerInfo(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return analyzer_pb2.AnalyzerInfo(
            name=NAME,
            version=VERSION,
            supportsConfig=True,
            policies=[
                analyzer_pb2.PolicyInfo(
                    name=rule.name,
                    description=rule.description,
                    enforcementLevel=analyzer_pb2.MANDATORY,
                    policy_type=analyzer_pb2.POLICY_TYPE_RESOURCE,
                    severity=_severity(rule),
                    remediation_steps=rule.remediation,
                )
                for rule in RULES
            ],
        )

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return plugin_pb2.PluginInfo(version=VERSION)

    def _level(self, rule: Rule) -> Any:
        """As configured. Nothing here is mended, so that what should be is refused."""
        level = self._levels.get(rule.name, analyzer_pb2.MANDATORY)
        return analyzer_pb2.MANDATORY if level == analyzer_pb2.REMEDIATE else level


def warm(keys: Collection[str]) -> None:
    """Loads what a stack with these keys needs while the engine starts the program: else its first machine would wait for it."""
    if "jobs" in keys:
        importlib.import_module("infra.job_plan")
    if not ACCELERATORS.isdisjoint(keys):
        from infra.catalog import fits_tpu, gpu_zones, zones

        for table in (fits_tpu.machines, gpu_zones.every, zones.every):
            table()
    if "region_stack" in keys:  # what lives in a cluster
        from infra.catalog.manifests import faults

        faults({})


def _diagnostic(rule: Rule, said: str, level: Any) -> Any:
    return analyzer_pb2.AnalyzeDiagnostic(
        policyName=rule.name,
        policyPackName=NAME,
        policyPackVersion=VERSION,
        message=f"{rule.description}\n{said}",
        description=rule.description,
        enforcementLevel=level,
        severity=_severity(rule),
    )


def _severity(rule: Rule) -> Any:
    return analyzer_pb2.PolicySeverity.Value(f"POLICY_SEVERITY_{rule.severity.upper()}")


def main() -> None:
    """Serves the pack until the engine ends it."""
    options = [("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), options=options)
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(Pack(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    threading.Event().wait()
