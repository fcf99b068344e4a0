"""The pack as the engine runs it: a process of its own, asked over gRPC, with the engine's unknowns and secrets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cases
import grpc
import pytest
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

from infra.catalog import confirmed
from infra.policy import excepted
from infra.policy.rule import check
from infra.policy.rules import RULES
from infra.policy.said import Said

PACK = Path(__file__).parents[2] / "infra" / "policy"
MANDATORY = analyzer_pb2.MANDATORY
Ask = Callable[[dict[str, Any]], list[tuple[str, str]]]


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[[dict[str, str]], Any]]:
    """Starts packs, each configured as the engine configures it, and ends them all."""
    running: list[tuple[subprocess.Popen[bytes], grpc.Channel]] = []

    def run(config: dict[str, str]) -> Any:
        env = {key: value for key, value in os.environ.items() if not key.startswith("PULUMI")}
        # As the official language host starts it, and as ours does: without the SDK.
        module = ["-m", "pulumi.policy"] if len(running) % 2 else []
        command = [sys.executable, "-u", *module, *(["127.0.0.1:0", str(PACK)] if module else [str(PACK), "127.0.0.1:0"])]
        process = subprocess.Popen(command, cwd=PACK, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        channel = grpc.insecure_channel(f"127.0.0.1:{process.stdout.readline().decode().strip()}")
        running.append((process, channel))
        stub = analyzer_pb2_grpc.AnalyzerStub(channel)  # type: ignore[no-untyped-call]
        stub.ConfigureStack(analyzer_pb2.AnalyzerStackConfigureRequest(stack="try", project="accelform", dry_run=True, config=config))
        return stub

    yield run
    for process, channel in running:
        channel.close()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(scope="module")
def pack(start: Callable[[dict[str, str]], Any]) -> Any:
    return start({"accelform:region": cases.REGION})


def ask(stub: Any, case: dict[str, Any]) -> list[tuple[str, str]]:
    """Rule and text of every violation, without the description that the SDK puts before it; all of them mandatory."""
    properties = struct_pb2.Struct()
    properties.update(cases.wire(case["inputs"]))
    options = analyzer_pb2.AnalyzerResourceOptions(protect=case.get("protect", False))
    urn = f"urn:pulumi:try::accelform::{case['type']}::x"
    answer = stub.Analyze(analyzer_pb2.AnalyzeRequest(type=case["type"], properties=properties, urn=urn, name="x", options=options))
    assert all(one.enforcementLevel == MANDATORY for one in answer.diagnostics)
    return [(one.policyName, one.message.split("\n", 1)[1]) for one in answer.diagnostics]


def test_finds_over_the_wire_what_is_found_in_process(pack: Any) -> None:
    """Every fixture gives the same findings by the pack as by `check`, with unknowns and secrets as the engine sends them."""
    for rule, name, case in cases.load():
        if case.get("existing"):  # the engine shows the pack nothing that is only read
            continue
        in_process = [
            (finding.rule, f"{finding.path}: {finding.message}\n  fix: {finding.fix}")
            for finding in check([cases.declared(case)], cases.REGION)
        ]
        assert sorted(ask(pack, case)) == sorted(in_process), (rule, name)  # the wire has its own order


def test_every_rule_is_mandatory(pack: Any) -> None:
    """The pack announces each rule, with what to do about it."""
    info = pack.GetAnalyzerInfo(empty_pb2.Empty())
    assert [(one.name, one.enforcementLevel) for one in info.policies] == [(rule.name, MANDATORY) for rule in RULES]


def test_what_the_stack_file_confirms_is_not_found(pack: Any, start: Callable[[dict[str, str]], Any]) -> None:
    """The engine's own configuration overrules a weak source, in the pack as in process; another zone's entry does not."""
    case = {"type": "gcp:compute/instance:Instance", "inputs": {"zone": "us-east5-c", "machineType": "ct6e-standard-1t"}}
    for zone, found in (("us-east5-c", 0), ("us-east5-b", 1)):
        entries = [{"what": "v6e-1", "zone": zone, "because": "it runs there"}]
        sure = start({"accelform:region": cases.REGION, "accelform:confirmed": json.dumps(entries)})
        of_rule = [one for one in ask(sure, case) if one[0] == "offered-in-zone"]
        in_process = [
            one for one in check([cases.declared(case)], cases.REGION, Said(confirmed.read(entries))) if one.rule == "offered-in-zone"
        ]
        assert (len(of_rule), len(in_process)) == (found, found)
    assert "offered-in-zone" in dict(ask(pack, case))


def test_what_the_stack_file_excepts_is_not_found_until_its_day_is_over(start: Callable[[dict[str, str]], Any]) -> None:
    """The pack looks at the day as `check` does; the engine may hand dates over with a time."""
    case = {"type": "gcp:storage/bucket:Bucket", "inputs": {"location": "US"}}
    for until, found in (("9999-12-31 00:00:00 +0000 UTC", 0), ("2026-01-01", 1)):
        entries = [{"rule": "same-region", "resource": "x", "until": until, "because": "it moves"}]
        excepting = start({"accelform:region": cases.REGION, "accelform:exceptions": json.dumps(entries)})
        of_rule = [one for one in ask(excepting, case) if one[0] == "same-region"]
        in_process = [
            one for one in check([cases.declared(case)], cases.REGION, Said(exceptions=excepted.read(entries))) if one.rule == "same-region"
        ]
        assert (len(of_rule), len(in_process)) == (found, found)


def test_a_reason_of_the_stack_file_is_enough(start: Callable[[dict[str, str]], Any]) -> None:
    """The pack reads it where the stack file has it, as `check` does; what is no reason, and no text at all, is none."""
    case = {"type": "gcp:compute/instance:Instance", "inputs": {"zone": "us-east5-a", "machineType": "ct6e-standard-1t"}}
    for entries, found in (({"x": {"because": "it is tried on"}}, 0), ({"x": {"because": " "}, "y": {"because": "it is"}}, 2), ([1], 2)):
        pack = start({"accelform:region": cases.REGION, "accelform:tpu_slices": json.dumps(entries), "accelform:jobs": "{"})
        assert len([one for one in ask(pack, case) if one[0].endswith("-or-reason")]) == found


def test_how_a_rule_is_enforced_can_be_configured(start: Callable[[dict[str, str]], Any]) -> None:
    """`--policy-pack-config` makes a rule a note, or turns it off; the others stay as they are."""
    stub = start({"accelform:region": cases.REGION})
    levels = {"same-region": analyzer_pb2.ADVISORY, "labels": analyzer_pb2.DISABLED, "retention": analyzer_pb2.REMEDIATE}
    stub.Configure(
        analyzer_pb2.ConfigureAnalyzerRequest(
            policyConfig={name: analyzer_pb2.PolicyConfig(enforcementLevel=level) for name, level in levels.items()}
        )
    )
    properties = struct_pb2.Struct()
    properties.update({"location": "US", "versioning": {"enabled": True}})
    type_ = "gcp:storage/bucket:Bucket"
    answer = stub.Analyze(analyzer_pb2.AnalyzeRequest(type=type_, properties=properties, urn=f"urn:pulumi:try::a::{type_}::x", name="x"))
    found = {one.policyName: one.enforcementLevel for one in answer.diagnostics}
    assert (found["same-region"], found["retention"]) == (analyzer_pb2.ADVISORY, MANDATORY)
    assert "labels" not in found


def test_a_stack_without_a_region_is_stopped(start: Callable[[dict[str, str]], Any]) -> None:
    """Without the region nothing could be held to it: that is a violation, and not a pass."""
    assert ask(start({}), {"type": "pulumi:pulumi:Stack", "inputs": {}}) == [
        ("same-region", "accelform:region: is not set: without it nothing can be held to one region")
    ]
