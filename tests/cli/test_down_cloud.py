"""`accelform down --cloud`, by a CLI that only says what it would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.own_pulumi import OwnPulumi
from tests.cli.test_preview import DATA, stored
from tests.gitops.conftest import summary

Accelform = Callable[..., Any]
VM = "urn:pulumi:try::accelform::gcp:tpu/v2Vm:V2Vm::eval"
DESTROY = ["destroy", "--yes", "--skip-preview", "--stack", "try", "--json", "--non-interactive"]


def labelled(environment: str) -> dict[str, Any]:
    return stored(VM, inputs={"labels": {"environment": environment}})


@pytest.fixture
def stands(own_pulumi: OwnPulumi, base: dict[str, Any], write_stack: Callable[..., None]) -> Callable[..., OwnPulumi]:
    """A stack of an environment, by its file and by what stands; a bucket of it may be protected."""

    def make(environment: str, *, file: str | None = None, protect: bool = False) -> OwnPulumi:
        write_stack(base | {"accelform:environment": file or environment})
        own_pulumi.stands(labelled(environment), stored(DATA, inputs={"location": "us-east5"}, protect=protect))
        own_pulumi.says("destroy", summary(delete=2))
        return own_pulumi

    return make


def test_prod_goes_where_its_name_is_typed(accelform: Accelform, stands: Callable[..., OwnPulumi], types: Callable[[str], None]) -> None:
    """What is lost is said first, accelerators before data."""
    pulumi = stands("prod")
    for typed in ("y", "Try"):
        types(typed)
        ran = accelform("down", "--cloud", "try")
        assert (ran.code, ran.out.splitlines()[-1]) == (0, "try: nothing was destroyed")
    assert DESTROY not in pulumi.calls
    types("try")
    ran = accelform("down", "--cloud", "try")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "try: prod, 2 resources stand, 0 of them protected"
    assert [line.split(":")[0] for line in lines[3:5]] == ["V2Vm eval    accelerators", "Bucket data  data"]
    assert "Type the stack's name to destroy it:" in ran.err
    assert lines[-1] == "try: 2 deleted; the empty stack is in your backend: pulumi stack rm try"
    assert pulumi.calls[-1] == DESTROY


@pytest.mark.parametrize(
    ("environment", "file", "arguments", "code"),
    [
        ("prod", "prod", [], 2),
        ("prod", "prod", ["--yes"], 2),
        ("prod", "dev", ["--yes"], 2),  # the file was edited: what stands says what it is
        ("nobody-says", "prod", ["--yes"], 2),
        ("prod", "prod", ["--confirm", "TRY"], 2),
        ("prod", "prod", ["--confirm", "try"], 0),
        ("dev", "dev", [], 2),
        ("dev", "dev", ["--yes"], 0),
        ("staging", "staging", ["--yes", "--json"], 0),
        ("staging", "dev", ["--confirm", "try"], 0),
    ],
)
def test_without_a_terminal_prod_is_named_and_others_are_agreed_to(
    environment: str, file: str, arguments: list[str], code: int, accelform: Accelform, stands: Callable[..., OwnPulumi]
) -> None:
    pulumi = stands(environment, file=file)
    ran = accelform("down", "--cloud", "try", *arguments)
    assert ran.code == code, ran.out + ran.err
    assert (DESTROY in pulumi.calls) == (code == 0)


def test_a_stack_whose_file_is_gone_and_which_has_no_labels_is_taken_for_prod(
    accelform: Accelform, own_pulumi: OwnPulumi, base: dict[str, Any], write_stack: Callable[..., None]
) -> None:
    write_stack({"not": "a stack file"})
    own_pulumi.stands(stored(VM))
    ran = accelform("down", "--cloud", "try", "--yes")
    assert ran.code == 2
    assert "is not enough for prod" in ran.err


def test_what_is_protected_is_named_and_nothing_goes(accelform: Accelform, stands: Callable[..., OwnPulumi]) -> None:
    """The engine would delete all else first. With --keep-protected it does so on purpose, and the rest stays."""
    pulumi = stands("prod", protect=True)
    ran = accelform("down", "--cloud", "try", "--confirm", "try")
    assert ran.code == 3
    assert "1 of its resources are protected" in ran.err
    assert f"pulumi state unprotect '{DATA}' --stack try" in ran.err
    assert "accelform:environment: dev (now prod)" in ran.err
    assert [words[0] for words in pulumi.calls] == ["stack"]
    kept = accelform("down", "--cloud", "try", "--confirm", "try", "--keep-protected")
    assert kept.code == 0, kept.err
    assert "stays, since it is protected: Bucket data" in kept.out
    assert pulumi.calls[-1] == ["destroy", "--yes", "--skip-preview", "--exclude-protected", *DESTROY[3:]]


@pytest.mark.parametrize("names", [[], ["try", "other"]])
def test_one_stack_is_named(names: list[str], accelform: Accelform, own_pulumi: OwnPulumi) -> None:
    ran = accelform("down", "--cloud", "--yes", *names)
    assert ran.code == 2
    assert "one, by its name" in ran.err
    assert own_pulumi.calls == []


def test_nothing_that_stands_is_no_question(accelform: Accelform, own_pulumi: OwnPulumi) -> None:
    ran = accelform("down", "--cloud", "try")
    assert (ran.code, ran.out) == (0, "try: nothing of it stands\n")


def test_a_destroy_that_stops_says_why(accelform: Accelform, stands: Callable[..., OwnPulumi]) -> None:
    pulumi = stands("dev")
    pulumi.says("destroy", {"diagnosticEvent": {"urn": DATA, "severity": "error", "message": "googleapi: Error 409: not empty"}}, code=255)
    ran = accelform("down", "--cloud", "try", "--yes")
    assert ran.code == 6
    assert "the next `accelform down --cloud try` goes on from there" in ran.err
    assert "Error 409: not empty" in ran.err
