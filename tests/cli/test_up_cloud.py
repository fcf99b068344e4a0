"""`accelform up --cloud`, by a CLI that only says what it would do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.own_pulumi import OwnPulumi
from tests.cli.test_preview import DATA, POOL_URN, begun
from tests.gitops.conftest import summary

Accelform = Callable[..., Any]
MAKE = ["up", "--yes", "--skip-preview", "--policy-pack", "infra/policy", "--stack", "try", "--json", "--non-interactive"]


@pytest.fixture
def one_new(own_pulumi: OwnPulumi) -> OwnPulumi:
    own_pulumi.says("preview", begun("create", DATA), summary(create=1))
    done = {"resOutputsEvent": begun("create", DATA)["resourcePreEvent"]}
    own_pulumi.says("up", begun("create", DATA), done, summary(create=1))
    return own_pulumi


def test_previews_asks_and_makes(accelform: Accelform, one_new: OwnPulumi, types: Callable[[str], None]) -> None:
    """What a kill leaves is told before, what is done as it is done."""
    types("y")
    ran = accelform("up", "--cloud")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("try: not up yet: 1 new")
    assert "Make these changes to try, in Google Cloud project tw-shop-ml? [y/N]" in ran.err
    assert "pulumi cancel --stack try" in ran.err
    assert "try: up: 1 to do" in ran.err
    assert "try: up: create gcp:storage/bucket:Bucket data" in ran.err
    assert ran.out.splitlines()[-1].startswith("try: 1 create, in ")
    assert [words[0] for words in one_new.calls] == ["stack", "preview", "up"]
    assert one_new.calls[-1] == MAKE


@pytest.mark.parametrize("typed", ["", "Yes please"])
def test_nothing_is_made_where_nobody_says_yes(typed: str, accelform: Accelform, one_new: OwnPulumi, types: Callable[[str], None]) -> None:
    types(typed)
    ran = accelform("up", "--cloud")
    assert ran.code == 0
    assert ran.out.endswith("try: nothing was made\n")
    assert MAKE not in one_new.calls


def test_without_a_terminal_somebody_says_yes_before(accelform: Accelform, one_new: OwnPulumi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", open("/dev/null", encoding="utf-8"))  # noqa: SIM115 - closed below
    for more in ([], ["--json"]):
        ran = accelform("up", "--cloud", *more)
        assert ran.code == 2
        assert "accelform preview --cloud, then add --yes" in (ran.err or ran.out)
    assert one_new.calls == []
    done = accelform("up", "--cloud", "--yes", "--json")
    sys.stdin.close()
    assert done.code == 0, done.err
    assert done.data["stacks"][0]["changes"] == {"create": 1}
    assert one_new.calls[-1] == MAKE


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        ([{"diagnosticEvent": {"severity": "error", "message": "googleapi: Error 403: no"}}], 6, "nothing was made"),
        (
            [{"policyEvent": {"resourceUrn": DATA, "policyName": "labels", "message": "no owner", "enforcementLevel": "mandatory"}}],
            3,
            "a rule does not hold, and nothing was made",
        ),
        ([begun("replace", POOL_URN, keys=["nodeConfig"])], 3, "node pools would be deleted and made anew"),
    ],
)
def test_a_preview_that_does_not_pass_makes_nothing(
    lines: list[Any], code: int, said: str, accelform: Accelform, own_pulumi: OwnPulumi
) -> None:
    own_pulumi.says("preview", *lines, code=0 if "resourcePreEvent" in lines[0] else 255)
    ran = accelform("up", "--cloud", "--yes")
    assert ran.code == code
    assert said in ran.err
    assert MAKE not in own_pulumi.calls


def test_an_update_that_stops_says_why_and_how_it_goes_on(accelform: Accelform, one_new: OwnPulumi) -> None:
    one_new.says("up", {"diagnosticEvent": {"urn": DATA, "severity": "error", "message": "googleapi: Error 409: taken"}}, code=255)
    ran = accelform("up", "--cloud", "--yes")
    assert ran.code == 6
    assert "what was made stays, and the next `accelform up --cloud try` goes on from there" in ran.err
    assert "gcp:storage/bucket:Bucket data: googleapi: Error 409: taken" in ran.err


def test_nothing_to_do_asks_nobody(accelform: Accelform, own_pulumi: OwnPulumi, types: Callable[[str], None]) -> None:
    own_pulumi.says("preview", summary(same=1))
    types("n")
    ran = accelform("up", "--cloud")
    assert ran.code == 0
    assert "[y/N]" not in ran.err
    assert [words[0] for words in own_pulumi.calls] == ["stack", "preview"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["up", "--yes"], "--yes: belongs to --cloud"),
        (["up", "--cloud", "--yes", "--release", "all"], "--release: ends holds of the sandbox"),
        (["up", "--cloud", "--yes", "--allow-replace", "nope"], "'nope' is no node pool"),
        (["down", "--yes", "--confirm", "try"], "--confirm: belongs to --cloud"),
        (["down", "--keep-protected"], "--keep-protected: belongs to --cloud"),
        (["down", "--cloud", "--force", "try"], "--force: drops the sandbox"),
    ],
)
def test_options_that_mean_nothing_are_refused(arguments: list[str], said: str, accelform: Accelform, own_pulumi: OwnPulumi) -> None:
    ran = accelform(*arguments)
    assert ran.code == 2
    assert said in ran.err
    assert own_pulumi.calls == []
