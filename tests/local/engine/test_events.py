"""The engine's events, as it writes them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.local.engine import events, find

URN = "urn:pulumi:try::accelform::accelform:storage:Storage$gcp:storage/bucket:Bucket::data"


def engine_that_says(tmp_path: Path, lines: list[Any], code: int = 0) -> find.Engine:
    """A program in the engine's place."""
    path = tmp_path / "pulumi"
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(f"#!{sys.executable}\nimport sys\nprint({text!r})\nsys.exit({code})\n", encoding="utf-8")
    path.chmod(0o700)
    return find.Engine(path, "3.0.0", "built here")


def run(tmp_path: Path, lines: list[Any], code: int = 0) -> tuple[events.Outcome, list[events.Step]]:
    steps: list[events.Step] = []
    outcome = events.run(["up"], engine=engine_that_says(tmp_path, lines, code), env=os.environ, folder=tmp_path, step=steps.append)
    return outcome, steps


def meta(op: str) -> dict[str, Any]:
    return {"metadata": {"op": op, "urn": URN, "type": "gcp:storage/bucket:Bucket"}}


def test_counts_what_was_done(tmp_path: Path) -> None:
    outcome, steps = run(
        tmp_path,
        [
            {"resourcePreEvent": meta("create")},
            {"resOutputsEvent": meta("create")},
            {"summaryEvent": {"resourceChanges": {"create": 1, "same": 4, "read": 0}}},
        ],
    )
    assert (outcome.code, outcome.changes, outcome.changed) == (0, {"create": 1, "same": 4}, 1)
    assert [(one.op, one.name, one.done) for one in steps] == [("create", "data", False), ("create", "data", True)]


def test_a_failure_is_told_once_by_who_caused_it(tmp_path: Path) -> None:
    message = "googleapi: Error 409: exists"
    outcome, steps = run(
        tmp_path,
        [
            {"resOpFailedEvent": meta("create")},
            {"diagnosticEvent": {"urn": URN, "severity": "error", "message": message}},
            {"diagnosticEvent": {"urn": URN, "severity": "error", "message": message}},
            {"diagnosticEvent": {"severity": "error", "message": "update failed"}},
            {"diagnosticEvent": {"severity": "info", "message": "hello"}},
        ],
        255,
    )
    assert steps[0].failed
    assert outcome.code == 255
    assert outcome.text() == f"gcp:storage/bucket:Bucket data: {message}"


def test_mandatory_policies_are_violations_and_advice_is_not(tmp_path: Path) -> None:
    policy = {"resourceUrn": URN, "policyName": "same-region", "message": "location:  US is\nnot us-east5", "enforcementLevel": "mandatory"}
    outcome, _ = run(tmp_path, [{"policyEvent": policy}, {"policyEvent": policy | {"enforcementLevel": "advisory"}}], 1)
    assert outcome.violations == ["gcp:storage/bucket:Bucket data: same-region: location: US is not us-east5"]


def test_what_is_no_event_is_kept_for_when_all_else_is_silent(tmp_path: Path) -> None:
    outcome, _ = run(tmp_path, ["error: the stack is currently locked", "[1, 2]"], 255)
    assert outcome.text() == "error: the stack is currently locked"


def test_a_create_of_which_nobody_says_how_it_ended_is_unsure(tmp_path: Path) -> None:
    """Google's refusal is an end; a provider that went away is none. Components and what is not created are no matter."""
    urns = [URN + str(number) for number in range(5)]

    def begun(number: int, op: str = "create", custom: bool = True) -> dict[str, Any]:
        new = {"urn": urns[number], "inputs": {"name": "x"}} | ({"custom": True} if custom else {})
        return {"resourcePreEvent": {"metadata": {"op": op, "urn": urns[number], "type": "gcp:storage/bucket:Bucket", "new": new}}}

    def said(number: int, message: str) -> dict[str, Any]:
        return {"diagnosticEvent": {"urn": urns[number], "severity": "error", "message": message}}

    outcome, _ = run(
        tmp_path,
        [
            *(begun(0), begun(1), begun(2), begun(3, custom=False), begun(4, op="update")),
            {"resOutputsEvent": {"metadata": {"op": "create", "urn": urns[0], "type": "gcp:storage/bucket:Bucket"}}},
            said(1, "Error creating Bucket: googleapi: Error 409: exists"),
            said(2, "transport is closing"),
        ],
        255,
    )
    assert set(outcome.unsure) == {urns[2]}


def test_what_the_program_says_as_it_fails_is_told(tmp_path: Path) -> None:
    """The engine calls it information."""
    event = {"diagnosticEvent": {"severity": "info#err", "message": "stack a: a killed run was making 1 resource"}}
    assert run(tmp_path, [event], 255)[0].text() == "stack a: a killed run was making 1 resource"


def test_what_is_made_anew_is_told_with_its_causes(tmp_path: Path) -> None:
    """By path where the provider tells which property it is, else by the key."""
    detailed = meta("replace")
    detailed["metadata"] |= {
        "keys": ["nodeConfig"],
        "detailedDiff": {"nodeConfig.spot": {"diffKind": "update-replace"}, "nodeConfig.labels": {"diffKind": "update"}},
    }
    plain = {"metadata": meta("replace")["metadata"] | {"urn": f"{URN}2", "keys": ["name"], "detailedDiff": None}}
    outcome, _ = run(tmp_path, [{"resourcePreEvent": one} for one in (detailed, plain, meta("update"))])
    assert outcome.replaced == {URN: ["nodeConfig.spot"], f"{URN}2": ["name"]}


def test_what_a_provider_says_of_a_resource_is_a_note(tmp_path: Path) -> None:
    """What the engine says of the stack itself, or only for a moment, is none."""
    stack = "urn:pulumi:try::accelform::pulumi:pulumi:Stack::accelform-try"
    said = {"severity": "info", "message": "kept as it is: traffic\n"}
    outcome, _ = run(
        tmp_path,
        [{"diagnosticEvent": said | more} for more in ({"urn": URN}, {"urn": URN, "ephemeral": True}, {"urn": stack}, {})],
    )
    assert outcome.notes == ["gcp:storage/bucket:Bucket data: kept as it is: traffic"]


def test_an_engine_is_not_waited_for_where_what_is_done_meanwhile_fails(tmp_path: Path) -> None:
    """It would run for as long as its output is not read."""
    path = tmp_path / "pulumi"
    path.write_text(f"#!{sys.executable}\nwhile True: print('x' * 1000)\n", encoding="utf-8")
    path.chmod(0o700)

    def fails() -> None:
        raise ValueError("the file is wrong")

    with pytest.raises(ValueError, match="the file is wrong"):
        events.run(["preview"], engine=find.Engine(path, "3.0.0", "built here"), env=os.environ, folder=tmp_path, meanwhile=fails)
